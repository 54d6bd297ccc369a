#include "runtime/detect/near_hooks.h"

#include <link.h>
#include <string.h>
#include <sys/mman.h>

#include "runtime/common/imports.h"
#include "runtime/common/os.h"
#include "runtime/detect/threads.h"

namespace deadheat::runtime {

namespace {

constexpr size_t kPage = 4096;
constexpr size_t kHookBytes = 128;
constexpr size_t kHooks = 2 * kNearSizes;
constexpr size_t kMaxPltBytes = 4 << 20;  // stubs are at the start of the code

// Data that the code reads through rip.
struct NearPage {
  unsigned char code[kHooks][kHookBytes];
  Slot compared[kHooks][8][kCellSlots];  // by the first byte in the granule
  SlowWay* slow[kHooks];
};
static_assert(sizeof(NearPage) <= kPage);

// By whether the module's checks are inlined.
SlowWay* slow_ways[2][kHooks];
bool started;

constexpr size_t kMaxDone = 4096;
Address done[kMaxDone];
size_t done_count;

const char* const kNames[kHooks] = {
    "__tsan_read1",  "__tsan_read2",  "__tsan_read4",  "__tsan_read8",  "__tsan_read16",
    "__tsan_write1", "__tsan_write2", "__tsan_write4", "__tsan_write8", "__tsan_write16"};

// Writes machine code.
class Assembler {
 public:
  explicit Assembler(unsigned char* at) : at_(at) {}
  template <size_t N>
  Assembler& bytes(const char (&code)[N]) {
    memcpy(at_, code, N - 1);
    at_ += N - 1;
    return *this;
  }
  template <typename T>
  Assembler& value(T value) {
    memcpy(at_, &value, sizeof value);
    at_ += sizeof value;
    return *this;
  }
  // A 4-byte distance from the end of the instruction.
  Assembler& relative(const void* target) {
    return value(static_cast<int32_t>(static_cast<const char*>(target) -
                                      reinterpret_cast<const char*>(at_ + 4)));
  }

 private:
  unsigned char* at_;
};

int32_t thread_offset(const volatile void* variable) {
  return static_cast<int32_t>(static_cast<const volatile char*>(variable) -
                              static_cast<const char*>(__builtin_thread_pointer()));
}

// A hand-written hook_access() of hooks.cc: the address is in rdi.
void assemble(NearPage& page, size_t hook) {
  const bool write = hook >= kNearSizes;
  const size_t size = size_t{1} << (hook % kNearSizes);
  const int32_t words = thread_offset(write ? hot.write : hot.read);
  Assembler code(page.code[hook]);
  code.bytes("\x48\x89\xf8")          // mov %rdi, %rax
      .bytes("\x48\xc1\xe8\x20")      // shr $32, %rax
      .bytes("\x64\x48\x8b\x14\x25")  // mov %fs:segments, %rdx
      .value(thread_offset(&hot.segments))
      .bytes("\x48\x8b\x04\xc2")      // mov (%rdx,%rax,8), %rax
      .bytes("\x89\xfa")              // mov %edi, %edx
      .bytes("\x64\x48\x23\x14\x25")  // and %fs:address_bits, %rdx
      .value(thread_offset(&hot.address_bits))
      .bytes("\x66\x0f\x6f\x04\x50");                      // movdqa (%rax,%rdx,2), %xmm0
  if (size == 16) code.bytes("\x66\x0f\x6f\x4c\x50\x10");  // movdqa 16(%rax,%rdx,2), %xmm1
  code.bytes("\x64\x66\x0f\xef\x04\x25").value(words);     // pxor %fs:words, %xmm0
  if (size == 16) code.bytes("\x64\x66\x0f\xef\x0c\x25").value(words);  // pxor .., %xmm1
  if (size >= 8) {
    code.bytes("\x66\x0f\xdb\x05").relative(page.compared[hook]);  // pand compared(%rip), %xmm0
  } else {
    code.bytes("\x89\xf9")      // mov %edi, %ecx
        .bytes("\x83\xe1\x07")  // and $7, %ecx
        .bytes("\xc1\xe1\x04")  // shl $4, %ecx
        .bytes("\x48\x8d\x05")  // lea compared(%rip), %rax
        .relative(page.compared[hook])
        .bytes("\x66\x0f\xdb\x04\x08");  // pand (%rax,%rcx), %xmm0
  }
  if (size == 16) code.bytes("\x66\x0f\xdb\x0d").relative(page.compared[hook]);  // .., %xmm1
  code.bytes("\x66\x0f\xef\xd2")   // pxor %xmm2, %xmm2
      .bytes("\x66\x0f\x76\xc2")   // pcmpeqd %xmm2, %xmm0
      .bytes("\x66\x0f\xd7\xc0");  // pmovmskb %xmm0, %eax
  if (size == 16) {
    code.bytes("\x66\x0f\x76\xca")  // pcmpeqd %xmm2, %xmm1
        .bytes("\x66\x0f\xd7\xd1")  // pmovmskb %xmm1, %edx
        .bytes("\x85\xd2")          // test %edx, %edx
        .bytes("\x74\x05");         // je slow
  }
  code.bytes("\x85\xc0")          // test %eax, %eax
      .bytes("\x74\x01")          // je slow
      .bytes("\xc3")              // ret
      .bytes("\x48\x8b\x34\x24")  // slow: mov (%rsp), %rsi
      .bytes("\xff\x25")          // jmp *slow
      .relative(&page.slow[hook]);
}

// The module has looked itself.
void assemble_direct(NearPage& page, size_t hook) {
  Assembler(page.code[hook])
      .bytes("\x48\x8b\x34\x24")  // mov (%rsp), %rsi
      .bytes("\xff\x25")          // jmp *slow
      .relative(&page.slow[hook]);
}

// A page below the module (above it the heap may grow), within reach of a direct jump.
NearPage* map_near(Address module_begin) {
  constexpr Address kStep = 1 << 20;
  constexpr Address kReach = Address{1} << 30;
  for (Address below = kStep; below < kReach; below += kStep) {
    if (module_begin < below + (64 << 10)) return nullptr;
    const Address wanted = (module_begin - below) & ~(kPage - 1);
    const long got = system_call(SYS_mmap, static_cast<long>(wanted), kPage, PROT_READ | PROT_WRITE,
                                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (got == static_cast<long>(wanted)) return reinterpret_cast<NearPage*>(got);
    if (got > 0) system_call(SYS_munmap, got, kPage);  // a kernel that treats it as a hint
  }
  return nullptr;
}

NearPage* make_page(Address module_begin, bool inlined) {
  NearPage* const page = map_near(module_begin);
  if (page == nullptr) return nullptr;
  for (size_t hook = 0; hook < kHooks; ++hook) {
    page->slow[hook] = slow_ways[inlined ? 1 : 0][hook];
    if (inlined) {
      assemble_direct(*page, hook);
      continue;
    }
    const Slot write = hook >= kNearSizes ? kWriteBit : 0;
    const size_t size = size_t{1} << (hook % kNearSizes);
    for (unsigned first = 0; first < 8; ++first)
      for (Slot& slot : page->compared[hook][first])
        slot = kIdBits | kAtomicBit | write | granule_bytes(first, size);
    assemble(*page, hook);
  }
  system_call(SYS_mprotect, reinterpret_cast<long>(page), kPage, PROT_READ | PROT_EXEC);
  return page;
}

// The GOT slots through which the module calls our hooks.
struct HookSlots {
  Address got[kHooks];
  bool inlined;  // the module has inlined checks
};

bool find_slots(const dl_phdr_info& info, HookSlots* slots) {
  bool any = false;
  memset(slots, 0, sizeof *slots);
  const Imports imports(info);
  slots->inlined = imports.has_thread_local(DEADHEAT_CHECK_WORDS_NAME);
  imports.for_each([&](const char* name, Address slot) {
    for (size_t hook = 0; hook < kHooks; ++hook) {
      if (strcmp(name, kNames[hook]) != 0) continue;
      slots->got[hook] = slot;
      any = true;
    }
    return true;
  });
  return any;
}

void patch(unsigned char* stub, const unsigned char* target) {
  const auto first = reinterpret_cast<Address>(stub) & ~(kPage - 1);
  const size_t size = ((reinterpret_cast<Address>(stub) + 6 + kPage - 1) & ~(kPage - 1)) - first;
  if (system_call(SYS_mprotect, static_cast<long>(first), static_cast<long>(size),
                  PROT_READ | PROT_WRITE | PROT_EXEC) != 0)
    return;
  Assembler(stub).bytes("\xe9").relative(target).bytes("\x90");  // jmp target; nop
  system_call(SYS_mprotect, static_cast<long>(first), static_cast<long>(size),
              PROT_READ | PROT_EXEC);
}

// Stubs are `jmp *slot(%rip)`.
void patch_stubs(const DataRange& code, const HookSlots& slots, const NearPage& page) {
  const Address end = code.end - code.begin < kMaxPltBytes ? code.end : code.begin + kMaxPltBytes;
  for (Address at = code.begin; at + 6 <= end; ++at) {
    auto* const bytes = reinterpret_cast<unsigned char*>(at);
    if (bytes[0] != 0xff || bytes[1] != 0x25) continue;
    int32_t distance;
    memcpy(&distance, bytes + 2, sizeof distance);
    const Address target = at + 6 + static_cast<Address>(int64_t{distance});
    for (size_t hook = 0; hook < kHooks; ++hook)
      if (slots.got[hook] != 0 && slots.got[hook] == target) patch(bytes, page.code[hook]);
  }
}

bool is_new(Address begin) {
  for (size_t i = 0; i < done_count; ++i)
    if (done[i] == begin) return false;
  if (done_count < kMaxDone) done[done_count++] = begin;
  return true;
}

int plug_module(dl_phdr_info* info, size_t, void*) {
  DataRange code;
  Address begin = ~Address{0};
  for (size_t i = 0; i < info->dlpi_phnum; ++i) {
    const Elf64_Phdr& header = info->dlpi_phdr[i];
    const Address at = info->dlpi_addr + header.p_vaddr;
    if (header.p_type != PT_LOAD) continue;
    if (at < begin) begin = at;
    if ((header.p_flags & PF_X) != 0 && code.end == 0) code = {at, at + header.p_memsz};
  }
  HookSlots slots;
  if (code.end == 0 || !is_new(begin) || !find_slots(*info, &slots)) return 0;
  if (const NearPage* const page = make_page(begin, slots.inlined)) patch_stubs(code, slots, *page);
  return 0;
}

}  // namespace

void start_near_hooks(const SlowWays& after, const SlowWays& first) {
  for (size_t hook = 0; hook < kHooks; ++hook) {
    slow_ways[0][hook] = after.ways[hook / kNearSizes][hook % kNearSizes];
    slow_ways[1][hook] = first.ways[hook / kNearSizes][hook % kNearSizes];
  }
  started = true;
  plug_near_hooks();
}

void plug_near_hooks() {
  if (started) dl_iterate_phdr(plug_module, nullptr);
}

void mode_modules_changed() { plug_near_hooks(); }

}  // namespace deadheat::runtime

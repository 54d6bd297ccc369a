#include "lib/sampler/code/decode.h"

#include <Zydis/Zydis.h>

namespace deadheat::sampler {
namespace {

const ZydisDecoder& decoder() {
  static const ZydisDecoder made = [] {
    ZydisDecoder one;
    ZydisDecoderInit(&one, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    return one;
  }();
  return made;
}

bool is_stack_register(ZydisRegister name) {
  const ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, name);
  return whole == ZYDIS_REGISTER_RSP || whole == ZYDIS_REGISTER_RBP;
}

// Hints and padding name memory without accessing it.
bool only_names_memory(const ZydisDecodedInstruction& decoded) {
  switch (decoded.meta.category) {
    case ZYDIS_CATEGORY_NOP:
    case ZYDIS_CATEGORY_WIDENOP:
    case ZYDIS_CATEGORY_PREFETCH:
      return true;
    default:
      return false;
  }
}

ZydisRegister whole(uint16_t number) {
  return ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64,
                                          static_cast<ZydisRegister>(number));
}

bool accesses(const ZydisDecodedOperand& operand) {
  return operand.type == ZYDIS_OPERAND_TYPE_MEMORY &&
         (operand.mem.type == ZYDIS_MEMOP_TYPE_MEM || operand.mem.type == ZYDIS_MEMOP_TYPE_VSIB);
}

// push, pop, call, return.
bool is_own_stack(const ZydisDecodedOperand& operand) {
  return operand.visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN &&
         is_stack_register(operand.mem.base);
}

bool is_listed(const Instruction& out, const ZydisDecodedOperand& operand) {
  return operand.mem.type == ZYDIS_MEMOP_TYPE_MEM && operand.size != 0 &&
         out.count < out.accesses.size();
}

void add(Instruction& out, const ZydisDecodedOperand& operand) {
  if (!accesses(operand)) return;
  if (is_own_stack(operand)) {
    out.stacks = true;
    return;
  }
  if (!is_listed(out, operand)) {
    out.more = true;
    return;
  }
  MemoryAccess& access = out.accesses[out.count++];
  access.base = static_cast<uint16_t>(operand.mem.base);
  access.index = static_cast<uint16_t>(operand.mem.index);
  access.segment = static_cast<uint16_t>(operand.mem.segment);
  access.scale = operand.mem.scale;
  access.displacement = operand.mem.disp.has_displacement != 0 ? operand.mem.disp.value : 0;
  access.size = (operand.size + 7) / 8;
  access.reads = (operand.actions & ZYDIS_OPERAND_ACTION_MASK_READ) != 0;
  access.writes = (operand.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0;
  access.pc_relative =
      operand.mem.base == ZYDIS_REGISTER_RIP || operand.mem.base == ZYDIS_REGISTER_EIP;
  access.on_stack = is_stack_register(operand.mem.base);
  access.on_frame = access.on_stack && whole(access.base) == ZYDIS_REGISTER_RBP;
  access.thread_local_ = operand.mem.segment == ZYDIS_REGISTER_FS;
}

// With AVX, compilers implement a 16-byte atomic load or store as an aligned vector move.
bool may_be_atomic(const ZydisDecodedInstruction& decoded, uint32_t size) {
  if (size > 16 || decoded.encoding == ZYDIS_INSTRUCTION_ENCODING_LEGACY) return false;
  switch (decoded.mnemonic) {
    case ZYDIS_MNEMONIC_VMOVDQA:
    case ZYDIS_MNEMONIC_VMOVDQA32:
    case ZYDIS_MNEMONIC_VMOVDQA64:
    case ZYDIS_MNEMONIC_VMOVAPS:
    case ZYDIS_MNEMONIC_VMOVAPD:
      return true;
    default:
      return false;
  }
}

// Eight bytes in a vector register may be an atomic double or a pair of integers: undecidable.
bool is_bulk(const Instruction& out, const ZydisDecodedInstruction& decoded,
             const ZydisDecodedOperand* operands) {
  if (out.count == 0) return false;
  if (decoded.meta.category == ZYDIS_CATEGORY_STRINGOP) return true;
  if (out.accesses[0].size < 16 || may_be_atomic(decoded, out.accesses[0].size)) return false;
  for (size_t i = 0; i < decoded.operand_count; ++i) {
    if (operands[i].type != ZYDIS_OPERAND_TYPE_REGISTER) continue;
    switch (ZydisRegisterGetClass(operands[i].reg.value)) {
      case ZYDIS_REGCLASS_XMM:
      case ZYDIS_REGCLASS_YMM:
      case ZYDIS_REGCLASS_ZMM:
        return true;
      default:
        break;
    }
  }
  return false;
}

bool searches(ZydisMnemonic mnemonic) {
  switch (mnemonic) {
    case ZYDIS_MNEMONIC_PCMPEQB:
    case ZYDIS_MNEMONIC_PCMPEQD:
    case ZYDIS_MNEMONIC_PCMPISTRI:
    case ZYDIS_MNEMONIC_VPCMPEQB:
    case ZYDIS_MNEMONIC_VPCMPEQD:
    case ZYDIS_MNEMONIC_VPCMPB:
    case ZYDIS_MNEMONIC_VPCMPUB:
    case ZYDIS_MNEMONIC_VPCMPD:
    case ZYDIS_MNEMONIC_VPCMPUD:
    case ZYDIS_MNEMONIC_VPTESTNMB:
    case ZYDIS_MNEMONIC_VPTESTNMD:
      return true;
    default:
      return false;
  }
}

void mark_changed_base(Instruction& out, const ZydisDecodedOperand& operand) {
  if (operand.type != ZYDIS_OPERAND_TYPE_REGISTER) return;
  if ((operand.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) == 0) return;
  const ZydisRegister changed = whole(static_cast<uint16_t>(operand.reg.value));
  for (size_t i = 0; i < out.count; ++i) {
    MemoryAccess& access = out.accesses[i];
    if (access.pc_relative) continue;
    if ((access.base != 0 && whole(access.base) == changed) ||
        (access.index != 0 && whole(access.index) == changed))
      access.base_changes = true;
  }
}

uint64_t whole_register(ZydisRegister name, const user_regs_struct& r) {
  switch (name) {
    case ZYDIS_REGISTER_RAX:
      return r.rax;
    case ZYDIS_REGISTER_RBX:
      return r.rbx;
    case ZYDIS_REGISTER_RCX:
      return r.rcx;
    case ZYDIS_REGISTER_RDX:
      return r.rdx;
    case ZYDIS_REGISTER_RSI:
      return r.rsi;
    case ZYDIS_REGISTER_RDI:
      return r.rdi;
    case ZYDIS_REGISTER_RBP:
      return r.rbp;
    case ZYDIS_REGISTER_RSP:
      return r.rsp;
    case ZYDIS_REGISTER_R8:
      return r.r8;
    case ZYDIS_REGISTER_R9:
      return r.r9;
    case ZYDIS_REGISTER_R10:
      return r.r10;
    case ZYDIS_REGISTER_R11:
      return r.r11;
    case ZYDIS_REGISTER_R12:
      return r.r12;
    case ZYDIS_REGISTER_R13:
      return r.r13;
    case ZYDIS_REGISTER_R14:
      return r.r14;
    case ZYDIS_REGISTER_R15:
      return r.r15;
    default:
      return 0;
  }
}

uint64_t register_value(uint16_t number, const user_regs_struct& registers) {
  const auto name = static_cast<ZydisRegister>(number);
  const uint64_t value = whole_register(whole(number), registers);
  // With an address size prefix, the lower half counts.
  return whole(number) == name ? value : value & 0xffffffffU;
}

bool makes_frame(const ZydisDecodedInstruction& decoded, const ZydisDecodedOperand* operands) {
  if (decoded.mnemonic == ZYDIS_MNEMONIC_ENTER) return true;
  if (decoded.operand_count < 2 || operands[0].type != ZYDIS_OPERAND_TYPE_REGISTER ||
      operands[0].reg.value != ZYDIS_REGISTER_RBP)
    return false;
  const bool moved = decoded.mnemonic == ZYDIS_MNEMONIC_MOV &&
                     operands[1].type == ZYDIS_OPERAND_TYPE_REGISTER &&
                     operands[1].reg.value == ZYDIS_REGISTER_RSP;
  const bool computed =
      decoded.mnemonic == ZYDIS_MNEMONIC_LEA && operands[1].mem.base == ZYDIS_REGISTER_RSP;
  return moved || computed;
}

}  // namespace

bool MemoryAccess::is_go_routine() const { return base == ZYDIS_REGISTER_R14 && index == 0; }

std::optional<Instruction> decode(std::span<const uint8_t> bytes, uint64_t address) {
  ZydisDecodedInstruction decoded;
  ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
  if (!ZYAN_SUCCESS(
          ZydisDecoderDecodeFull(&decoder(), bytes.data(), bytes.size(), &decoded, operands)))
    return std::nullopt;
  Instruction out;
  out.address = address;
  out.length = decoded.length;
  out.repeated = (decoded.attributes &
                  (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE)) != 0;
  out.calls = decoded.meta.category == ZYDIS_CATEGORY_CALL;
  switch (decoded.meta.category) {
    case ZYDIS_CATEGORY_CALL:
    case ZYDIS_CATEGORY_RET:
    case ZYDIS_CATEGORY_UNCOND_BR:
    case ZYDIS_CATEGORY_COND_BR:
      out.transfers = true;
      break;
    default:
      break;
  }
  if (out.transfers && operands[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE &&
      operands[0].imm.is_relative != 0)
    out.target = address + out.length + static_cast<uint64_t>(operands[0].imm.value.s);
  out.makes_frame = makes_frame(decoded, operands);
  out.searches = searches(decoded.mnemonic);
  if (only_names_memory(decoded)) return out;
  for (size_t i = 0; i < decoded.operand_count; ++i) add(out, operands[i]);
  for (size_t i = 0; i < decoded.operand_count; ++i) mark_changed_base(out, operands[i]);
  out.bulk = is_bulk(out, decoded, operands);
  out.locked = (decoded.attributes & ZYDIS_ATTRIB_HAS_LOCK) != 0 ||
               (decoded.mnemonic == ZYDIS_MNEMONIC_XCHG && out.count > 0);
  return out;
}

std::string instruction_text(std::span<const uint8_t> bytes) {
  ZydisDecodedInstruction decoded;
  ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
  if (!ZYAN_SUCCESS(
          ZydisDecoderDecodeFull(&decoder(), bytes.data(), bytes.size(), &decoded, operands)))
    return {};
  ZydisFormatter formatter;
  ZydisFormatterInit(&formatter, ZYDIS_FORMATTER_STYLE_INTEL);
  char text[128] = "";
  if (!ZYAN_SUCCESS(ZydisFormatterFormatInstruction(
          &formatter, &decoded, operands, decoded.operand_count_visible, text, sizeof text,
          ZYDIS_RUNTIME_ADDRESS_NONE, nullptr)))
    return {};
  return text;
}

uint64_t effective_address(const Instruction& instruction, const MemoryAccess& access,
                           const user_regs_struct& registers) {
  uint64_t address = static_cast<uint64_t>(access.displacement);
  if (access.pc_relative)
    address += instruction.address + instruction.length;
  else if (access.base != 0)
    address += register_value(access.base, registers);
  if (access.index != 0) address += register_value(access.index, registers) * access.scale;
  if (access.segment == ZYDIS_REGISTER_FS) address += registers.fs_base;
  if (access.segment == ZYDIS_REGISTER_GS) address += registers.gs_base;
  return address;
}

}  // namespace deadheat::sampler

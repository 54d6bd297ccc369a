#include "lib/sampler/backend/ptrace/unwind.h"

#include <elfutils/libdwfl.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "lib/base/file.h"

namespace deadheat::sampler {
namespace {

struct Collected {
  std::vector<uint64_t> pcs;
  size_t most;
};

int add_frame(Dwfl_Frame* frame, void* argument) {
  auto& collected = *static_cast<Collected*>(argument);
  Dwarf_Addr pc = 0;
  bool is_activation = false;
  if (!dwfl_frame_pc(frame, &pc, &is_activation)) return DWARF_CB_ABORT;
  collected.pcs.push_back(pc);
  return collected.pcs.size() < collected.most ? DWARF_CB_OK : DWARF_CB_ABORT;
}

// The callback receives no argument of ours.
thread_local const std::vector<LoadedModule>* current_modules = nullptr;

// Finds the files that the process has mapped, not those of the same name here.
int find_elf(Dwfl_Module* module, void** data, const char* name, Dwarf_Addr base, char** file,
             Elf** elf) {
  const auto found = std::find_if(current_modules->begin(), current_modules->end(),
                                  [&](const LoadedModule& one) { return one.begin == base; });
  if (found == current_modules->end())
    return dwfl_linux_proc_find_elf(module, data, name, base, file, elf);
  *file = ::strdup(found->path.c_str());
  auto opened = open_regular(found->readable());
  return opened ? opened->release() : -1;
}

// libdw would open whatever the program's .gnu_debuglink names, and wait where that is a pipe,
// while the program stands. Missed: frames of code that is described in a separate .debug_frame
// only.
int find_no_debuginfo(Dwfl_Module*, void**, const char*, Dwarf_Addr, const char*, const char*,
                      GElf_Word, char**) {
  return -1;
}

const Dwfl_Callbacks* callbacks() {
  static const Dwfl_Callbacks made = [] {
    Dwfl_Callbacks one{};
    one.find_elf = find_elf;
    one.find_debuginfo = find_no_debuginfo;
    return one;
  }();
  return &made;
}

}  // namespace

Unwinder::Unwinder(int process, std::vector<LoadedModule> modules) : modules_(std::move(modules)) {
  current_modules = &modules_;
  dwfl_ = dwfl_begin(callbacks());
  if (dwfl_ == nullptr) return;
  if (dwfl_linux_proc_report(dwfl_, process) == 0 &&
      dwfl_report_end(dwfl_, nullptr, nullptr) == 0 &&
      dwfl_linux_proc_attach(dwfl_, process, true) == 0)
    return;
  dwfl_end(dwfl_);
  dwfl_ = nullptr;
}

Unwinder::~Unwinder() {
  if (dwfl_ != nullptr) dwfl_end(dwfl_);
}

std::vector<uint64_t> Unwinder::stack(int task) {
  Collected collected{{}, kMostFrames};
  current_modules = &modules_;
  if (dwfl_ != nullptr) dwfl_getthread_frames(dwfl_, task, add_frame, &collected);
  return collected.pcs;
}

}  // namespace deadheat::sampler

#include "lib/sampler/ptrace/unwind.h"

#include <elfutils/libdwfl.h>

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

const Dwfl_Callbacks* callbacks() {
  static const Dwfl_Callbacks made = [] {
    Dwfl_Callbacks one{};
    one.find_elf = dwfl_linux_proc_find_elf;
    one.find_debuginfo = dwfl_standard_find_debuginfo;
    return one;
  }();
  return &made;
}

}  // namespace

Unwinder::Unwinder(int process) {
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
  if (dwfl_ != nullptr) dwfl_getthread_frames(dwfl_, task, add_frame, &collected);
  return collected.pcs;
}

}  // namespace deadheat::sampler

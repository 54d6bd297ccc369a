// LoadedCode: the target's modules and their instructions, by address.
//
// Module numbers are permanent: collisions of a program that was replaced by exec refer to them.
#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "lib/sampler/backend/backend.h"
#include "lib/sampler/backend/collision.h"
#include "lib/sampler/code/code_list.h"

namespace deadheat::sampler {

class LoadedCode {
 public:
  void update(const std::vector<LoadedModule>& now);
  // The numbers of modules added since the last call.
  std::vector<int> take_fresh() { return std::exchange(fresh_, {}); }
  void forget();  // exec: none of them is loaded any more

  const std::vector<LoadedModule>& modules() const { return modules_; }
  const LoadedModule& module(int number) const { return modules_[static_cast<size_t>(number)]; }
  ModuleCode* code_of(int module);  // opened on first use; nullptr if impossible
  void adopt(int module, std::unique_ptr<ModuleCode> code);  // opened elsewhere
  CodePlace place_of(uint64_t address) const;
  // The caller, for a call through memory, which traps in the called function.
  std::optional<Side> caller_of(const Event& event, uint64_t return_address, const Side& held);
  // A read of a whole vector by a C library function that looks for an end.
  bool reads_ahead(const Side& side);
  // The dynamic linker, or Deadheat's runtime in an instrumented program; not the C library.
  bool is_below_program(int module) const;
  void leave_library(Side& side);  // sets library_frames

  // At a trap after an access to the memory of `held`: finds the accessing side. The trap comes
  // after the access: the instruction ends at the pc or, between the elements of a repeated one,
  // begins there.
  Side side_of(const Event& event, const Side& held);

 private:
  std::vector<LoadedModule> modules_;
  std::vector<std::unique_ptr<ModuleCode>> codes_;
  std::vector<bool> opened_;
  std::vector<int> fresh_;
};

}  // namespace deadheat::sampler

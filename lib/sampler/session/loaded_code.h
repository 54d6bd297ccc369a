// LoadedCode: the target's modules and their instructions, by address.
//
// Numbers of modules stay: collisions of a program that was replaced by exec refer to them.
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
  // The numbers of those that are new since the last call.
  std::vector<int> take_fresh() { return std::exchange(fresh_, {}); }
  void forget();  // exec: none of them is there any more

  const std::vector<LoadedModule>& modules() const { return modules_; }
  const LoadedModule& module(int number) const { return modules_[static_cast<size_t>(number)]; }
  ModuleCode* code_of(int module);  // opened when first needed; nullptr where it cannot be
  void adopt(int module, std::unique_ptr<ModuleCode> code);  // opened elsewhere
  CodePlace place_of(uint64_t address) const;
  // Of a call through memory, which traps in the called function.
  std::optional<Side> caller_of(const Event& event, uint64_t return_address, const Side& held);
  // A read of a whole vector by a function of the C library that looks for an end.
  bool reads_ahead(const Side& side);
  bool is_loader(int module) const;
  void leave_library(Side& side);  // sets library_frames

  // At a trap behind an access to the memory of `held`: who did it. The trap comes after the
  // access: the instruction ends where the pc is or, between the elements of a repeated one, begins
  // there.
  Side side_of(const Event& event, const Side& held);

 private:
  std::vector<LoadedModule> modules_;
  std::vector<std::unique_ptr<ModuleCode>> codes_;
  std::vector<bool> opened_;
  std::vector<int> fresh_;
};

}  // namespace deadheat::sampler

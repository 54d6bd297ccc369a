#include "lib/sampler/session/loaded_code.h"

#include <algorithm>

#include "lib/places/places.h"

namespace deadheat::sampler {

void LoadedCode::update(const std::vector<LoadedModule>& now) {
  for (const LoadedModule& module : now) {
    if (std::find(modules_.begin(), modules_.end(), module) != modules_.end()) continue;
    fresh_.push_back(static_cast<int>(modules_.size()));
    modules_.push_back(module);
    codes_.emplace_back();
    opened_.push_back(false);
  }
}

void LoadedCode::forget() {
  for (LoadedModule& module : modules_) module.begin = module.end = 0;
}

ModuleCode* LoadedCode::code_of(int module) {
  if (module < 0) return nullptr;
  const auto at = static_cast<size_t>(module);
  if (!opened_[at]) {
    opened_[at] = true;
    auto code = ModuleCode::open(modules_[at].readable());
    if (code) codes_[at] = std::move(code).value();
  }
  return codes_[at].get();
}

void LoadedCode::adopt(int module, std::unique_ptr<ModuleCode> code) {
  const auto at = static_cast<size_t>(module);
  if (opened_[at]) return;
  opened_[at] = true;
  codes_[at] = std::move(code);
}

CodePlace LoadedCode::place_of(uint64_t address) const {
  // The newest first: a path may have been loaded twice.
  for (size_t i = modules_.size(); i-- > 0;)
    if (address >= modules_[i].begin && address < modules_[i].end)
      return {static_cast<int>(i), address - modules_[i].bias};
  return {-1, address};
}

bool LoadedCode::is_below_program(int number) const {
  const std::string& path = module(number).path;
  const std::string name = path.substr(path.rfind('/') + 1);
  return name.starts_with("ld-linux") || name.starts_with("ld-musl") ||
         name.starts_with("libdeadheat.so");
}

void LoadedCode::leave_library(Side& side) {
  const auto in_library = [&](const CodePlace& place) {
    ModuleCode* const code = code_of(place.module);
    return code != nullptr &&
           (code->in_c_library(place.address) || code->moves_for_go(place.address));
  };
  size_t count = in_library(side.place) ? 1 : 0;
  while (count > 0 && count <= side.stack.size() && in_library(side.stack[count - 1])) count++;
  // If no other caller is known, the library itself is named.
  side.library_frames = count <= side.stack.size() ? count : 0;
}

bool LoadedCode::reads_ahead(const Side& side) {
  constexpr uint32_t kVector = 16;
  if (side.writes || side.size < kVector || side.place.module < 0) return false;
  ModuleCode* const code = code_of(side.place.module);
  return code != nullptr && code->searches(side.place.address) &&
         (code->in_c_library(side.place.address) ||
          places::is_runtime_module(module(side.place.module).path));
}

namespace {

// Whether a push, pop, call or return may just have accessed the held bytes.
bool at_stack_pointer(const user_regs_struct& registers, const Side& held) {
  constexpr uint64_t kWord = 8;
  return held.address < registers.rsp + kWord && registers.rsp - kWord < held.address + held.size;
}

}  // namespace

Side LoadedCode::side_of(const Event& event, const Side& held) {
  Side side;
  const CodePlace after = place_of(event.pc);
  side.place = {after.module, after.address > 0 ? after.address - 1 : 0};
  ModuleCode* const code = code_of(after.module);
  if (code == nullptr) return side;
  side.below_program = is_below_program(after.module);
  side.in_go = code->is_go();
  side.in_go_runtime = code->in_go_runtime(side.place.address);
  const bool begins = code->begins_at(after.address);
  if (begins) side.place.address = after.address;  // not the one before it
  const auto before = code->ending_at(after.address);
  for (auto instruction : {before, code->at(after.address)}) {
    if (!instruction || instruction->count == 0 || instruction->transfers) continue;
    const bool here = instruction->address == after.address;
    if (here && !instruction->repeated) continue;
    const CodePlace place = {after.module, instruction->address};
    const std::string text =
        instruction_text(code->bytes(instruction->address, kLongestInstruction));
    instruction->address += module(after.module).bias;
    for (const MemoryAccess& access : instruction->memory()) {
      const uint64_t at = effective_address(*instruction, access, event.registers);
      const bool touches = access.touches(at, held.address, held.address + held.size);
      // String instructions have advanced by one element; a load may have replaced its own base.
      if (!touches && !access.base_changes) continue;
      side.place = place;
      side.text = text;
      side.locked = instruction->locked;
      side.bulk = instruction->bulk;
      side.reads = access.reads;
      side.writes = access.writes;
      side.size = access.size;
      side.address = touches ? at : 0;
      if (touches) return side;
    }
    if (!side.text.empty()) return side;
  }
  // Where a jump into a function ends, the one that came is another. So it is where a jump through
  // a table ends; that one is taken for no access, as such tables are constant. Behind a call it
  // was a return: that, a push or a pop touches the stack where rsp is now.
  side.elsewhere = !begins && before && !before->more &&
                   !((before->calls || before->stacks) && at_stack_pointer(event.registers, held));
  return side;
}

// "call [rax+8]" traps at its target; find the call instruction from its return address.
std::optional<Side> LoadedCode::caller_of(const Event& event, uint64_t return_address,
                                          const Side& held) {
  const CodePlace after = place_of(return_address);
  ModuleCode* const code = code_of(after.module);
  auto call = code == nullptr ? std::nullopt : code->ending_at(after.address);
  if (!call || !call->transfers) return std::nullopt;
  Side side;
  side.place = {after.module, call->address};
  // A direct call to this place: it is the caller, and it accessed only its own stack.
  if (call->target != 0 && call->target + module(after.module).bias == event.pc &&
      !at_stack_pointer(event.registers, held)) {
    side.elsewhere = true;
    return side;
  }
  if (call->count == 0) return std::nullopt;
  side.text = instruction_text(code->bytes(call->address, kLongestInstruction));
  call->address += module(after.module).bias;
  const MemoryAccess& access = call->accesses[0];
  side.address = effective_address(*call, access, event.registers);
  if (access.on_stack || !access.touches(side.address, held.address, held.address + held.size))
    return std::nullopt;
  side.reads = true;
  side.size = access.size;
  return side;
}

}  // namespace deadheat::sampler

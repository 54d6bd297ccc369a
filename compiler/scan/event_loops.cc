#include "compiler/scan/event_loops.h"

#include <algorithm>

namespace deadheat::scan {
namespace {

const llvm::Value* argument(const llvm::CallBase& call, int number) {
  return number >= 0 && static_cast<unsigned>(number) < call.arg_size()
             ? call.getArgOperand(static_cast<unsigned>(number))
             : nullptr;
}

}  // namespace

void EventLoops::add_callback(const llvm::CallBase& call, const Clause& clause, Node function,
                              Node data) {
  callbacks_.push_back({&call, function, data, argument(call, clause.c)});
}

void EventLoops::add_belonging(const llvm::CallBase& call, const Clause& clause) {
  belongings_.push_back({&call, argument(call, clause.a), argument(call, clause.b)});
}

void EventLoops::add_loop(const llvm::CallBase& call, const Clause& clause) {
  loops_.push_back({&call, argument(call, clause.a)});
}

std::vector<const llvm::Value*> EventLoops::loops_of(const Callback& one, const Meet& meet,
                                                     const IsKnown& is_known) const {
  std::vector<const llvm::Value*> out;
  for (const Belonging& belonging : belongings_) {
    const bool same_call = belonging.call == one.call;
    const bool same_event =
        one.event != nullptr && belonging.event != nullptr && meet(one.event, belonging.event);
    if (!same_call && !same_event) continue;
    if (belonging.loop == nullptr || !is_known(belonging.loop)) return {};
    out.push_back(belonging.loop);
  }
  return out;
}

std::vector<EventLoops::Run> EventLoops::next(const Meet& meet, const IsKnown& is_known) {
  std::vector<Run> out;
  for (const bool any : {false, true}) {
    of_any_ = 0;
    for (size_t i = 0; i < callbacks_.size(); ++i) {
      const Callback& callback = callbacks_[i];
      const std::vector<const llvm::Value*> mine = loops_of(callback, meet, is_known);
      bool is_of_any = mine.empty();
      for (size_t j = 0; j < loops_.size(); ++j) {
        const Loop& loop = loops_[j];
        const bool unknown = mine.empty() || loop.loop == nullptr || !is_known(loop.loop);
        is_of_any |= unknown;
        const bool runs = unknown ? any : std::any_of(mine.begin(), mine.end(), [&](auto* own) {
          return meet(own, loop.loop);
        });
        if (runs && returned_.insert({i, j}).second)
          out.push_back({loop.call, callback.function, callback.data});
      }
      of_any_ += is_of_any ? 1 : 0;
    }
    if (!out.empty()) return out;
  }
  return out;
}

}  // namespace deadheat::scan

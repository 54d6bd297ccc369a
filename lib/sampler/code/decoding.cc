#include "lib/sampler/code/decoding.h"

#include <algorithm>
#include <chrono>
#include <thread>

namespace deadheat::sampler {

DecodedModule Decoding::decode(const Wish& wish, int number, const std::string& path) {
  DecodedModule out;
  out.number = number;
  auto code = ModuleCode::open(path);
  if (!code) {
    out.problem = code.error().message;
    return out;
  }
  out.code = std::move(code).value();
  out.list = out.code->list(wish.functions);
  if (wish.suspected) out.suspected = wish.suspected(*out.code);
  return out;
}

void Decoding::hurry(int number) {
  const auto found = std::find_if(waiting_.begin(), waiting_.end(),
                                  [&](const auto& one) { return one.first == number; });
  if (found != waiting_.end()) std::rotate(waiting_.begin(), found, found + 1);
}

std::optional<DecodedModule> Decoding::take_ready() {
  std::optional<DecodedModule> ready;
  if (under_way_.valid() &&
      under_way_.wait_for(std::chrono::seconds(0)) == std::future_status::ready)
    ready = under_way_.get();
  begin_next();
  return ready;
}

std::optional<DecodedModule> Decoding::wait(uint64_t patience_ms) {
  begin_next();
  if (under_way_.valid()) under_way_.wait_for(std::chrono::milliseconds(patience_ms));
  return take_ready();
}

void Decoding::begin_next() {
  if (under_way_.valid() || waiting_.empty()) return;
  const std::pair<int, std::string> next = waiting_.front();
  waiting_.pop_front();
  std::packaged_task<DecodedModule()> task(
      [wish = wish_, next] { return decode(*wish, next.first, next.second); });
  under_way_ = task.get_future();
  std::thread(std::move(task)).detach();
}

}  // namespace deadheat::sampler

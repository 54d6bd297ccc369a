// Decoding: lists the instructions of modules in a separate thread, one module after the other.
//
// A large library takes a second, for which a thread that hits a breakpoint would be stopped. The
// decoding thread does not use ptrace; it only reads files.
#pragma once

#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/sampler/code/code_list.h"

namespace deadheat::sampler {

struct DecodedModule {
  int number = 0;
  std::unique_ptr<ModuleCode> code;  // nullptr if the file cannot be read
  std::string problem;               // the reason
  CodeList list;
  std::vector<AddressRange> suspected;
};

class Decoding {
 public:
  using Suspected = std::function<std::vector<AddressRange>(const ModuleCode&)>;
  Decoding(std::vector<std::string> functions, Suspected suspected)
      : wish_(std::make_shared<const Wish>(Wish{std::move(functions), std::move(suspected)})) {}

  void later(int number, const std::string& path) { waiting_.emplace_back(number, path); }
  void hurry(int number);              // decode it next
  void forget() { waiting_.clear(); }  // the module being decoded is still delivered
  std::optional<DecodedModule> take_ready();
  // The next one; nothing if it takes longer.
  std::optional<DecodedModule> wait(uint64_t patience_ms);
  size_t waiting() const { return waiting_.size() + (under_way_.valid() ? 1 : 0); }

 private:
  void begin_next();
  struct Wish {
    std::vector<std::string> functions;
    Suspected suspected;
  };
  static DecodedModule decode(const Wish& wish, int number, const std::string& path);

  std::shared_ptr<const Wish> wish_;  // the thread may outlive us
  std::deque<std::pair<int, std::string>> waiting_;
  std::future<DecodedModule> under_way_;
};

}  // namespace deadheat::sampler

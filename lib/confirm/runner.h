// Runs executions of a program: here, as children (LocalRunner), or on the machines of a cluster
// (shared_runner.h).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lib/base/result.h"
#include "lib/confirm/children.h"

namespace deadheat::confirm {

class Runner {
 public:
  Runner() = default;
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;
  virtual ~Runner() = default;
  virtual Result<std::unique_ptr<ProgramExecution>> start(const ChildRequest& request) = 0;
  // Whether it runs on this machine, so that pinning to one of its processors is meaningful.
  virtual bool is_local() const = 0;
  virtual bool same_addresses() const = 0;
  // Problems to show to the user at the end.
  virtual std::vector<std::string> problems() const { return {}; }
};

class LocalRunner : public Runner {
 public:
  Result<std::unique_ptr<ProgramExecution>> start(const ChildRequest& request) override {
    auto child = children_.start(request);
    if (!child) return child.error();
    return std::unique_ptr<ProgramExecution>(
        std::make_unique<ChildExecution>(children_, *child, request.folder));
  }
  bool is_local() const override { return true; }
  bool same_addresses() const override { return children_.same_addresses(); }

 private:
  Children children_;
};

}  // namespace deadheat::confirm

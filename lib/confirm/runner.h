// Where executions of a program run: here, as children (LocalRunner), or on the machines of a
// cluster (shared_runner.h).
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
  // Whether a processor of this machine means something where it runs.
  virtual bool is_local() const = 0;
  virtual bool same_addresses() const = 0;
  // What people should know, when all is over.
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

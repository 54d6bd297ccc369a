// The compiled programs of kernel/bpf, loaded into the kernel: maps, settings and links behind
// RAII. bpf_source.cc is the only user.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "abi/process_bpf.h"
#include "lib/base/result.h"

struct bpf_link;
struct bpf_object;

namespace deadheat::process {

class BpfObject {
 public:
  static Result<std::unique_ptr<BpfObject>> load(uint64_t buffer_bytes);
  BpfObject(const BpfObject&) = delete;
  BpfObject& operator=(const BpfObject&) = delete;
  ~BpfObject();

  Status attach();
  void detach();
  int events_map() const { return events_; }
  // The task gets a state: recorded from its next exec on.
  Status mark(int pid);
  deadheat_bpf_counters counters() const;
  // Events that a program missed because it interrupted itself.
  uint64_t missed() const;

 private:
  explicit BpfObject(bpf_object* object) : object_(object) {}

  bpf_object* object_;
  std::vector<bpf_link*> links_;
  int events_ = -1, tasks_ = -1, counters_ = -1;
};

}  // namespace deadheat::process

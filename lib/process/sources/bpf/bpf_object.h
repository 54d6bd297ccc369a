// The compiled programs of kernel/bpf, loaded into the kernel: RAII for maps, settings and links.
// bpf_source.cc is the only user.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "abi/process_bpf.h"
#include "lib/base/result.h"

struct bpf_link;
struct bpf_object;

namespace deadheat::process::sources {

class BpfObject {
 public:
  // `buffer_bytes`: all rings together; each is a power of two, and at least kLeastRing.
  static Result<std::unique_ptr<BpfObject>> load(uint64_t buffer_bytes);
  BpfObject(const BpfObject&) = delete;
  BpfObject& operator=(const BpfObject&) = delete;
  ~BpfObject();

  Status attach();
  void detach();
  // The processors' rings.
  size_t processors() const { return processors_; }
  deadheat_bpf_ring& ring(size_t processor) const { return rings_[processor]; }
  const char* ring_bytes(size_t processor) const { return bytes_ + processor * stride_; }
  uint64_t ring_size() const { return ring_size_; }
  // The kernel's ring buffer for the few events that do not go to a ring; its wake-ups serve all
  // rings.
  int aside_map() const { return aside_; }
  // Records everything that the task starts from now on.
  Status mark(int pid);
  deadheat_bpf_counters counters() const;
  // Events that a program missed because it interrupted itself.
  uint64_t missed() const;

 private:
  explicit BpfObject(bpf_object* object) : object_(object) {}
  Status size_maps(uint64_t buffer_bytes);
  Status map_rings();

  bpf_object* object_;
  std::vector<bpf_link*> links_;
  size_t processors_ = 0, stride_ = 0;
  uint64_t ring_size_ = 0;
  deadheat_bpf_ring* rings_ = nullptr;
  const char* bytes_ = nullptr;
  int aside_ = -1, roots_ = -1, counters_ = -1;
};

}  // namespace deadheat::process::sources

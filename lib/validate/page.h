// The validator's side of the shared page (abi/validate_page.h). The program's writes are hostile:
// sizes and offsets are checked against the file once, numbers are copied before use.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>

#include "abi/validate_page.h"
#include "lib/base/result.h"
#include "lib/base/scoped_fd.h"

namespace deadheat::validate {

struct Answer {
  uint32_t outcome = DHV_OUTCOME_NONE, happened = DHV_ORDER_ANY;
  uint32_t seen = 0, waited_us = 0, watches = 0;
  uint32_t threads[2] = {};
  uint64_t address = 0;
  uint32_t size = 0;
};

struct Wish {
  uint32_t candidate = 0;  // number in the program's list
  uint32_t order = DHV_ORDER_ANY;
  uint32_t tau_us = 0, bound_ms = 0;
  uint32_t lease_ms = 0;  // the program drops it by itself after so long; 0: never
  bool promoted = false;
};

class Page {
 public:
  static Result<std::unique_ptr<Page>> open(ScopedFd file);
  // The page of a running program, found among its descriptors.
  static Result<std::unique_ptr<Page>> of_process(pid_t process);
  ~Page();
  Page(const Page&) = delete;
  Page& operator=(const Page&) = delete;

  uint64_t fingerprint() const { return fingerprint_; }
  uint32_t sites() const { return sites_; }
  uint32_t candidates() const { return candidates_; }
  uint32_t pid() const { return pid_; }
  bool ended() const;  // in good order, as the program says
  // One validator at a time has the page: true until it ends or is killed. False: another has it.
  bool claim();

  void set_switches(uint32_t switches);
  void set_budget(uint32_t share_ppm, uint32_t standstill_us);
  void place(size_t slot, uint32_t serial, const Wish& wish);
  void clear(size_t slot);
  // False: the program has not taken up this serial.
  bool answer(size_t slot, uint32_t serial, Answer& into) const;
  uint8_t site_fact(uint32_t site) const;
  uint8_t candidate_fact(uint32_t candidate) const;
  dhv_counters counters() const;
  // The program's code tests these; only the bits of sites in the list's pairs are ever set here.
  void add_state(uint32_t site, uint8_t bits);
  void remove_state(uint32_t site, uint8_t bits);

 private:
  Page(ScopedFd file, void* memory, size_t size);
  dhv_page& shared() const { return *static_cast<dhv_page*>(memory_); }
  uint8_t* bytes() const { return static_cast<uint8_t*>(memory_); }

  ScopedFd file_, claim_;
  void* memory_;
  size_t size_;
  uint64_t fingerprint_ = 0;
  uint32_t sites_ = 0, candidates_ = 0, pid_ = 0;
  uint32_t site_facts_ = 0, candidate_facts_ = 0, states_ = 0;
};

}  // namespace deadheat::validate

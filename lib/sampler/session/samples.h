// Samples: the threads that are currently stopped before an access, the memory watched for each,
// and the results.
//
// Up to four at once, one per debug register; a wide access takes several registers. At least one
// thread is always left running: if all were stopped, none could access the memory.
#pragma once

#include <optional>
#include <vector>

#include "lib/base/random.h"
#include "lib/sampler/backend/backend.h"
#include "lib/sampler/session/collisions.h"
#include "lib/sampler/session/loaded_code.h"
#include "lib/sampler/verdict/not_reported.h"

namespace deadheat::sampler {

struct SampleEnd {
  uint32_t site = 0;
  uint64_t held_ns = 0;
  bool fruitful = false;  // a new collision
};

class Samples {
 public:
  Samples(Backend& backend, LoadedCode& code, uint64_t seed, uint64_t delay_ns)
      : backend_(backend), code_(code), random_(seed), delay_ns_(delay_ns) {}

  enum class Begun : uint8_t { kYes, kNoRoom, kNothingToSee };
  // The task of a breakpoint; if kYes, it is stopped until its sample ends, at most `most_ns`.
  Begun begin(const Event& event, const CodePlace& place, uint32_t site,
              uint64_t most_ns = UINT64_MAX);
  // A thread touched watched memory; it is released here. Returns the samples that ended by this.
  std::vector<SampleEnd> touched(const Event& event);
  std::vector<SampleEnd> end_due(uint64_t now_ns);
  std::vector<SampleEnd> end_all();
  void drop();  // exec, or the target has ended: no task is there to be released

  uint64_t next_deadline_ns() const;  // UINT64_MAX if none is active
  size_t standing() const { return now_.size(); }
  uint64_t standing_ns(uint64_t now_ns) const;

  Collisions& collisions() { return collisions_; }
  uint64_t count() const { return count_; }
  Counters counters() const;

 private:
  struct Sample {
    int task = 0;
    uint64_t watch = 0;
    uint32_t site = 0;
    uint64_t from_ns = 0, deadline_ns = 0;
    Collision seen;
    int traps = 0;
    bool explained = false;  // an unreported access wrote: a changed value adds nothing
  };
  std::optional<Collision> held_at(const Event& event, const CodePlace& place);
  bool fill_access(const Instruction& instruction, const Event& event, Side& held);
  bool fill_copy(const CopyFunction& function, const Event& event, Side& held);
  std::vector<WatchPiece> pieces_of(uint64_t address, uint32_t size, size_t* left_out) const;
  bool ended_before(const Side& reader, uint64_t address);
  bool meet(Sample& sample, const Event& event, bool* fresh);
  SampleEnd end(Sample& sample, bool met, bool fresh);
  void add_stacks(Collision& collision, int held, int other);
  std::vector<CodePlace> callers(int task) const;

  Backend& backend_;
  LoadedCode& code_;
  Random random_;
  uint64_t delay_ns_;
  NotReported not_reported_;
  std::vector<Sample> now_;
  Collisions collisions_;
  uint64_t count_ = 0, unwatched_bytes_ = 0, unreadable_ = 0, most_at_once_ = 0, too_late_ = 0;
};

}  // namespace deadheat::sampler

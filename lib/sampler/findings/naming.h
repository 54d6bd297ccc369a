// Naming: what findings say about the places and the memory of a watch's target. Programs have
// debug information (program_names.h), the kernel has kallsyms (kernel_names.h).
#pragma once

#include <string>

#include "lib/model/candidate.h"
#include "lib/sampler/backend/collision.h"

namespace deadheat::sampler {

struct DescribedSide {
  model::Site site;
  model::Access access;
};

class Naming {
 public:
  Naming() = default;
  Naming(const Naming&) = delete;
  Naming& operator=(const Naming&) = delete;
  virtual ~Naming() = default;

  // Adds what the source says about both sides.
  virtual void complete(Collision& collision) = 0;
  // `address`: of the held access, for a side whose own is unknown.
  virtual DescribedSide describe(const Side& side, uint64_t address) = 0;
  // Parts of the sentence "HELD when CAME".
  virtual std::string held(const Side& side) = 0;
  virtual std::string came(const Side& side) = 0;
  // Who may have changed a value if nobody was seen.
  virtual std::string strangers() = 0;
  // What the instructions leave open; begins with "; ", or is empty.
  virtual std::string doubt(const Collision& collision) = 0;
};

}  // namespace deadheat::sampler

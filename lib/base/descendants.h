// The processes below this one, and ending all of them.
//
// A process whose parent ends is handed to init, unless somebody above it adopts orphans: then what
// a program leaves behind, in whatever group or session, comes to us and can be ended.
#pragma once

#include <sys/types.h>

#include <vector>

namespace deadheat {

// Of a process with one thread, adopted ones too, and those that nobody has waited for.
std::vector<pid_t> children_of(pid_t parent);

// While it lives, orphans below this process become its children. May be nested.
class AdoptOrphans {
 public:
  AdoptOrphans();
  ~AdoptOrphans();
  AdoptOrphans(const AdoptOrphans&) = delete;
  AdoptOrphans& operator=(const AdoptOrphans&) = delete;
  bool outermost() const { return outermost_; }

  // Kills and reaps every child, and theirs as they are handed to us; not those that were there
  // before (a shell that became us by exec had its own). Gives up after seconds on one that the
  // kernel does not let die.
  void end_all() const;

 private:
  const std::vector<pid_t> before_;
  bool outermost_ = true;
};

}  // namespace deadheat

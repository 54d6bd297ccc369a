// The descendants of this process, and how to end all of them.
//
// When a process ends, its children go to init unless an ancestor is a child subreaper. While
// AdoptOrphans makes us one, every process that a program leaves behind comes to us, whatever its
// process group or session, and we can end it.
#pragma once

#include <sys/types.h>

#include <vector>

namespace deadheat {

// Children of a single-threaded process, including adopted ones and zombies not yet waited for.
std::vector<pid_t> children_of(pid_t parent);

// While an object lives, orphaned descendants become children of this process. May be nested.
class AdoptOrphans {
 public:
  AdoptOrphans();
  ~AdoptOrphans();
  AdoptOrphans(const AdoptOrphans&) = delete;
  AdoptOrphans& operator=(const AdoptOrphans&) = delete;
  bool outermost() const { return outermost_; }

  // Kills and reaps every child, and their children as the kernel hands them to us. Spares the
  // children that existed before this object (a shell that became us by exec had its own). Gives up
  // after a few seconds on a process that the kernel does not let die.
  void end_all() const;

 private:
  const std::vector<pid_t> before_;
  bool outermost_ = true;
};

}  // namespace deadheat

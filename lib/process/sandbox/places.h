// Decides where overlays are mounted, and over what.
#pragma once

#include <string>
#include <vector>

#include "lib/base/result.h"
#include "lib/process/sandbox/mount_table.h"

namespace deadheat::process::sandbox {

struct Place {
  std::string point;  // as the command sees it
  std::vector<std::string>
      lowers;  // top first; the last one is the machine's (or made in its likeness)
};

struct PlacesRequest {
  std::vector<HostMount> mounts;    // all that are visible
  std::vector<std::string> layers;  // laid over the machine's files, first on top
  std::string skeleton;             // an empty folder of ours
  // Without root the kernel hides what is below a mount: a folder that contains mounts cannot be
  // under an overlay. Such folders are recreated in the skeleton, and each folder in them gets its
  // own overlay. The cost: a rename between two of those fails with EXDEV, as between file
  // systems.
  bool split = false;
  // With split: writable folders of other users. An overlay cannot copy a folder whose owner is
  // not mapped in the namespace (EOVERFLOW at the first change in it), so these get their own
  // overlays.
  std::vector<std::string> others;
};

// In mounting order; "/" first.
Result<std::vector<Place>> choose_places(const PlacesRequest& request);

}  // namespace deadheat::process::sandbox

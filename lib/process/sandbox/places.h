// Where overlays are laid, and over what.
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
  // Without root the kernel lets nobody look below a mount: a folder that holds mounts cannot be
  // under an overlay. Such folders are made anew in the skeleton, and each folder in them gets an
  // overlay of its own. What is lost: a rename between two of those fails with EXDEV, as between
  // file systems.
  bool split = false;
  // With split: folders of other users in which one may write. An overlay cannot copy a folder
  // whose owner the namespace does not know (EOVERFLOW at the first change in it), so these get one
  // of their own.
  std::vector<std::string> others;
};

// In the order in which they have to be mounted; "/" first.
Result<std::vector<Place>> choose_places(const PlacesRequest& request);

}  // namespace deadheat::process::sandbox

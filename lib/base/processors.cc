#include "lib/base/processors.h"

#include <sched.h>

namespace deadheat {

std::vector<int> usable_processors() {
  cpu_set_t set;
  std::vector<int> all;
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return {0};
  for (int i = 0; i < CPU_SETSIZE; ++i)
    if (CPU_ISSET(i, &set)) all.push_back(i);
  return all;
}

}  // namespace deadheat

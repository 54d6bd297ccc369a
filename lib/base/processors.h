// The processors that this process may run on.
#pragma once

#include <vector>

namespace deadheat {

std::vector<int> usable_processors();  // never empty: {0} if the kernel does not say

}  // namespace deadheat

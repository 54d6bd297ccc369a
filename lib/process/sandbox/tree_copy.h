// Copies a folder's content with everything that an overlay keeps in it: whiteouts (character
// devices 0:0), marks of opaque and moved folders, modes, owners where allowed, times.
#pragma once

#include <string>

#include "lib/base/result.h"

namespace deadheat::process::sandbox {

// Into `to`, on top of what is there. Sockets and pipes come as empty ones; other devices are left
// out.
Status copy_tree(int from, int to, const std::string& where);

}  // namespace deadheat::process::sandbox

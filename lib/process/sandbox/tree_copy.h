// Copies a folder's contents with all the metadata that an overlay stores in it: whiteouts
// (character devices 0:0), marks of opaque and moved folders, modes, owners where allowed, times.
#pragma once

#include <string>

#include "lib/base/result.h"

namespace deadheat::process::sandbox {

// Into `to`, on top of its contents. Sockets and pipes are created empty; other devices are
// omitted.
Status copy_tree(int from, int to, const std::string& where);

}  // namespace deadheat::process::sandbox

// What printf and scanf do to memory through their arguments, on behalf of their caller. Neither
// changes the list. Formats whose arguments are numbered (%1$s) are not followed: those reads and
// writes are missed.
#pragma once

#include <stdarg.h>

#include "runtime/common/mode.h"

namespace deadheat::runtime {

// Before the call: it will read the texts among the arguments.
void prints(Address pc, const char* format, va_list list);
// After it: it has stored `count` results, each of what its conversion says.
void scanned(Address pc, int count, const char* format, va_list list);

}  // namespace deadheat::runtime

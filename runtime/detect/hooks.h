// The compilers' hooks (__tsan_*), and what has to be done once for them.
#pragma once

namespace deadheat::runtime {

void start_hooks();  // before any hook is called

}  // namespace deadheat::runtime

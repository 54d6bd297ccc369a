// The compilers' hooks (__tsan_*), and their one-time preparation.
#pragma once

namespace deadheat::runtime {

void start_hooks();  // before any hook is called

}  // namespace deadheat::runtime

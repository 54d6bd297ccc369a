// What the public headers declare and a race detector does not need. Programs link against all of
// it: the hooks of system calls that are not modelled (the modelled ones replace these), of
// coverage and fuzzing (a fuzzer in the program replaces those), and descriptions of containers and
// stacks for other sanitizers.
#include <stddef.h>
#include <stdint.h>

#define UNUSED extern "C" __attribute__((weak, visibility("default")))

#define HOOKS(name)                                    \
  UNUSED void __sanitizer_syscall_pre_impl_##name() {} \
  UNUSED void __sanitizer_syscall_post_impl_##name() {}
#include "runtime/common/syscall_names.inc"
#undef HOOKS

// --- <sanitizer/coverage_interface.h>, and what -fsanitize-coverage calls.
#define COVERAGE(name) \
  UNUSED void __sanitizer_cov_##name() {}
COVERAGE(dump)
COVERAGE(reset)
COVERAGE(8bit_counters_init)
COVERAGE(bool_flag_init)
COVERAGE(pcs_init)
COVERAGE(trace_pc)
COVERAGE(trace_pc_guard)
COVERAGE(trace_pc_guard_init)
COVERAGE(trace_pc_indir)
COVERAGE(trace_cmp)
COVERAGE(trace_cmp1)
COVERAGE(trace_cmp2)
COVERAGE(trace_cmp4)
COVERAGE(trace_cmp8)
COVERAGE(trace_const_cmp1)
COVERAGE(trace_const_cmp2)
COVERAGE(trace_const_cmp4)
COVERAGE(trace_const_cmp8)
COVERAGE(trace_switch)
COVERAGE(trace_div4)
COVERAGE(trace_div8)
COVERAGE(trace_gep)
COVERAGE(load1)
COVERAGE(load2)
COVERAGE(load4)
COVERAGE(load8)
COVERAGE(load16)
COVERAGE(store1)
COVERAGE(store2)
COVERAGE(store4)
COVERAGE(store8)
COVERAGE(store16)
#undef COVERAGE
UNUSED void __sanitizer_dump_coverage(const uintptr_t*, uintptr_t) {}
UNUSED void __sanitizer_dump_trace_pc_guard_coverage() {}

// --- Fuzzers learn comparisons from these; nothing calls them here.
#define COMPARED(name) \
  UNUSED void __sanitizer_weak_hook_##name() {}
COMPARED(memcmp)
COMPARED(memmem)
COMPARED(strcasecmp)
COMPARED(strcasestr)
COMPARED(strcmp)
COMPARED(strncasecmp)
COMPARED(strncmp)
COMPARED(strstr)
#undef COMPARED

// --- For AddressSanitizer and LeakSanitizer: containers with unused room, stacks, profiles.
UNUSED void __sanitizer_annotate_contiguous_container() {}
UNUSED void __sanitizer_annotate_double_ended_contiguous_container() {}
UNUSED int __sanitizer_verify_contiguous_container() { return 1; }
UNUSED int __sanitizer_verify_double_ended_contiguous_container() { return 1; }
UNUSED const void* __sanitizer_contiguous_container_find_bad_address() { return nullptr; }
UNUSED const void* __sanitizer_double_ended_contiguous_container_find_bad_address() {
  return nullptr;
}
UNUSED void __sanitizer_print_memory_profile(size_t, size_t) {}
UNUSED void __sanitizer_sandbox_on_notify(void*) {}
UNUSED void __sanitizer_start_switch_fiber(void**, const void*, size_t) {}
UNUSED void __sanitizer_finish_switch_fiber(void*, const void** bottom, size_t* size) {
  if (bottom != nullptr) *bottom = nullptr;
  if (size != nullptr) *size = 0;
}

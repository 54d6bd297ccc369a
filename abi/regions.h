/* What objects compiled through deadheat's clang pass (compiler/pass) ask of the runtime beside the
 * __tsan_* interface. All are referenced weakly or only from such objects: a runtime without them
 * still serves plain -fsanitize=thread objects.
 *
 * A call that may leave instrumented code is compiled to
 *
 *   if (state != DEADHEAT_CALLEE_KNOWN)                    direct: one byte per callee and object
 *     entered = __deadheat_region_begin(callee, &state, args, count);
 *   result = callee(...);
 *   if (entered) __deadheat_region_end(result or null);    also where an exception arrives
 *
 * and for an indirect call, with one pointer per call site,
 *
 *   if (known != callee)
 *     entered = __deadheat_region_begin_indirect(callee, &known, args, count);
 *
 * The end is skipped by longjmp, by exit, and by an exception that leaves the calling function:
 * whoever keeps regions closes those of a frame when __tsan_func_exit leaves it. At most one region
 * of a frame is open at a time. The place of the call is the caller of begin and end.
 */
#ifndef DEADHEAT_ABI_REGIONS_H_
#define DEADHEAT_ABI_REGIONS_H_

/* Beside the order of a __tsan_atomicN_store that is relaxed: of C++20 or later, where it ends the
 * release sequences of its own thread, too. */
#define DEADHEAT_ORDER_CXX20 (1 << 20)
/* The name by which the driver loads the pass for such a translation unit: a link to the plugin. */
#define DEADHEAT_PASS_CXX20 "deadheat_pass_cxx20.so"

#ifdef __cplusplus
extern "C" {
#endif

enum {
  DEADHEAT_CALLEE_UNKNOWN = 0, /* nobody has looked yet */
  DEADHEAT_CALLEE_KNOWN = 1,   /* instrumented, or modelled by the runtime: no region, ever */
  DEADHEAT_CALLEE_OUTSIDE = 2  /* not instrumented: a region each time */
};

/* An argument that points to a variable of the calling frame is passed as the variable's address
 * with its size in the bits from here on; those of other pointers are zero. */
#define DEADHEAT_SIZE_SHIFT 48

/* Returns whether a region was entered, and stores in *state (with a relaxed atomic store) what it
 * found. `arguments` are the pointer arguments of the call, by-value copies and the place of a
 * structure result included; they live until begin returns. */
int __deadheat_region_begin(const void* callee, unsigned char* state, const void* const* arguments,
                            unsigned count);
/* Stores `callee` in *known when calls to it need no region. */
int __deadheat_region_begin_indirect(const void* callee, const void** known,
                                     const void* const* arguments, unsigned count);
/* `result`: the pointer that the callee returned, or null. */
void __deadheat_region_end(const void* result);

/* Before a loop that does not synchronise: it will access `kind & 0xff` bytes (and write them, with
 * DEADHEAT_LOOP_WRITES) at begin, begin + stride and so on, `count` times. Returns 1 if that was
 * looked at: then the checks in the loop are skipped. The place is the caller. */
#define DEADHEAT_LOOP_WRITES 0x100
int __deadheat_loop(const void* begin, long stride, unsigned long count, unsigned long kind);

/* The start addresses of the instrumented functions of one object: its part of section
 * deadheat_functions. Called by a constructor of the object before the program's own constructors,
 * and by a destructor. Entries may be null: of an inline function another object's copy was kept.
 */
void __deadheat_register_functions(const void* const* begin, const void* const* end);
void __deadheat_unregister_functions(const void* const* begin, const void* const* end);

#ifdef __cplusplus
}
#endif

#endif /* DEADHEAT_ABI_REGIONS_H_ */

/* What objects compiled with deadheat's plugins (compiler/pass, compiler/gcc) require of the
 * runtime besides the __tsan_* interface. All symbols are referenced weakly or only from such
 * objects: a runtime without them still serves plain -fsanitize=thread objects.
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
 * longjmp, exit and an exception that leaves the calling function skip the end: the runtime closes
 * the regions of a frame when __tsan_func_exit leaves it. At most one region
 * of a frame is open at a time. The site of the call is the caller of begin and end.
 */
#ifndef DEADHEAT_ABI_REGIONS_H_
#define DEADHEAT_ABI_REGIONS_H_

/* Added to the order of a relaxed __tsan_atomicN_store under C++20 or later, where the store also
 * ends the release sequences of its own thread. */
#define DEADHEAT_ORDER_CXX20 (1 << 20)
/* The name by which the driver loads the pass for such a translation unit: a link to the plugin. */
#define DEADHEAT_PASS_CXX20 "deadheat_pass_cxx20.so"

#ifdef __cplusplus
extern "C" {
#endif

enum {
  DEADHEAT_CALLEE_UNKNOWN = 0, /* not looked up yet */
  DEADHEAT_CALLEE_KNOWN = 1,   /* instrumented, or modelled by the runtime: no region, ever */
  DEADHEAT_CALLEE_OUTSIDE = 2  /* not instrumented: a region each time */
};

/* An argument that points to a variable of the calling frame is passed as the variable's address
 * with its size in the bits from here up; in other pointers these bits are zero. */
#define DEADHEAT_SIZE_SHIFT 48

/* Returns whether a region was entered, and stores its finding in *state (with a relaxed atomic
 * store). `arguments` are the pointer arguments of the call, including by-value copies and the
 * address of a structure result; they live until begin returns. */
int __deadheat_region_begin(const void* callee, unsigned char* state, const void* const* arguments,
                            unsigned count);
/* Stores `callee` in *known if calls to it need no region. */
int __deadheat_region_begin_indirect(const void* callee, const void** known,
                                     const void* const* arguments, unsigned count);
/* `result`: the pointer that the callee returned, or null. */
void __deadheat_region_end(const void* result);

/* Called before a loop that does not synchronise and will access `kind & 0xff` bytes (writing them,
 * with DEADHEAT_LOOP_WRITES) at begin, begin + stride and so on, `count` times. Returns 1 if the
 * runtime checked them: the checks in the loop are then skipped. The site is the caller. */
#define DEADHEAT_LOOP_WRITES 0x100
int __deadheat_loop(const void* begin, long stride, unsigned long count, unsigned long kind);

/* The start addresses of the instrumented functions of one object: its part of section
 * deadheat_functions. A constructor of the object calls this before the program's own constructors,
 * and a destructor calls the inverse. Entries may be null: the linker kept another object's copy of
 * an inline function. */
void __deadheat_register_functions(const void* const* begin, const void* const* end);
void __deadheat_unregister_functions(const void* const* begin, const void* const* end);

#ifdef __cplusplus
}
#endif

#endif /* DEADHEAT_ABI_REGIONS_H_ */

// operator new and delete, for the place in the program that calls them: the C++ library's own
// would only show itself. What fails is left to the library's operator, which calls the new-handler
// and throws; it comes from the program or its libraries, never from here.
//
// A program may replace the plain forms alone. The library's other forms (arrays, sizes, nothrow)
// then call the program's, and so do ours: they leave it to the library as soon as a form that they
// stand upon is not ours. Otherwise they would free what the program allocated in its own way.
#include <dlfcn.h>

#include "runtime/common/intercept/allocation.h"
#include "runtime/common/intercept/interceptor.h"

namespace deadheat::runtime {
namespace {

// The forms that the others stand upon.
struct Family {
  const char* plain;
  const char* array;
  uint8_t replaced;  // 0: nobody has looked, 1: no, 2: yes
};
Family allocating = {"_Znwm", "_Znam", 0};
Family allocating_aligned = {"_ZnwmSt11align_val_t", "_ZnamSt11align_val_t", 0};
Family freeing = {"_ZdlPv", "_ZdaPv", 0};
Family freeing_aligned = {"_ZdlPvSt11align_val_t", "_ZdaPvSt11align_val_t", 0};

bool is_ours(const char* name) {
  Dl_info found, own;
  void* const function = dlsym(RTLD_DEFAULT, name);
  return function == nullptr || dladdr(function, &found) == 0 ||
         dladdr(reinterpret_cast<void*>(&is_ours), &own) == 0 || found.dli_fbase == own.dli_fbase;
}

bool is_replaced(Family& family) {
  uint8_t state = __atomic_load_n(&family.replaced, __ATOMIC_RELAXED);
  if (__builtin_expect(state == 0, 0)) {
    state = is_ours(family.plain) && is_ours(family.array) ? 1 : 2;
    __atomic_store_n(&family.replaced, state, __ATOMIC_RELAXED);
  }
  return state == 2;
}

#define COMMA ,
#define PLAIN_NEW(name, alignment, more, arguments)               \
  INTERCEPT(void*, name, (size_t size more)) {                    \
    void* const block = allocate(size, alignment, false, CALLER); \
    return block != nullptr ? block : REAL(name) arguments;       \
  }
#define NEW(name, family, alignment, more, arguments)             \
  INTERCEPT(void*, name, (size_t size more)) {                    \
    if (is_replaced(family)) return REAL(name) arguments;         \
    void* const block = allocate(size, alignment, false, CALLER); \
    return block != nullptr ? block : REAL(name) arguments;       \
  }
#define PLAIN_DELETE(name, more)                                   \
  EXPORTED void intercept_##name(void* block more) __asm__(#name); \
  extern "C" void intercept_##name(void* block more) { release(block, CALLER); }
#define DELETE(name, family, more, arguments)             \
  INTERCEPT(void, name, (void* block more)) {             \
    if (is_replaced(family)) return REAL(name) arguments; \
    release(block, CALLER);                               \
  }

}  // namespace

PLAIN_NEW(_Znwm, 0, , (size))
NEW(_Znam, allocating, 0, , (size))
NEW(_ZnwmRKSt9nothrow_t, allocating, 0, COMMA const void* nothrow, (size, nothrow))
NEW(_ZnamRKSt9nothrow_t, allocating, 0, COMMA const void* nothrow, (size, nothrow))
PLAIN_NEW(_ZnwmSt11align_val_t, align, COMMA size_t align, (size, align))
NEW(_ZnamSt11align_val_t, allocating_aligned, align, COMMA size_t align, (size, align))
NEW(_ZnwmSt11align_val_tRKSt9nothrow_t, allocating_aligned, align,
    COMMA size_t align COMMA const void* nothrow, (size, align, nothrow))
NEW(_ZnamSt11align_val_tRKSt9nothrow_t, allocating_aligned, align,
    COMMA size_t align COMMA const void* nothrow, (size, align, nothrow))

PLAIN_DELETE(_ZdlPv, )
DELETE(_ZdaPv, freeing, , (block))
DELETE(_ZdlPvm, freeing, COMMA size_t size, (block, size))
DELETE(_ZdaPvm, freeing, COMMA size_t size, (block, size))
DELETE(_ZdlPvRKSt9nothrow_t, freeing, COMMA const void* nothrow, (block, nothrow))
DELETE(_ZdaPvRKSt9nothrow_t, freeing, COMMA const void* nothrow, (block, nothrow))
PLAIN_DELETE(_ZdlPvSt11align_val_t, COMMA size_t)
DELETE(_ZdaPvSt11align_val_t, freeing_aligned, COMMA size_t align, (block, align))
DELETE(_ZdlPvmSt11align_val_t, freeing_aligned, COMMA size_t size COMMA size_t align,
       (block, size, align))
DELETE(_ZdaPvmSt11align_val_t, freeing_aligned, COMMA size_t size COMMA size_t align,
       (block, size, align))
DELETE(_ZdlPvSt11align_val_tRKSt9nothrow_t, freeing_aligned,
       COMMA size_t align COMMA const void* nothrow, (block, align, nothrow))
DELETE(_ZdaPvSt11align_val_tRKSt9nothrow_t, freeing_aligned,
       COMMA size_t align COMMA const void* nothrow, (block, align, nothrow))

}  // namespace deadheat::runtime

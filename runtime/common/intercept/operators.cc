// operator new and delete, for the place in the program that calls them: the C++ library's own
// would only show itself. What fails is left to the library's operator, which calls the new-handler
// and throws; it comes from the program or its libraries, never from here.
#include "runtime/common/intercept/allocation.h"
#include "runtime/common/intercept/interceptor.h"

using deadheat::runtime::release;

#define COMMA ,
#define NEW(name, alignment, more, arguments)                     \
  INTERCEPT(void*, name, (size_t size more)) {                    \
    void* const block = allocate(size, alignment, false, CALLER); \
    return block != nullptr ? block : REAL(name) arguments;       \
  }

namespace deadheat::runtime {

NEW(_Znwm, 0, , (size))
NEW(_Znam, 0, , (size))
NEW(_ZnwmRKSt9nothrow_t, 0, COMMA const void* nothrow, (size, nothrow))
NEW(_ZnamRKSt9nothrow_t, 0, COMMA const void* nothrow, (size, nothrow))
NEW(_ZnwmSt11align_val_t, align, COMMA size_t align, (size, align))
NEW(_ZnamSt11align_val_t, align, COMMA size_t align, (size, align))
NEW(_ZnwmSt11align_val_tRKSt9nothrow_t, align, COMMA size_t align COMMA const void* nothrow,
    (size, align, nothrow))
NEW(_ZnamSt11align_val_tRKSt9nothrow_t, align, COMMA size_t align COMMA const void* nothrow,
    (size, align, nothrow))

}  // namespace deadheat::runtime

#define DELETE(name, ...)                                              \
  EXPORTED void delete_##name(void* block __VA_ARGS__) __asm__(#name); \
  extern "C" void delete_##name(void* block __VA_ARGS__) { release(block, CALLER); }

DELETE(_ZdlPv)
DELETE(_ZdaPv)
DELETE(_ZdlPvm, COMMA size_t)
DELETE(_ZdaPvm, COMMA size_t)
DELETE(_ZdlPvRKSt9nothrow_t, COMMA const void*)
DELETE(_ZdaPvRKSt9nothrow_t, COMMA const void*)
DELETE(_ZdlPvSt11align_val_t, COMMA size_t)
DELETE(_ZdaPvSt11align_val_t, COMMA size_t)
DELETE(_ZdlPvmSt11align_val_t, COMMA size_t COMMA size_t)
DELETE(_ZdaPvmSt11align_val_t, COMMA size_t COMMA size_t)
DELETE(_ZdlPvSt11align_val_tRKSt9nothrow_t, COMMA size_t COMMA const void*)
DELETE(_ZdaPvSt11align_val_tRKSt9nothrow_t, COMMA size_t COMMA const void*)

/* Locks in headers of libraries whose order both compilers' plugins mend
 * (compiler/pass/library_locks.cc). */
#pragma once

/* std::_Sp_atomic<...>::_Atomic_count::unlock(memory_order), in any mangled name. */
#define DEADHEAT_POINTER_UNLOCK "13_Atomic_count6unlockESt12memory_order"

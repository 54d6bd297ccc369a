// The part of the OpenMP tools interface (OMPT; OpenMP 5.2, chapter 19) that ompt.cc uses, by
// numbers and signatures: building needs no header of an OpenMP implementation.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace deadheat::runtime::openmp {

union OmptData {
  uint64_t value;
  void* pointer;
};

enum class OmptEvent : int {
  kParallelBegin = 3,
  kParallelEnd = 4,
  kTaskCreate = 5,
  kTaskSchedule = 6,
  kImplicitTask = 7,
  kSyncRegionWait = 16,
  kDependences = 18,
  kSyncRegion = 23,
  kReduction = 31,
};

enum class OmptEndpoint : int { kBegin = 1, kEnd = 2, kBeginAndEnd = 3 };

enum class OmptSync : int { kTaskwait = 5, kTaskgroup = 6, kReduction = 7 };  // others: barriers

enum OmptTask : unsigned {
  kOmptInitial = 0x1,
  kOmptImplicit = 0x2,
  kOmptTaskwait = 0x10,
  kOmptUndeferred = 0x08000000,
  kOmptUntied = 0x10000000,
  kOmptFinal = 0x20000000,
};

enum class OmptStatus : int {
  kComplete = 1,
  kYield = 2,
  kCancel = 3,
  kDetach = 4,
  kEarlyFulfill = 5,
  kLateFulfill = 6,
  kSwitch = 7,
  kTaskwaitComplete = 8,
};

enum class OmptDepend : int {
  kIn = 1,
  kOut = 2,
  kInOut = 3,
  kMutexInOutSet = 4,
  kSource = 5,
  kSink = 6,
  kInOutSet = 7,
  kOutAllMemory = 34,
  kInOutAllMemory = 35,
};

struct OmptDependence {
  OmptData variable;
  OmptDepend kind;
};

using OmptFunction = void (*)();
using OmptLookup = OmptFunction (*)(const char* name);
using OmptSetCallback = int (*)(OmptEvent event, OmptFunction callback);
struct OmptFrame {
  OmptData exit;   // of the program's code that the task runs
  OmptData enter;  // where it called the library
  int exit_flags, enter_flags;
};

using OmptGetTaskInfo = int (*)(int level, int* flags, OmptData** task, OmptFrame** frame,
                                OmptData** parallel, int* number);
using OmptGetTaskMemory = int (*)(void** address, size_t* size, int block);

struct OmptTool {
  int (*initialize)(OmptLookup lookup, int device, OmptData* tool);
  void (*finalize)(OmptData* tool);
  OmptData data;
};

}  // namespace deadheat::runtime::openmp

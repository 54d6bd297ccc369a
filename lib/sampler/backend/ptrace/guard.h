// Guard: SIGKILL must not leave breakpoints in somebody else's program.
//
// What is killed cannot clean up, and the kernel lets a dead tracer's tasks run on with whatever is
// in their code: the next INT3 would end them. So the process that a person sees and may kill does
// not trace: its child does. The child is told by the kernel when its parent is gone, takes that
// for a request to end, and leaves the target as it was. Not covered: who kills the child itself.
#pragma once

#include <functional>

namespace deadheat::sampler {

// Runs `work` in a child and returns its exit status (128+n for a signal). Requests to end that
// come to the parent alone are passed on. `alone`: the child leaves the session, so that neither
// the terminal nor a signal to the whole process group reaches it; not for work that starts
// programs, which belong to the terminal. SIGCHLD, SIGINT, SIGTERM and SIGHUP are blocked in both
// while it runs.
int run_guarded(bool alone, const std::function<int()>& work);

}  // namespace deadheat::sampler

// Guard: SIGKILL must not leave breakpoints in the target program.
//
// A killed process cannot clean up, and the kernel lets a dead tracer's tasks run on with whatever
// is in their code: the next INT3 would end them. So the process that a user sees and may kill does
// not trace: its child does. The kernel notifies the child when its parent ends; the child takes
// that as a request to end, and leaves the target as it was. Not covered: killing the child itself.
#pragma once

#include <functional>

namespace deadheat::sampler {

// Runs `work` in a child and returns its exit status (128+n for a signal). Requests to end that
// reach only the parent are forwarded. `alone`: the child leaves the session, so that neither the
// terminal nor a signal to the whole process group reaches it; not for work that starts programs,
// which belong to the terminal. SIGCHLD, SIGINT, SIGTERM and SIGHUP are blocked in both
// meanwhile.
int run_guarded(bool alone, const std::function<int()>& work);

}  // namespace deadheat::sampler

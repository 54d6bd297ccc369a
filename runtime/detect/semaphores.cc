// Decides which posts are ordered before a wait.
//
// A semaphore initialised with tokens admits some waits without a post. In the order of the
// reported operations, let a wait leave `left` tokens behind. A post was needed for it if the
// tokens would not have sufficed without that post and the posts that come after it by
// happens-before, that is, if those are more than `left`. Needed posts are ordered before the wait;
// the others only happened to come earlier, and another run may reverse them. So:
// - a semaphore of one token is a mutex: each wait leaves none, and needs all posts before it;
// - one poster: the n-th wait (beyond the first tokens) needs the first n posts, as in a queue;
// - two threads in a section that lets two in are not ordered by one's leaving before the other.
//
// The reported order of operations is a possible one: a post is reported before it is made, a wait
// after it (mode.h). An observation (sem_getvalue) is ordered after all posts. So is a wait whose
// tokens are unknown: initialised elsewhere, shared with other processes, or used by unreported
// code (counted nowhere: it can hide a race, never invent one). The same holds for a post that has
// left the ring of the last kRecentPosts.
#include "runtime/common/arena.h"
#include "runtime/detect/check.h"
#include "runtime/detect/region_clocks.h"
#include "runtime/detect/sync.h"

namespace deadheat::runtime {

namespace {

// Some wait was not reported: no count is reliable from here on.
bool counts_unsure;

bool is_counted(const SyncObject& object) {
  return object.semaphore != nullptr && !__atomic_load_n(&counts_unsure, __ATOMIC_RELAXED) &&
         object.semaphore->tokens >= 0;
}

void add_post(const Thread& self, SemaphoreState& state) {
  ++state.tokens;
  SemaphorePost& post = state.posts[state.posted++ % kRecentPosts];
  learn(state.older, post.clock);
  post.slot = self.slot;
  post.tick = self.tick;
  if (!post.clock.assign(self.clock)) count_lost_edge();
}

// An unreported post made this wait possible: from now on the count is unknown.
void count_wait(SemaphoreState& state) {
  constexpr int64_t kNeverAgain = INT64_MIN / 2;
  if (--state.tokens < 0) state.tokens = kNeverAgain;
}

// How many of the last posts are this one or come after it.
int64_t posts_from(const SemaphoreState& state, const SemaphorePost& first) {
  int64_t count = 0;
  for (const SemaphorePost& post : state.posts)
    count += post.clock.get(first.slot) >= first.tick ? 1 : 0;
  return count;
}

void take_needed(Thread& self, const SemaphoreState& state) {
  learn(self.clock, state.older);
  for (const SemaphorePost& post : state.posts)
    if (!post.clock.empty() && posts_from(state, post) > state.tokens)
      learn(self.clock, post.clock);
}

}  // namespace

void semaphore_wait_was_unseen() { __atomic_store_n(&counts_unsure, true, __ATOMIC_RELAXED); }

void on_semaphore_init(Thread* self, Address, Address semaphore, uint32_t tokens) {
  const Busy busy(*self);
  drop_object(semaphore, SyncKind::kSemaphore);
  look_again(*self);
  SyncShard& shard = shard_of(semaphore);
  {
    const Locked locked(shard.lock);
    SyncObject* const object = make_object(shard, semaphore, SyncKind::kSemaphore);
    if (object == nullptr) return;
    learn(object->clock, self->clock);
    object->semaphore = arena_new<SemaphoreState>();
    if (object->semaphore == nullptr) return;
    object->semaphore->tokens = tokens;
    learn(object->semaphore->older, self->clock);  // every use requires the semaphore to exist
  }
  advance(*self);
}

void on_semaphore_post(Thread* self, Address pc, Address semaphore) {
  if (is_unseen(*self, pc)) return;
  const Busy busy(*self);
  look_again(*self);
  SyncShard& shard = shard_of(semaphore);
  {
    const Locked locked(shard.lock);
    SyncObject* const object = make_object(shard, semaphore, SyncKind::kSemaphore);
    if (object != nullptr) learn(object->clock, self->clock);
    if (object != nullptr && object->semaphore != nullptr) add_post(*self, *object->semaphore);
  }
  advance(*self);
}

void on_semaphore_wait(Thread* self, Address pc, Address semaphore) {
  if (is_unseen(*self, pc)) return semaphore_wait_was_unseen();
  const Busy busy(*self);
  {
    SyncShard& shard = shard_of(semaphore);
    const Locked locked(shard.lock);
    SyncObject* const object = find_object(shard, semaphore, SyncKind::kSemaphore);
    if (object != nullptr && object->semaphore != nullptr) count_wait(*object->semaphore);
    if (object != nullptr && is_counted(*object))
      take_needed(*self, *object->semaphore);
    else if (object != nullptr)
      learn(self->clock, object->clock);
  }
  acquire_from_regions(*self, semaphore);
}

void on_semaphore_seen(Thread* self, Address pc, Address semaphore) {
  if (is_unseen(*self, pc)) return;
  const Busy busy(*self);
  acquire_object(*self, semaphore, SyncKind::kSemaphore);
  acquire_from_regions(*self, semaphore);
}

}  // namespace deadheat::runtime

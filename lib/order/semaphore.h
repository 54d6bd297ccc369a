// Decides which posts of a semaphore are ordered before a wait. One rule for the detector inside
// the program and for the engines that read traces.
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
// after it. A wait whose tokens are unknown is ordered after all posts, which is the caller's to
// do; so are looks at the count. A post that has left the ring of the last kRecentPosts counts as
// needed. Both can hide a race and never invent one.
//
// Freestanding, like vector_clock.h: memory that cannot be had is the business of `learn` and
// `store`, the caller's functions (into, from): add to a clock, and make it equal.
#pragma once

#include "lib/order/vector_clock.h"

namespace deadheat::order {

inline constexpr size_t kRecentPosts = 8;

template <typename Clock>
class SemaphoreOrder {
 public:
  // Every use requires the semaphore to exist: what `creator` knows comes before all waits.
  template <typename Learn>
  void start(int64_t tokens, const Clock& creator, Learn learn) {
    tokens_ = tokens;
    learn(older_, creator);
  }

  bool is_counted() const { return tokens_ >= 0; }
  void lose_count() { tokens_ = kNeverAgain; }

  template <typename Learn, typename Store>
  void post(const Clock& poster, Epoch epoch, Learn learn, Store store) {
    ++tokens_;
    Post& post = posts_[posted_++ % kRecentPosts];
    learn(older_, post.clock);
    post.epoch = epoch;
    store(post.clock, poster);
  }

  // A wait without a token was made possible by a post that nobody reported: no count is right from
  // here on.
  void wait() {
    if (--tokens_ < 0) lose_count();
  }

  // After wait(), while the count is known: adds the needed posts to what the waiter knows.
  template <typename Learn>
  void learn_needed(Clock& waiter, Learn learn) const {
    learn(waiter, older_);
    for (const Post& post : posts_)
      if (!post.clock.empty() && posts_from(post.epoch) > tokens_) learn(waiter, post.clock);
  }

 private:
  static constexpr int64_t kNeverAgain = INT64_MIN / 2;

  struct Post {
    Clock clock;  // empty: no post yet
    Epoch epoch;
  };

  // How many of the last posts are this one or come after it.
  int64_t posts_from(Epoch first) const {
    int64_t count = 0;
    for (const Post& post : posts_) count += post.clock.covers(first) ? 1 : 0;
    return count;
  }

  int64_t tokens_ = 0;  // remaining
  uint64_t posted_ = 0;
  Post posts_[kRecentPosts];
  Clock older_;  // of earlier posts, and of the initialisation
};

}  // namespace deadheat::order

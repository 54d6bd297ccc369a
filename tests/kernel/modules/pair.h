// SPDX-License-Identifier: GPL-2.0
// Two kernel threads, one on each of the first two processors, from load to unload.
#ifndef DEADHEAT_TESTS_KERNEL_PAIR_H_
#define DEADHEAT_TESTS_KERNEL_PAIR_H_

#include <linux/cpumask.h>
#include <linux/err.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/sched.h>

static struct task_struct *pair[2];

static void pair_stop(void) {
  for (int i = 0; i < 2; ++i)
    if (pair[i]) kthread_stop(pair[i]);
}

static int pair_start(int (*first)(void *), int (*second)(void *), void *argument) {
  for (int i = 0; i < 2; ++i) {
    struct task_struct *task =
        kthread_create(i ? second : first, argument, "%s/%d", THIS_MODULE->name, i);
    if (IS_ERR(task)) {
      pair_stop();
      return PTR_ERR(task);
    }
    pair[i] = task;
    kthread_bind(task, i);
    wake_up_process(task);
  }
  return 0;
}

// The other thread, user space and the unloader get their turn.
static inline bool pair_go_on(void) {
  cond_resched();
  return !kthread_should_stop();
}

#endif  // DEADHEAT_TESTS_KERNEL_PAIR_H_

// SPDX-License-Identifier: GPL-2.0
// The device: opened by one root process at a time. Closing it removes all probes, so a user
// program that dies leaves nothing behind.
#include <linux/capability.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "watch.h"

DEFINE_PER_CPU(u64[DEADHEAT_WATCH_COUNTER_COUNT], dh_counts);

static const struct deadheat_watch_settings kDefaults = {
    .delay_ns = 100000, .atomic_delay_ns = 30000, .acknowledge_ns = 100000, .share_permille = 30};
struct deadheat_watch_settings dh_settings;

static DEFINE_MUTEX(lock);  // for all requests of user space
static bool opened;
static u32 hit_ns;

static int watch_open(struct inode *inode, struct file *file) {
  int error = 0, cpu;
  if (!capable(CAP_SYS_ADMIN)) return -EPERM;
  mutex_lock(&lock);
  if (opened) {
    error = -EBUSY;
  } else {
    opened = true;
    dh_settings = kDefaults;
    dh_ring_clear();
    for_each_possible_cpu(cpu) memset(per_cpu(dh_counts, cpu), 0, sizeof dh_counts);
  }
  mutex_unlock(&lock);
  return error;
}

static int watch_release(struct inode *inode, struct file *file) {
  mutex_lock(&lock);
  dh_take_all();
  opened = false;
  mutex_unlock(&lock);
  return 0;
}

static long set(const void __user *from) {
  struct deadheat_watch_settings wanted;
  if (copy_from_user(&wanted, from, sizeof wanted)) return -EFAULT;
  // Interrupts are off meanwhile: longer delays would be noticed, and waiters would complain.
  if (wanted.delay_ns > 2000000 || wanted.atomic_delay_ns > 200000 ||
      wanted.acknowledge_ns > 2000000 || wanted.share_permille == 0 || wanted.share_permille > 1000)
    return -EINVAL;
  dh_settings = wanted;
  return 0;
}

static long place(void __user *from) {
  struct deadheat_watch_batch batch;
  struct deadheat_watch_site *sites;
  struct deadheat_watch_answer *answers;
  long result = 0;
  if (copy_from_user(&batch, from, sizeof batch)) return -EFAULT;
  if (batch.count > DEADHEAT_WATCH_SITES) return -E2BIG;
  sites = vmemdup_user((void __user *)(uintptr_t)batch.sites, batch.count * sizeof *sites);
  if (IS_ERR(sites)) return PTR_ERR(sites);
  answers = kvcalloc(batch.count + 1, sizeof *answers, GFP_KERNEL);
  if (answers) {
    dh_place(sites, answers, batch.count);
    if (copy_to_user((void __user *)(uintptr_t)batch.answers, answers,
                     batch.count * sizeof *answers))
      result = -EFAULT;
  } else {
    result = -ENOMEM;
  }
  kvfree(answers);
  kvfree(sites);
  return result;
}

static long take(void __user *from) {
  struct deadheat_watch_slots wanted;
  u32 *slots;
  if (copy_from_user(&wanted, from, sizeof wanted)) return -EFAULT;
  if (wanted.count > DEADHEAT_WATCH_SITES) return -E2BIG;
  slots = vmemdup_user((void __user *)(uintptr_t)wanted.slots, wanted.count * sizeof *slots);
  if (IS_ERR(slots)) return PTR_ERR(slots);
  dh_take(slots, wanted.count);
  kvfree(slots);
  return 0;
}

static long look(void __user *to) {
  static struct deadheat_watch_look seen;  // the lock is held
  dh_look(&seen);
  return copy_to_user(to, &seen, sizeof seen) ? -EFAULT : 0;
}

static long counts(void __user *to) {
  struct deadheat_watch_counts all = {};
  int cpu;
  for_each_possible_cpu(cpu) for (int i = 0; i < DEADHEAT_WATCH_COUNTER_COUNT; ++i) {
    u64 value = per_cpu(dh_counts, cpu)[i];
    if (i == DEADHEAT_WATCH_longest_ns)
      all.values[i] = max(all.values[i], value);
    else
      all.values[i] += value;
  }
  return copy_to_user(to, &all, sizeof all) ? -EFAULT : 0;
}

static long info(void __user *to) {
  struct deadheat_watch_info mine = {DEADHEAT_WATCH_VERSION,
                                     num_online_cpus(),
                                     sizeof(struct deadheat_watch_site),
                                     sizeof(struct deadheat_watch_record),
                                     hit_ns,
                                     0};
  return copy_to_user(to, &mine, sizeof mine) ? -EFAULT : 0;
}

static long watch_ioctl(struct file *file, unsigned int command, unsigned long argument) {
  void __user *user = (void __user *)argument;
  long result = -ENOTTY;
  mutex_lock(&lock);
  switch (command) {
    case DEADHEAT_WATCH_INFO:
      result = info(user);
      break;
    case DEADHEAT_WATCH_SET:
      result = set(user);
      break;
    case DEADHEAT_WATCH_PLACE:
      result = place(user);
      break;
    case DEADHEAT_WATCH_TAKE:
      result = take(user);
      break;
    case DEADHEAT_WATCH_COUNT:
      result = counts(user);
      break;
    case DEADHEAT_WATCH_LOOK:
      result = look(user);
      break;
  }
  mutex_unlock(&lock);
  return result;
}

static ssize_t watch_read(struct file *file, char __user *to, size_t size, loff_t *offset) {
  ssize_t done;
  mutex_lock(&lock);
  done = dh_ring_read(to, size);
  mutex_unlock(&lock);
  return done;
}

static const struct file_operations operations = {
    .owner = THIS_MODULE,
    .open = watch_open,
    .release = watch_release,
    .unlocked_ioctl = watch_ioctl,
    .read = watch_read,
};

static struct miscdevice device = {
    .minor = MISC_DYNAMIC_MINOR, .name = DEADHEAT_WATCH_NAME, .fops = &operations, .mode = 0600};

static int __init watch_init(void) {
  int error = dh_ring_init();
  if (error) return error;
  dh_emulator_init();
  error = dh_arm_init();
  if (error) goto no_registers;
  hit_ns = dh_measure_hit();
  error = misc_register(&device);
  if (!error) return 0;
  dh_arm_exit();
no_registers:
  dh_ring_exit();
  return error;
}

static void __exit watch_exit(void) {
  misc_deregister(&device);
  dh_arm_exit();
  dh_ring_exit();
}

module_init(watch_init);
module_exit(watch_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Catches kernel threads at one place at one time (deadheat watch --kernel)");

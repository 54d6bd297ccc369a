// SPDX-License-Identifier: GPL-2.0
// The eCryptfs bug of the DRDDR paper (4.1.1, bugzilla 29752) with the kernel's own inodes: the one
// who meets an inode first unlocks it before its size is set, and a writer's new size is
// overwritten.
//
// Thread 0 looks files up, thread 1 opens the same ones and writes; each file is new once. fixed=1
// sets the size while the inode is still locked, as the kernel does since then.
#include "pair.h"
#include "tiny_fs.h"

static int fixed;
module_param(fixed, int, 0444);

#define LOWER_SIZE 512

static struct vfsmount *mount;
static atomic_t arrived = ATOMIC_INIT(0);  // both count up at each meeting

static int same_number(struct inode *inode, void *number) {
  return inode->i_ino == *(unsigned long *)number;
}

static int set_number(struct inode *inode, void *number) {
  inode->i_ino = *(unsigned long *)number;
  return 0;
}

// RACE! i_size: inode_size_get against inode_size_set (NORACE with fixed=1)
static noinline struct inode *inode_size_get(unsigned long number) {
  struct inode *inode = iget5_locked(mount->mnt_sb, number, same_number, set_number, &number);
  if (!inode || !(inode->i_state & I_NEW)) return inode;
  if (fixed) i_size_write(inode, LOWER_SIZE);
  unlock_new_inode(inode);
  if (!fixed) i_size_write(inode, LOWER_SIZE);
  return inode;
}

static noinline void inode_size_set(struct inode *inode, unsigned long number) {
  inode_lock(inode);
  i_size_write(inode, LOWER_SIZE + number);
  inode_unlock(inode);
}

// Not named inode_size_: what the threads share to meet is not what is watched.
static bool meet(int count) {
  atomic_inc(&arrived);
  while (atomic_read(&arrived) < count)
    if (!pair_go_on()) return false;
  return true;
}

static int looker(void *unused) {
  for (int round = 1; meet(4 * round - 2); ++round) {
    struct inode *inode = inode_size_get(round);
    if (!meet(4 * round)) {
      iput(inode);
      break;
    }
    iput(inode);
  }
  while (pair_go_on()) {
  }
  return 0;
}

static int writer(void *unused) {
  for (int round = 1; meet(4 * round - 2); ++round) {
    struct inode *inode = inode_size_get(round);
    if (inode) inode_size_set(inode, round);
    if (!meet(4 * round)) {
      iput(inode);
      break;
    }
    iput(inode);
  }
  while (pair_go_on()) {
  }
  return 0;
}

static int __init size_module_init(void) {
  int error;
  mount = kern_mount(&tiny_type);
  if (IS_ERR(mount)) return PTR_ERR(mount);
  error = pair_start(looker, writer, NULL);
  if (error) kern_unmount(mount);
  return error;
}

static void __exit size_module_exit(void) {
  pair_stop();
  kern_unmount(mount);
}

module_init(size_module_init);
module_exit(size_module_exit);
MODULE_LICENSE("GPL");

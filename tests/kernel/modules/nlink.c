// SPDX-License-Identifier: GPL-2.0
// The ext2 bug of the DRDDR paper (4.1.2, bugzilla 36002) with the kernel's own inodes and link
// counts: rename raises and lowers the count of the old inode without its lock, link and unlink do
// so with it, and counts get lost.
//
// fixed=1: rename leaves the count alone, as ext2 does since then. fixed=2: rename takes the lock.
#include "pair.h"
#include "tiny_fs.h"

static int fixed;
module_param(fixed, int, 0444);

static struct vfsmount *mount;
static struct inode *inode;

// RACE! i_nlink: nlink_rename against nlink_link and nlink_unlink (NORACE with fixed=1 and fixed=2)
static noinline void nlink_rename(void) {
  if (fixed == 1) return;
  if (fixed == 2) inode_lock(inode);
  inc_nlink(inode);
  drop_nlink(inode);
  if (fixed == 2) inode_unlock(inode);
}

static noinline void nlink_link(void) {
  inode_lock(inode);
  inc_nlink(inode);
  inode_unlock(inode);
}

static noinline void nlink_unlink(void) {
  inode_lock(inode);
  drop_nlink(inode);
  inode_unlock(inode);
}

static int renamer(void *unused) {
  while (pair_go_on()) nlink_rename();
  return 0;
}

static int linker(void *unused) {
  while (pair_go_on()) {
    nlink_link();
    nlink_unlink();
  }
  return 0;
}

static int __init nlink_module_init(void) {
  int error = -ENOMEM;
  mount = kern_mount(&tiny_type);
  if (IS_ERR(mount)) return PTR_ERR(mount);
  inode = new_inode(mount->mnt_sb);
  if (!inode) goto failed;
  // Far from 0, where the kernel would complain of what the bug does to it.
  set_nlink(inode, 1 << 30);
  error = pair_start(renamer, linker, NULL);
  if (!error) return 0;
  iput(inode);
failed:
  kern_unmount(mount);
  return error;
}

static void __exit nlink_module_exit(void) {
  pair_stop();
  iput(inode);
  kern_unmount(mount);
}

module_init(nlink_module_init);
module_exit(nlink_module_exit);
MODULE_LICENSE("GPL");

// SPDX-License-Identifier: GPL-2.0
// A file system without files: it only lends a super block, so that real inodes can be had.
// Without an owner: a module that mounts itself could never be unloaded.
#ifndef DEADHEAT_TESTS_KERNEL_TINY_FS_H_
#define DEADHEAT_TESTS_KERNEL_TINY_FS_H_

#include <linux/fs.h>
#include <linux/fs_context.h>
#include <linux/mount.h>
#include <linux/pseudo_fs.h>

static const struct super_operations tiny_operations = {
    .statfs = simple_statfs,
    .drop_inode = generic_delete_inode,
};

static int tiny_context(struct fs_context *context) {
  struct pseudo_fs_context *pseudo = init_pseudo(context, 0x64686474);
  if (!pseudo) return -ENOMEM;
  pseudo->ops = &tiny_operations;
  return 0;
}

static struct file_system_type tiny_type = {
    .name = KBUILD_MODNAME,
    .init_fs_context = tiny_context,
    .kill_sb = kill_anon_super,
};

#endif  // DEADHEAT_TESTS_KERNEL_TINY_FS_H_

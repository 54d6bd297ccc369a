/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The few fields of the kernel's structures that process.bpf.c reads. Only names and kinds count:
 * the loader puts in the offsets of the kernel that runs (CO-RE). Written by hand, so that building
 * needs neither bpftool nor a kernel with BTF.
 */
#pragma once

#include <linux/bpf.h>
#include <linux/types.h>
#include <stdbool.h>

typedef __u8 uint8_t;
typedef __u16 uint16_t;
typedef __s16 int16_t;
typedef __u32 uint32_t;
typedef __s32 int32_t;
typedef __u64 uint64_t;
typedef __s64 int64_t;

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct pt_regs {
  unsigned long si, dx, di, r10, r8, r9, ax, orig_ax;
};

struct upid {
  int nr;
};

struct pid {
  unsigned int level;
  struct upid numbers[1];
};

struct super_block {
  unsigned int s_dev;
};

struct inode {
  unsigned short i_mode;
  struct super_block *i_sb;
  unsigned long i_ino;
  long long i_size;
};

struct file {
  unsigned int f_flags;
  struct inode *f_inode;
  long long f_pos;
};

struct fdtable {
  unsigned int max_fds;
  struct file **fd;
};

struct files_struct {
  struct fdtable *fdt;
};

struct mm_struct {
  unsigned long arg_start, arg_end;
};

typedef struct {
  int counter;
} atomic_t;

struct signal_struct {
  atomic_t live;
};

struct thread_info {
  unsigned int status;
};

struct task_struct {
  struct thread_info thread_info;
  struct mm_struct *mm;
  int exit_code, pid;
  struct task_struct *group_leader;
  struct pid *thread_pid;
  void *fs;
  struct files_struct *files;
  struct signal_struct *signal;
  void *sighand;
};

struct linux_binprm {
  const char *filename;
};

struct kernel_siginfo {
  int si_code;
};

struct sigaction {
  void *sa_handler;
};

struct k_sigaction {
  struct sigaction sa;
};

#pragma clang attribute pop

/* These need the types above. */
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "abi/process_bpf.h"

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Attachments of the event that is being built in a task's state (abi/process_event.h): each is
 * begun at `used`, which is checked before every write, so that the verifier sees the bounds.
 */
#pragma once

#include "kernel/bpf/maps.bpf.h"

#define PIECE DEADHEAT_BPF_MOST_PIECE

extern void *bpf_rdonly_cast(const void *object, __u32 type) __ksym __weak;

/* Where the next attachment goes, or NULL (and the event is flagged) if there is no room. */
static __always_inline char *piece_begin(struct deadheat_bpf_task *task) {
  uint64_t at = task->used;
  opaque(at);
  if (at > DEADHEAT_BPF_MOST_BEGIN) {
    task->event.flags |= DEADHEAT_PROCESS_CUT;
    return 0;
  }
  return task->bytes + at;
}

static __always_inline void piece_end(struct deadheat_bpf_task *task, char *piece, uint16_t type,
                                      uint16_t argument, uint32_t size) {
  struct deadheat_process_attachment *head = (void *)piece;
  head->type = type;
  head->argument = argument;
  head->size = size;
  task->used += sizeof *head + ((size + 7) & ~7u);
  task->event.attachments++;
}

/* `size` is a constant multiple of 8. */
static __always_inline void attach_value(struct deadheat_bpf_task *task, uint16_t type,
                                         uint16_t argument, const void *value, uint32_t size) {
  char *piece = piece_begin(task);
  if (!piece) return;
  __builtin_memcpy(piece + 8, value, size);
  piece_end(task, piece, type, argument, size);
}

/* Bytes of the task's memory; false if they cannot be read now. */
static __noinline bool attach_user(struct deadheat_bpf_task *task, uint32_t what, uint64_t from,
                                   uint64_t size) {
  char *piece = piece_begin(task);
  if (!piece) return true;
  if (size > PIECE) {
    size = PIECE;
    task->event.flags |= DEADHEAT_PROCESS_CUT;
  }
  opaque(size);
  if (size > PIECE) return true;
  *(uint64_t *)(piece + 8 + (size & ~7ul)) = 0;
  if (bpf_probe_read_user(piece + 8, size, (void *)from)) return false;
  piece_end(task, piece, what >> 16, what & 0xffff, size);
  return true;
}
#define WHAT(type, argument) ((uint32_t)(type) << 16 | (argument))

/* A string of the task's memory, or of the kernel's. */
static __noinline bool attach_string(struct deadheat_bpf_task *task, uint32_t argument,
                                     uint64_t from, bool kernel) {
  char *piece = piece_begin(task);
  if (!piece) return true;
  long read = kernel ? bpf_probe_read_kernel_str(piece + 8, PIECE, (void *)from)
                     : bpf_probe_read_user_str(piece + 8, PIECE, (void *)from);
  if (read <= 0) return false;
  uint64_t size = read - 1;
  opaque(size);
  if (size >= PIECE) return true;
  if (size == PIECE - 1) task->event.flags |= DEADHEAT_PROCESS_CUT;
  uint64_t *last = (uint64_t *)(piece + 8 + (size & ~7ul));
  *last &= (1ul << (size & 7) * 8) - 1;
  piece_end(task, piece, DEADHEAT_ATTACH_PATH, argument, size);
  return true;
}

static __always_inline void describe(struct deadheat_process_object *object, struct file *file) {
  if (bpf_rdonly_cast) { /* since 6.2: plain loads instead of a call for each field */
    struct file *open = bpf_rdonly_cast(file, bpf_core_type_id_kernel(struct file));
    struct inode *inode = open->f_inode;
    object->position = open->f_pos;
    object->flags = open->f_flags;
    object->inode = inode->i_ino;
    object->device = inode->i_sb->s_dev;
    object->mode = inode->i_mode;
    object->size = inode->i_size;
  } else {
    struct inode *inode = BPF_CORE_READ(file, f_inode);
    object->position = BPF_CORE_READ(file, f_pos);
    object->flags = BPF_CORE_READ(file, f_flags);
    object->inode = BPF_CORE_READ(inode, i_ino);
    object->device = BPF_CORE_READ(inode, i_sb, s_dev);
    object->mode = BPF_CORE_READ(inode, i_mode);
    object->size = BPF_CORE_READ(inode, i_size);
  }
}

/*
 * Walking from `current` as the kernel gives it makes the verifier search all of the kernel's type
 * names at every step, a millisecond each; a cast pointer is walked without.
 */
static __always_inline struct file *open_file(uint32_t descriptor) {
  struct task_struct *current = bpf_get_current_task_btf();
  struct file *file = 0, **files;
  if (bpf_rdonly_cast) {
    struct task_struct *task =
        bpf_rdonly_cast(current, bpf_core_type_id_kernel(struct task_struct));
    struct fdtable *table = task->files->fdt;
    if (descriptor >= table->max_fds) return 0;
    files = table->fd;
  } else {
    struct fdtable *table = BPF_CORE_READ(current, files, fdt);
    if (descriptor >= BPF_CORE_READ(table, max_fds)) return 0;
    files = BPF_CORE_READ(table, fd);
  }
  if (bpf_probe_read_kernel(&file, sizeof file, files + descriptor)) return 0;
  return file;
}

/* The object behind a descriptor of the running task. A description's number is the counter's value
 * at its creation. */
static __noinline void attach_object(struct deadheat_bpf_task *task, int descriptor,
                                     uint32_t argument, bool fresh) {
  struct file *file = open_file(descriptor);
  if (!file) return;
  char *piece = piece_begin(task);
  if (!piece) return;
  struct deadheat_process_object *object = (void *)(piece + 8);
  object->description = fresh ? next_number() : 0;
  describe(object, file);
  /* The kernel uses 12 bits for major and 20 for minor; stat shows them in another order. */
  uint64_t device = object->device;
  object->device = (device & 0xff) | (device >> 20) << 8 | (device & 0xfff00) << 12;
  piece_end(task, piece, DEADHEAT_ATTACH_OBJECT, argument, sizeof *object);
}

static __noinline void attach_pair(struct deadheat_bpf_task *task, uint64_t from,
                                   uint32_t argument) {
  int32_t pair[2];
  if (bpf_probe_read_user(pair, sizeof pair, (void *)from)) {
    task->event.flags |= DEADHEAT_PROCESS_UNREADABLE;
    return;
  }
  attach_value(task, DEADHEAT_ATTACH_DESCRIPTORS, argument, pair, sizeof pair);
  attach_object(task, pair[0], argument, true);
  attach_object(task, pair[1], argument, true);
}

// One event of a process recording: a system call, a fork, an exec, an exit or a signal of one
// task. The sources (kernel/bpf and lib/process/sources) write it; lib/process/recording reads
// it.
//
// An event is this struct followed by `attachments` times a deadheat_process_attachment with its
// bytes, each padded with zeros to 8 bytes; `size` covers all of it. Numbers are little-endian.
// Task and process numbers are those inside the sandbox's PID namespace.
//
// `begin` and `end` are drawn at entry and exit from one counter of the whole recording. Two
// calls whose brackets do not overlap happened in that order; if the brackets overlap, either
// order is possible.
//
// Version rules: a new kind, attachment type or flag keeps the version (readers skip unknown
// ones). A changed meaning or layout raises it, and readers refuse other versions.
#pragma once

#ifndef __bpf__
#include <stdint.h>
#endif

#define DEADHEAT_PROCESS_VERSION 1u
#define DEADHEAT_PROCESS_MAGIC \
  0x504548544145484dull  // first 8 bytes of an events file; then version, 4 zero bytes

enum deadheat_process_kind {
  DEADHEAT_PROCESS_SYSCALL =
      1,  // number: the call's. A successful fork or exec is one of the next two instead.
  DEADHEAT_PROCESS_FORK = 2,  // number: the call's. result: the child's task number. arguments[0]:
                              // DEADHEAT_SHARE_ bits, [1]: the child's process number
  DEADHEAT_PROCESS_EXEC =
      3,  // number: the call's. arguments[0]: former task number (a thread becomes the leader)
  DEADHEAT_PROCESS_EXIT = 4,  // of a task. result: status in wait's encoding. arguments[0]: 1 if
                              // the process ended with it
  DEADHEAT_PROCESS_SIGNAL_SENT =
      5,  // by this task. number: signal. arguments[0]: target task,
          // [1]: target process, [2]: si_code, [3]: 1 if to the whole process
  DEADHEAT_PROCESS_SIGNAL_DELIVERED =
      6,  // to this task. number: signal. arguments[0]: si_code, [1]: 1 if a handler runs,
          // [2]: 1 if it interrupted a call
};

enum deadheat_process_flag {
  DEADHEAT_PROCESS_UNFINISHED =
      1,  // the task ended inside the call: no result; `end` is when that was noticed
  DEADHEAT_PROCESS_CUT = 2,         // an attachment was longer than the source can carry
  DEADHEAT_PROCESS_UNREADABLE = 4,  // a pointer could not be read; its attachment is missing
};

enum deadheat_process_share {
  DEADHEAT_SHARE_MEMORY = 1,
  DEADHEAT_SHARE_FILES = 2,     // file-descriptor table
  DEADHEAT_SHARE_FOLDER = 4,    // working directory, root, umask
  DEADHEAT_SHARE_SIGNALS = 8,   // signal handlers
  DEADHEAT_SHARE_PROCESS = 16,  // a thread of the same process
  DEADHEAT_SHARE_VFORK = 32,    // the parent waits for exec or exit
};

struct deadheat_process_event {
  uint32_t size;
  uint16_t kind;
  uint16_t flags;
  int32_t task;
  int32_t process;
  uint64_t begin;
  uint64_t end;
  uint64_t time_ns;  // CLOCK_MONOTONIC at entry
  int64_t result;
  uint32_t number;
  uint32_t attachments;
  uint64_t arguments[6];
};

enum deadheat_process_attachment_type {
  DEADHEAT_ATTACH_PATH = 1,    // the string argument `argument`, without its zero
  DEADHEAT_ATTACH_OBJECT = 2,  // struct deadheat_process_object behind the descriptor in `argument`
  DEADHEAT_ATTACH_DATA = 3,    // bytes that the call stored where `argument` points
  DEADHEAT_ATTACH_ADDRESS = 4,  // a sockaddr
  DEADHEAT_ATTACH_DESCRIPTORS =
      5,  // int32_t each: created by pipe or socketpair, passed by sendmsg, received by recvmsg
  DEADHEAT_ATTACH_LOCK = 6,       // struct deadheat_process_lock
  DEADHEAT_ATTACH_STATUS = 7,     // int32_t pid, int32_t wait status: what wait4 or waitid reaped
  DEADHEAT_ATTACH_ARGUMENTS = 8,  // of exec: argv, each with its zero
  DEADHEAT_ATTACH_POLLED = 9,     // struct deadheat_process_polled each
  DEADHEAT_ATTACH_CLONE = 10,     // FORK: uint64_t flags as passed to the call
  // struct deadheat_process_peer, then bytes: a step of a conversation with the outside
  DEADHEAT_ATTACH_PEER = 11,
};

enum deadheat_process_peer_step {
  DEADHEAT_PEER_BEGIN = 0,  // by connect or the first send. bytes: two sockaddrs of 28 bytes each,
                            // the other side's and the socket's own
  DEADHEAT_PEER_SENT = 1,   // by the program
  DEADHEAT_PEER_RECEIVED = 2,  // size 0: the other side has closed
  DEADHEAT_PEER_NOTHING = 3,   // nothing to receive yet
  DEADHEAT_PEER_FAILED = 4,    // size: the error with which the connection failed later
};

enum deadheat_process_peer_flag {
  DEADHEAT_PEER_DATAGRAM = 1,
};

struct deadheat_process_peer {
  uint64_t conversation;  // from 1 on
  uint64_t size;          // of the step; fewer bytes follow if they were not stored
  uint32_t step;
  uint32_t flags;
};

#define DEADHEAT_ARGUMENT_RESULT 0xffffu  // `argument` of attachments that belong to the result

struct deadheat_process_attachment {
  uint16_t type;
  uint16_t argument;
  uint32_t size;  // of the bytes, without padding
};

struct deadheat_process_object {
  uint64_t device;
  uint64_t inode;
  uint64_t description;  // number of the open-file description; 0: unknown
  uint64_t position;
  uint64_t size;
  uint32_t mode;   // st_mode
  uint32_t flags;  // O_...
};

struct deadheat_process_lock {
  int64_t start;
  int64_t length;
  int16_t type;  // F_RDLCK, F_WRLCK, F_UNLCK
  int16_t whence;
  int32_t process;
};

struct deadheat_process_polled {
  int32_t descriptor;
  int16_t events;
  int16_t returned;
};

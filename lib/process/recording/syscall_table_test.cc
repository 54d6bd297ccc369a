// The columns of the one table agree with each other, and with the calls that were classified by
// hand.
#include "lib/process/recording/syscall_table.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>

namespace deadheat::process::recording {
namespace {

deadheat_process_event call(uint32_t number, uint64_t second_argument = 0) {
  deadheat_process_event head{};
  head.kind = DEADHEAT_PROCESS_SYSCALL;
  head.number = number;
  head.arguments[1] = second_argument;
  return head;
}

TEST(SyscallTable, ColumnsOfARowAgree) {
  uint32_t rows = 0;
  for (uint32_t number = 0; number < kMostSyscalls; number++) {
    const SyscallEntry& entry = syscall_entry(number);
    if (entry.name.empty()) continue;
    rows++;
    SCOPED_TRACE(entry.name);
    if (is_recorded(number)) {
      EXPECT_FALSE(entry.is(kWaits) && entry.is(kEndsAlone));
    }
    if (entry.is(kPolls)) {
      EXPECT_TRUE(entry.is(kWaits));
      EXPECT_TRUE(entry.is(kEndedBySignal));
      EXPECT_NE(entry.limit, TimeLimit::kNoLimit) << "how long does it poll?";
    }
    if (entry.is(kOpens)) {
      EXPECT_NE(entry.capture & kNewFd, 0u);
    }
    const uint64_t opening[6] = {0, O_CREAT, O_CREAT, 0, 0, 0};
    if (const auto argument = made_name_argument(number, opening)) {
      EXPECT_NE(entry.capture & (kPath0 << *argument), 0u) << "its new name is not recorded";
    }
  }
  EXPECT_GT(rows, 250u);
}

TEST(SyscallTable, WaitsCountWhereTheyEnd) {
  EXPECT_TRUE(waits(call(SYS_read)));
  EXPECT_TRUE(waits(call(SYS_epoll_pwait2)));
  EXPECT_TRUE(waits(call(SYS_wait4)));
  EXPECT_FALSE(waits(call(SYS_write))) << "a full pipe lets its reader go on";
  EXPECT_TRUE(waits(call(SYS_fcntl, F_SETLKW)));
  EXPECT_FALSE(waits(call(SYS_fcntl, F_SETLK)));
  EXPECT_FALSE(waits(call(999)));
  deadheat_process_event delivery = call(SYS_read);
  delivery.kind = DEADHEAT_PROCESS_SIGNAL_DELIVERED;
  EXPECT_FALSE(waits(delivery)) << "its number is a signal's";
}

TEST(SyscallTable, TimeLimits) {
  const unsigned long none[6] = {0, 0, static_cast<unsigned long>(-1), 0, 0, 0};
  const unsigned long some[6] = {0, 0, 5, 5, 5, 0};
  EXPECT_FALSE(has_time_limit(SYS_poll, none));
  EXPECT_TRUE(has_time_limit(SYS_poll, some));
  EXPECT_FALSE(has_time_limit(SYS_epoll_pwait2, none));
  EXPECT_TRUE(has_time_limit(SYS_epoll_pwait2, some));
  EXPECT_TRUE(has_time_limit(SYS_select, some));
  EXPECT_TRUE(has_time_limit(SYS_futex, some));
  const unsigned long wake[6] = {0, 1, 1, 5, 0, 0};
  EXPECT_FALSE(has_time_limit(SYS_futex, wake)) << "FUTEX_WAKE ignores the argument";
  EXPECT_TRUE(only_sleeps(SYS_nanosleep));
  EXPECT_FALSE(only_sleeps(SYS_poll));
}

TEST(SyscallTable, CallsThatMakeANewName) {
  const uint64_t exclusive[6] = {0, 0, O_CREAT | O_EXCL | O_RDWR};
  const uint64_t shared[6] = {0, 0, O_CREAT | O_RDWR};
  EXPECT_TRUE(makes_new_name(SYS_openat, exclusive));
  EXPECT_FALSE(makes_new_name(SYS_openat, shared));
  EXPECT_TRUE(makes_new_name(SYS_symlinkat, shared));
  EXPECT_FALSE(makes_new_name(SYS_rename, shared)) << "it may replace one";
  EXPECT_EQ(made_name_argument(SYS_renameat2, shared), 3);
  EXPECT_EQ(made_name_argument(SYS_openat, shared), 1);
  EXPECT_EQ(made_name_argument(SYS_unlink, shared), std::nullopt);
}

}  // namespace
}  // namespace deadheat::process::recording

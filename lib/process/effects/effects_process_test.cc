// Calls on descriptors, streams, processes, signals and locks in hand-written events: a pair that
// races, and its twin that does not.
#include <gtest/gtest.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <cerrno>
#include <csignal>

#include "lib/process/races/branch.h"
#include "lib/process/testing/event_script.h"

namespace deadheat::process::effects {
namespace {

using model::CandidateKind;

TEST(Effects, DescriptorsAreFollowedThroughDupAndExec) {
  testing::EventScript s;
  s.open(1, "/f", O_RDWR, 3, 100);
  s.call(1, "dup2", {3, 7}, 7);
  s.call(1, "fcntl", {3, F_SETFD, FD_CLOEXEC}, 0);
  s.fork(1, 2);
  s.fork(1, 3);
  s.exec(2, "/bin/a");
  const uint32_t kept = s.call(2, "pwrite64", {7, 0, 1, 0}, 1);
  s.call(2, "pwrite64", {3, 0, 1, 0}, 1);  // closed by exec
  const uint32_t read = s.call(3, "pread64", {3, 0, 1, 0}, 1);
  const testing::Examined e(s);
  EXPECT_TRUE(e.races({kept, read}, "/f")) << e.text();
  ASSERT_EQ(e.model.problems.size(), 1u);
  EXPECT_EQ(e.model.problems[0], "pwrite64: a descriptor that is not known");
}

TEST(Effects, DescriptorsArePassedOverSockets) {
  testing::EventScript s;
  const int32_t pair[2] = {3, 4};
  s.call(1, "socketpair", {AF_UNIX, SOCK_STREAM}, 0,
         {{DEADHEAT_ATTACH_DESCRIPTORS, 3, recording::bytes_of(pair)}});
  s.fork(1, 2);
  s.fork(1, 3);
  s.open(2, "/f", O_RDWR, 9, 100);
  const int32_t sent = 9, got = 11;
  const uint32_t send =
      s.call(2, "sendmsg", {3}, 1, {{DEADHEAT_ATTACH_DESCRIPTORS, 1, recording::bytes_of(sent)}});
  const uint32_t receive =
      s.call(3, "recvmsg", {4}, 1, {{DEADHEAT_ATTACH_DESCRIPTORS, 1, recording::bytes_of(got)}});
  const uint32_t wrote = s.call(3, "pwrite64", {11, 0, 1, 0}, 1);
  const uint32_t read = s.call(2, "pread64", {9, 0, 1, 0}, 1);
  const testing::Examined e(s);
  EXPECT_TRUE(e.ordered(send, receive));
  EXPECT_TRUE(e.races({wrote, read}, "/f")) << e.text();
  EXPECT_TRUE(e.model.problems.empty());
}

uint64_t just(int signal) { return uint64_t{1} << (signal - 1); }

TEST(Effects, ASignalMeetsTheCallsThatChangeWhatIsDoneWithIt) {
  testing::EventScript s;
  s.fork(1, 2);
  const uint64_t both = just(SIGUSR1) | just(SIGUSR2), other = just(SIGUSR2);
  const auto set = [](const uint64_t& signals) {
    return std::vector<testing::EventScript::Extra>{
        {DEADHEAT_ATTACH_DATA, 1, recording::bytes_of(signals)}};
  };
  const uint32_t action = s.call(2, "rt_sigaction", {SIGUSR1, 1}, 0);
  const uint32_t another = s.call(2, "rt_sigaction", {SIGHUP, 1}, 0);
  const uint32_t asks = s.call(2, "rt_sigaction", {SIGUSR1, 0}, 0);
  const uint32_t mask = s.call(2, "rt_sigprocmask", {SIG_BLOCK, 1}, 0, set(both));
  const uint32_t again = s.call(2, "rt_sigprocmask", {SIG_BLOCK, 1}, 0, set(both));
  const uint32_t elsewhere = s.call(2, "rt_sigprocmask", {SIG_UNBLOCK, 1}, 0, set(other));
  const uint32_t waits = s.call(2, "rt_sigsuspend", {1}, -EINTR);
  const uint32_t sent = s.send(1, SIGUSR1, 2);
  const uint32_t delivered = s.deliver(2, SIGUSR1, true);
  const testing::Examined e(s);
  EXPECT_TRUE(e.races({sent, delivered, action}, "SIGUSR1 to 2")) << e.text();
  EXPECT_TRUE(e.races({sent, delivered, mask}, "SIGUSR1 to 2")) << e.text();
  EXPECT_TRUE(e.races({sent, delivered, waits}, "SIGUSR1 to 2")) << e.text();
  for (const uint32_t call : {another, asks, again, elsewhere})
    EXPECT_EQ(e.node(call), ~0u) << "nothing that the signal meets is changed";
}

TEST(Effects, NumbersThatNoSignalHas) {
  testing::EventScript s;
  s.call(1, "rt_sigaction", {SIGUSR1, 1}, 0);
  s.call(1, "rt_sigaction", {200, 1}, 0);
  for (const int number : {0, 65, 200, -1}) s.deliver(1, number);
  EXPECT_TRUE(testing::Examined(s).found.races.empty());
}

TEST(Effects, ASignalMayComeAtAnyCallOfItsTarget) {
  testing::EventScript s;
  s.fork(1, 2);
  const uint32_t made = s.path_call(2, "mkdir", "/first", 0);
  s.open(2, "/log", O_CREAT | O_EXCL | O_WRONLY, 3);
  for (int i = 0; i < 100; i++) s.write(2, 3, 1);
  const uint32_t sent = s.send(1, SIGTERM, 2);
  const uint32_t delivered = s.deliver(2, SIGTERM);
  const testing::Examined e(s);
  EXPECT_TRUE(e.races({sent, delivered, made}, "SIGTERM to 2")) << e.text();
  EXPECT_LT(e.found.races.size(), 10u) << "a hundred writes are one place:\n" << e.text();
}

TEST(Effects, TheEndOfAPipeOrders) {
  testing::EventScript s;
  s.pipe(1, 3, 4);
  s.fork(1, 2);
  s.fork(1, 3);
  s.call(1, "close", {4}, 0);
  s.call(3, "close", {4}, 0);
  const uint32_t wrote = s.path_call(2, "mkdir", "/d", 0);
  const uint32_t closed = s.exit(2);
  const uint32_t end = s.read(3, 3, 10, 0);
  const uint32_t used = s.path_call(3, "rmdir", "/d", 0);
  const testing::Examined e(s);
  EXPECT_TRUE(e.ordered(closed, end));
  EXPECT_FALSE(e.races({wrote, used})) << e.text();
}

TEST(Effects, TwoReadersOfOnePipe) {
  testing::EventScript s;
  s.pipe(1, 3, 4);
  s.fork(1, 2);
  s.fork(1, 3);
  const uint32_t wrote = s.write(1, 4, 1);
  const uint32_t got = s.read(2, 3, 1, 1);
  s.write(1, 4, 1);
  const uint32_t other = s.read(3, 3, 1, 1);
  const testing::Examined e(s);
  EXPECT_TRUE(e.races({wrote, got, other})) << e.text();

  testing::EventScript one_reader;
  one_reader.pipe(1, 3, 4);
  one_reader.fork(1, 2);
  one_reader.write(1, 4, 1);
  one_reader.read(2, 3, 1, 1);
  one_reader.write(1, 4, 1);
  one_reader.read(2, 3, 1, 1);
  EXPECT_TRUE(testing::Examined(one_reader).found.races.empty())
      << testing::Examined(one_reader).text();
}

TEST(Effects, ABlockingReadThatBeganBeforeTheWriteComesAfterIt) {
  testing::EventScript s;
  s.pipe(1, 3, 4);
  s.fork(1, 2);
  const uint32_t wrote = s.write(1, 4, 5);
  const uint32_t read = s.read(2, 3, 5, 5);
  s.began_before(wrote);
  const testing::Examined e(s);
  EXPECT_TRUE(e.ordered(wrote, read));
}

TEST(Effects, ServersAndClients) {
  testing::Two s;
  s.call(2, "socket", {AF_INET, SOCK_STREAM}, 3);
  s.call(2, "bind", {3}, 0, {{DEADHEAT_ATTACH_ADDRESS, 1, testing::socket_address(80)}});
  const uint32_t listen = s.call(2, "listen", {3}, 0);
  s.call(3, "socket", {AF_INET, SOCK_STREAM}, 3);
  const uint32_t connect =
      s.call(3, "connect", {3}, 0, {{DEADHEAT_ATTACH_ADDRESS, 1, testing::socket_address(80)}});
  const uint32_t wrote = s.write(3, 3, 4);
  const uint32_t accept = s.call(2, "accept4", {3}, 5);
  const uint32_t read = s.read(2, 5, 4, 4);
  s.call(3, "socket", {AF_INET, SOCK_STREAM}, 4);
  const uint32_t elsewhere = s.call(3, "connect", {4}, -ECONNREFUSED,
                                    {{DEADHEAT_ATTACH_ADDRESS, 1, testing::socket_address(81)}});
  const testing::Examined e(s);
  EXPECT_TRUE(e.races({listen, connect}, "tcp port 80")) << e.text();
  EXPECT_TRUE(e.ordered(connect, accept));
  EXPECT_TRUE(e.ordered(wrote, read));
  EXPECT_FALSE(e.races({listen, elsewhere})) << e.text();
}

TEST(Effects, TwoAcceptingWorkers) {
  testing::EventScript s;
  s.call(1, "socket", {AF_UNIX, SOCK_STREAM}, 3);
  s.call(1, "bind", {3}, 0, {{DEADHEAT_ATTACH_ADDRESS, 1, testing::socket_address("/sock")}});
  s.call(1, "listen", {3}, 0);
  for (int task : {2, 3, 4}) s.fork(1, task);
  s.call(4, "socket", {AF_UNIX, SOCK_STREAM}, 5);
  const uint32_t connect = s.call(4, "connect", {5}, 0,
                                  {{DEADHEAT_ATTACH_ADDRESS, 1, testing::socket_address("/sock")}});
  const uint32_t got = s.call(2, "accept", {3}, 6);
  s.call(4, "socket", {AF_UNIX, SOCK_STREAM}, 6);
  s.call(4, "connect", {6}, 0, {{DEADHEAT_ATTACH_ADDRESS, 1, testing::socket_address("/sock")}});
  const uint32_t other = s.call(3, "accept", {3}, 6);
  const testing::Examined e(s);
  EXPECT_TRUE(e.races({connect, got, other})) << e.text();
}

TEST(Effects, PollingSeesWhatIsThereOrNot) {
  for (const char* const call : {"poll", "select", "pselect6"}) {
    testing::EventScript s;
    s.pipe(1, 3, 4);
    s.fork(1, 2);
    deadheat_process_polled polled{3, 1, 0};
    const uint32_t nothing =
        s.call(2, call, {4, 1, 0}, 0, {{DEADHEAT_ATTACH_POLLED, 0, recording::bytes_of(polled)}});
    const uint32_t wrote = s.write(1, 4, 5);
    polled.returned = 1;
    const uint32_t ready =
        s.call(2, call, {4, 1, 0}, 1, {{DEADHEAT_ATTACH_POLLED, 0, recording::bytes_of(polled)}});
    const testing::Examined e(s);
    EXPECT_TRUE(e.races({nothing, wrote})) << call << e.text();
    EXPECT_TRUE(e.ordered(wrote, ready)) << call;
  }
}

TEST(Effects, WaitThatDoesNotWait) {
  testing::EventScript s;
  s.fork(1, 2);
  const uint32_t none = s.wait(1, -1, 0);
  const uint32_t end = s.exit(2);
  const uint32_t got = s.wait(1, 2, 2);
  const testing::Examined e(s);
  EXPECT_TRUE(e.races({none, end})) << e.text();
  EXPECT_TRUE(e.ordered(end, got));
  EXPECT_EQ(e.found.races.size(), 1u) << e.text();
}

TEST(Effects, WaitingForOneChildIsNoRace) {
  testing::EventScript s;
  s.fork(1, 2);
  s.fork(1, 3);
  s.exit(2);
  s.exit(3);
  s.wait(1, 2, 2);
  s.wait(1, 3, 3);
  const testing::Examined e(s);
  EXPECT_TRUE(e.found.races.empty()) << e.text();
}

TEST(Effects, ParentsThatDie) {
  testing::EventScript s;
  s.fork(1, 2);
  s.fork(2, 3);
  const uint32_t asked = s.call(3, "getppid", {}, 2);
  const uint32_t end = s.exit(2);
  const testing::Examined e(s);
  EXPECT_TRUE(e.races({asked, end}, "parent of 3")) << e.text();

  testing::EventScript lives;
  lives.fork(1, 2);
  lives.fork(1, 3);
  lives.call(3, "getppid", {}, 1);
  lives.exit(2);
  EXPECT_TRUE(testing::Examined(lives).found.races.empty());
}

TEST(Effects, SignalsAreDeliveredEarlierOrLater) {
  testing::EventScript s;
  s.open(1, "/f", O_CREAT | O_EXCL | O_RDWR, 3);
  s.fork(1, 2);
  const uint32_t call = s.path_call(2, "mkdir", "/a", 0);
  const uint32_t sent = s.send(1, SIGUSR1, 2);
  const uint32_t waiting = s.call(2, "pause", {}, -EINTR);
  s.began_before(sent);
  const uint32_t delivered = s.deliver(2, SIGUSR1, true);
  const testing::Examined e(s);
  EXPECT_TRUE(e.ordered(sent, delivered));
  ASSERT_TRUE(e.races({sent, delivered, call}, "SIGUSR1 to 2")) << e.text();
  ASSERT_TRUE(e.races({sent, delivered, waiting}, "SIGUSR1 to 2")) << e.text();
  for (const races::ProcessRace& race : e.found.races) {
    if (race.kind != CandidateKind::kWakeupWaits) continue;
    const auto branches = races::make_branches(e.model, e.graph, race, 0);
    EXPECT_EQ(branches[0].change, races::BranchChange::kSignalEarlier);
    EXPECT_EQ(branches.size(), race.anchors[2] == e.node(waiting) ? 2u : 1u);
    if (branches.size() == 2) {
      EXPECT_EQ(branches[1].change, races::BranchChange::kSignalLater);
    }
  }
}

TEST(Effects, FileLocksKeepApart) {
  for (const bool locked : {true, false}) {
    testing::Two s;
    s.open(1, "/f", O_CREAT | O_EXCL, 9);
    uint32_t wrote[2];
    for (const int task : {2, 3}) {
      s.open(task, "/f", O_RDWR, 3, 10);
      if (locked) s.lock(task, 3, F_WRLCK, 0, 0);
      wrote[task - 2] = s.write(task, 3, 5);
      if (locked) s.lock(task, 3, F_UNLCK, 0, 0);
    }
    const testing::Examined e(s);
    EXPECT_EQ(e.races({wrote[0], wrote[1]}), !locked) << e.text();
    EXPECT_EQ(e.found.under_lock > 0, locked);
  }
}

TEST(Effects, LocksOfOtherRangesAndSharedOnesDoNot) {
  for (const bool ranges : {true, false}) {
    testing::Two s;
    s.open(1, "/f", O_CREAT | O_EXCL, 9);
    uint32_t wrote[2];
    for (const int task : {2, 3}) {
      s.open(task, "/f", O_RDWR, 3, 10);
      if (ranges)
        s.lock(task, 3, F_WRLCK, task == 2 ? 0 : 100, 10);
      else
        s.call(task, "flock", {3, LOCK_SH}, 0);
      wrote[task - 2] = s.write(task, 3, 5);
    }
    const testing::Examined e(s);
    EXPECT_TRUE(e.races({wrote[0], wrote[1]})) << e.text();
  }
}

TEST(Effects, AFlockGoesWithItsDescription) {
  // flock(1) acquires the lock and runs a command under it: its child holds the lock, and so do two
  // children, which the lock does not exclude from each other.
  testing::EventScript s;
  for (const int task : {2, 3}) s.fork(1, task);
  uint32_t made[4];
  s.open(1, "/f", O_CREAT | O_EXCL, 9);
  for (const int task : {2, 3}) {
    s.open(task, "/lock", O_CREAT | O_RDWR, 3);
    s.call(task, "flock", {3, LOCK_EX}, 0);
    for (int child : {0, 1}) {
      const int id = task * 10 + child;
      s.fork(task, id);
      made[(task - 2) * 2 + child] = s.path_call(id, "chmod", "/f", 0);
    }
    for (int child : {0, 1}) s.exit(task * 10 + child);
    s.exit(task);
  }
  const testing::Examined e(s);
  EXPECT_TRUE(e.races({made[0], made[1]}, "/f")) << e.text();
  EXPECT_FALSE(e.races({made[0], made[2]})) << e.text();
}

TEST(Effects, VforkParentsStandStill) {
  for (const bool vfork : {true, false}) {
    testing::EventScript s;
    s.fork(1, 2, vfork ? DEADHEAT_SHARE_VFORK | DEADHEAT_SHARE_MEMORY : 0);
    const uint32_t made = s.path_call(2, "mkdir", "/d", 0);
    s.exec(2, "/bin/a");
    const uint32_t used = s.path_call(1, "rmdir", "/d", 0);
    const testing::Examined e(s);
    EXPECT_EQ(e.races({made, used}), !vfork) << e.text();
    EXPECT_FALSE(e.model.tasks[1].shares_memory);
  }
}

TEST(Effects, ThreadsRankLast) {
  testing::EventScript s;
  s.in_process(3, 1);
  s.fork(1, 3,
         DEADHEAT_SHARE_PROCESS | DEADHEAT_SHARE_FILES | DEADHEAT_SHARE_MEMORY |
             DEADHEAT_SHARE_FOLDER);
  s.fork(1, 4);
  const uint32_t opened = s.path_call(3, "mkdir", "/t", 0);
  const uint32_t thread = s.path_call(1, "rmdir", "/t", 0);
  const uint32_t process = s.path_call(4, "mkdir", "/t", 0);
  const testing::Examined e(s);
  ASSERT_TRUE(e.races({opened, thread})) << e.text();
  ASSERT_TRUE(e.races({thread, process})) << e.text();
  EXPECT_EQ(e.found.races.back().anchors, (std::vector<uint32_t>{e.node(opened), e.node(thread)}));
  EXPECT_TRUE(e.model.tasks[0].shares_memory && e.model.tasks[1].shares_memory);
}

TEST(Effects, TerminalOutputIsQuiet) {
  testing::Two s;
  const uint32_t one = s.write(2, 1, 5);
  const uint32_t two = s.write(3, 1, 5);
  const testing::Examined quiet(s);
  EXPECT_TRUE(quiet.found.races.empty());
  EXPECT_EQ(quiet.found.skipped_quiet, 1u);
  races::RaceOptions options;
  options.quiet_objects = true;
  const testing::Examined all(s, options);
  EXPECT_TRUE(all.races({one, two}, "standard output")) << all.text();
}

TEST(Effects, MountsAndHostName) {
  testing::Two s;
  const uint32_t mounted = s.two_paths(2, "mount", "none", "/mnt");
  const uint32_t used = s.path_call(3, "stat", "/mnt/x", -ENOENT);
  const uint32_t named = s.call(2, "sethostname", {}, 0);
  const uint32_t asked = s.call(3, "uname", {}, 0);
  const testing::Examined e(s);
  EXPECT_TRUE(e.races({mounted, used}, "/mnt")) << e.text();
  EXPECT_TRUE(e.races({named, asked}, "host name")) << e.text();
  EXPECT_FALSE(e.races({mounted, asked})) << e.text();
}

TEST(Effects, WhatIsNotModelledIsCountedAndNamed) {
  testing::EventScript s;
  s.call(1, "shmget", {}, 0);
  s.call(1, "shmget", {}, 0);
  s.call(1, "io_uring_setup", {}, 3);
  const testing::Examined e(s);
  EXPECT_EQ(e.model.unmodelled.at("shmget"), 2u);
  EXPECT_EQ(e.model.unmodelled.at("io_uring_setup"), 1u);
}

TEST(Effects, TasksAreNamedByTheirPlaceInTheTree) {
  testing::EventScript s;
  s.fork(1, 2);
  s.fork(2, 3);
  s.fork(1, 4);
  s.exec(4, "/usr/bin/make");
  const testing::Examined e(s);
  ASSERT_EQ(e.model.tasks.size(), 4u);
  EXPECT_EQ(e.model.tasks[1].path, "0.0");
  EXPECT_EQ(e.model.tasks[2].path, "0.0.0");
  EXPECT_EQ(e.model.tasks[3].path, "0.1");
  EXPECT_EQ(e.model.tasks[3].command, std::vector<std::string>{"/usr/bin/make"});
  EXPECT_EQ(e.model.programs[e.model.nodes.back().program], "make");
}

}  // namespace
}  // namespace deadheat::process::effects

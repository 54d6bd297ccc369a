// Sandboxes as the tool uses them. tests/process/escape_test.py tests what a hostile command may
// try from the command line.
#include "lib/process/sandbox/sandbox.h"

#include <fcntl.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iostream>

#include "lib/base/file.h"
#include "lib/process/sandbox/mount_table.h"

namespace deadheat::process::sandbox {
namespace {

namespace fs = std::filesystem;

constexpr uid_t kSomebody = 12345;  // an unused user id

class SandboxTest : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "sandbox_test-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    ::chmod(name.c_str(), 0755);
  }
  void TearDown() override {
    std::error_code error;
    fs::remove_all(folder_, error);
  }

  // Runs the test's body in its own process, as root or as another user.
  template <typename Test>
  void as_parameter_says(Test test) {
    if (GetParam() && ::geteuid() == 0) {
      ASSERT_EQ(::chown(folder_.c_str(), kSomebody, kSomebody), 0);
    } else if (!GetParam() && ::geteuid() != 0) {
      GTEST_SKIP() << "SKIPPED: not root";
    }
    const pid_t child = ::fork();
    if (child == 0) {
      if (GetParam() && ::geteuid() == 0 &&
          (::setgroups(0, nullptr) != 0 || ::setresgid(kSomebody, kSomebody, kSomebody) != 0 ||
           ::setresuid(kSomebody, kSomebody, kSomebody) != 0))
        ::_exit(2);
      auto probe = Sandbox::create({});
      Status can = probe ? probe->start([](Inside&) { return ""; }) : Status(probe.error());
      if (!can) {
        std::cerr << "SKIPPED: " << can.error().message << " (" << can.error().hint << ")\n";
        ::_exit(77);
      }
      (void)probe->finish();
      test();
      std::cerr.flush();
      std::cout.flush();
      ::_exit(HasFailure() ? 1 : 0);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
    if (WEXITSTATUS(status) == 77)
      GTEST_SKIP() << "SKIPPED: no sandboxes here; the line above says why";
    EXPECT_EQ(WEXITSTATUS(status), 0) << "the lines above say what failed";
  }

  static Command shell(const std::string& script) {
    Command command;
    command.words = {"sh", "-c", script};
    command.directory = "/";
    command.environment = {"PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "LC_ALL=C"};
    command.user = ::geteuid();
    command.group = ::getegid();
    return command;
  }

  // Runs a command; `said` receives its output.
  static SandboxResult run(const Command& given, const SandboxOptions& options,
                           std::string* said = nullptr) {
    const ScopedFd out(::memfd_create("out", MFD_CLOEXEC));
    SandboxOptions used = options;
    used.descriptors = {out.get()};
    auto sandbox = Sandbox::create(used);
    EXPECT_TRUE(sandbox) << sandbox.error().message;
    if (!sandbox) return {};
    Command command = given;
    command.standard_out = command.standard_error = out.get();
    Status started = sandbox->start([&](Inside& inside) {
      auto pid = inside.start(command, {});
      return std::to_string(pid ? WEXITSTATUS(inside.wait_for(*pid)) : -1);
    });
    EXPECT_TRUE(started) << started.error().message << " (" << started.error().hint << ")";
    if (!started) return {};
    auto result = sandbox->finish();
    EXPECT_TRUE(result) << result.error().message;
    if (said != nullptr) *said = *read_file("/proc/self/fd/" + std::to_string(out.get()));
    return result ? *result : SandboxResult{};
  }

  fs::path folder_;
};

INSTANTIATE_TEST_SUITE_P(Root, SandboxTest, ::testing::Values(false));
INSTANTIATE_TEST_SUITE_P(User, SandboxTest, ::testing::Values(true));

TEST_P(SandboxTest, BringsBackWhatTheBodyReturned) {
  as_parameter_says([] {
    auto sandbox = Sandbox::create({});
    ASSERT_TRUE(sandbox);
    const std::string large(3'000'000, 'x');  // more than a pipe can hold
    ASSERT_TRUE(sandbox->start([&](Inside&) { return large + std::to_string(::getpid()); }));
    auto result = sandbox->finish();
    ASSERT_TRUE(result);
    EXPECT_EQ(result->bytes, large + "1");
    EXPECT_FALSE(result->timed_out);
    EXPECT_EQ(result->signal, 0);
    for (const std::string& problem : result->problems) std::cerr << problem << "\n";
  });
}

TEST_P(SandboxTest, LeavesTheMachinesFilesAndKeepsTheChangedOnes) {
  std::ofstream(folder_ / "old") << "old\n";
  std::ofstream(folder_ / "gone") << "gone\n";
  as_parameter_says([&] {
    SandboxOptions options;
    options.keep_upper = folder_ / "kept";
    const std::string here = folder_.string();
    EXPECT_EQ(run(shell("cd " + here + " && echo new >> old; rm -f gone; mkdir d && echo 1 > d/f"),
                  options)
                  .bytes,
              "0");
    EXPECT_TRUE(fs::exists(folder_ / "gone"));
    EXPECT_FALSE(fs::exists(folder_ / "d"));
    EXPECT_EQ(*read_file(folder_ / "old"), "old\n");
    const std::string kept = options.keep_upper + here;
    EXPECT_EQ(*read_file(kept + "/d/f"), "1\n");
    struct stat info = {};
    ASSERT_EQ(::lstat((kept + "/gone").c_str(), &info), 0)
        << "no mark for the file that was removed";
    EXPECT_TRUE(S_ISCHR(info.st_mode) && info.st_rdev == makedev(0, 0));
    if (::geteuid() != 0) return;  // not his file: he could not write it
    EXPECT_EQ(*read_file(kept + "/old"), "old\nnew\n");
  });
}

TEST_P(SandboxTest, LaysLayersOverTheMachinesFiles) {
  std::ofstream(folder_ / "f") << "machine\n";
  as_parameter_says([&] {
    const std::string layer = folder_ / "layer", inner = layer + folder_.string();
    fs::create_directories(inner);
    std::ofstream(inner + "/f") << "layer\n";
    SandboxOptions options;
    options.layers = {layer};
    std::string said;
    run(shell("cat " + (folder_ / "f").string()), options, &said);
    EXPECT_EQ(said, "layer\n");
    run(shell("cat " + (folder_ / "f").string()), {}, &said);
    EXPECT_EQ(said, "machine\n");
  });
}

TEST_P(SandboxTest, UsesAScratchFolderAndCleansItUp) {
  as_parameter_says([&] {
    SandboxOptions options;
    options.scratch = folder_ / "scratch";
    fs::create_directory(options.scratch);
    fs::create_directory(options.scratch + "/deadheat-sandbox-stale");  // of a tool that was killed
    std::string said;
    run(shell("echo 1 > /tmp/x && cat /tmp/x"), options, &said);
    EXPECT_EQ(said, "1\n");
    EXPECT_TRUE(fs::is_empty(options.scratch));
  });
}

TEST_P(SandboxTest, EndsAtItsTime) {
  as_parameter_says([] {
    SandboxOptions options;
    options.timeout_s = 0.2;
    const SandboxResult result = run(shell("kill -ALRM 1; while :; do :; done"), options);
    EXPECT_TRUE(result.timed_out);
    options.timeout_s = 60;
    EXPECT_EQ(run(shell("kill -ALRM 1; exit 3"), options).bytes, "3");
  });
}

TEST_P(SandboxTest, ManyRunAtATime) {
  as_parameter_says([] {
    constexpr int kMany = 12;
    std::vector<Sandbox> all;
    for (int i = 0; i < kMany; ++i) {
      auto sandbox = Sandbox::create({});
      ASSERT_TRUE(sandbox);
      ASSERT_TRUE(sandbox->start([i](Inside& inside) {
        auto pid = inside.start(shell("exit " + std::to_string(i)), {});
        return std::to_string(pid ? WEXITSTATUS(inside.wait_for(*pid)) : -1);
      }));
      all.push_back(std::move(*sandbox));
    }
    int ended = 0;
    std::vector<pollfd> fds;
    for (const Sandbox& sandbox : all) fds.push_back({sandbox.done_fd(), POLLIN, 0});
    while (ended < kMany) {
      ASSERT_GT(::poll(fds.data(), fds.size(), 60'000), 0);
      for (size_t i = 0; i < fds.size(); ++i) {
        if (fds[i].revents == 0) continue;
        auto result = all[i].finish();
        ASSERT_TRUE(result);
        EXPECT_EQ(result->bytes, std::to_string(i));
        fds[i].fd = -1;
        ++ended;
      }
    }
  });
}

TEST_P(SandboxTest, KillEndsAllOfIt) {
  as_parameter_says([] {
    int ends[2];
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    const ScopedFd in(ends[0]);
    ScopedFd out(ends[1]);
    SandboxOptions options;
    options.descriptors = {out.get()};
    auto sandbox = Sandbox::create(options);
    ASSERT_TRUE(sandbox);
    Command command = shell("setsid sleep 1000 & echo started; exec sleep 1000");
    command.standard_out = out.get();
    ASSERT_TRUE(sandbox->start([&](Inside& inside) {
      auto pid = inside.start(command, {});
      return std::to_string(inside.wait_for(pid ? *pid : -1));
    }));
    out = ScopedFd();
    char byte = 0;
    ASSERT_EQ(::read(in.get(), &byte, 1), 1);
    sandbox->kill();
    auto result = sandbox->finish();
    ASSERT_TRUE(result);
    EXPECT_EQ(result->signal, SIGKILL);
    // Every process in it held the pipe.
    while (::read(in.get(), &byte, 1) > 0) {
    }
    pollfd end = {in.get(), POLLIN, 0};
    ASSERT_EQ(::poll(&end, 1, 60'000), 1);
    EXPECT_NE(end.revents & POLLHUP, 0);
  });
}

TEST_P(SandboxTest, GivesTheNextProcessItsNumber) {
  as_parameter_says([] {
    auto sandbox = Sandbox::create({});
    ASSERT_TRUE(sandbox);
    ASSERT_TRUE(sandbox->start([](Inside& inside) {
      if (!inside.set_next_pid(5000)) return std::string("refused");
      auto pid = inside.start(shell("exit 0"), {});
      if (pid) inside.wait_for(*pid);
      return std::to_string(pid ? *pid : -1);
    }));
    EXPECT_EQ(sandbox->finish()->bytes, "5000");
  });
}

TEST_P(SandboxTest, TheBodyMayTrace) {
  as_parameter_says([] {
    auto sandbox = Sandbox::create({});
    ASSERT_TRUE(sandbox);
    ASSERT_TRUE(sandbox->start([](Inside& inside) {
      auto pid = inside.start(shell("exit 4"), [] { ::ptrace(PTRACE_TRACEME, 0, 0, 0); });
      int status = 0;
      if (!pid || ::waitpid(*pid, &status, 0) != *pid || !WIFSTOPPED(status))
        return std::string("no stop");
      ::ptrace(PTRACE_CONT, *pid, 0, 0);
      ::waitpid(*pid, &status, 0);
      return std::to_string(WEXITSTATUS(status));
    }));
    EXPECT_EQ(sandbox->finish()->bytes, "4");
  });
}

TEST_P(SandboxTest, LimitsProcessesAndBytes) {
  as_parameter_says([] {
    SandboxOptions options;
    options.most_processes = 20;
    options.most_bytes = 4 << 20;
    options.timeout_s = 60;
    std::string said;
    SandboxResult result =
        run(shell("i=0; while [ $i -lt 60 ]; do sleep 100 & i=$((i+1)); done; echo all"), options,
            &said);
    EXPECT_EQ(said.find("all"), std::string::npos) << said;
    run(shell("head -c 8000000 /dev/zero > /tmp/large; head -c 8000000 /dev/zero > /dev/shm/large; "
              "echo end"),
        options, &said);
    EXPECT_NE(said.find("No space left"), said.rfind("No space left")) << said;
  });
}

TEST_P(SandboxTest, SaysWhatCannotBeExecuted) {
  as_parameter_says([] {
    Command command = shell("");
    std::string said;
    command.words = {"no-such-command"};
    EXPECT_EQ(run(command, {}, &said).bytes, "127");
    EXPECT_EQ(said, "deadheat: cannot execute no-such-command: No such file or directory\n");
    command.words = {"/etc/passwd"};
    EXPECT_EQ(run(command, {}).bytes, "126");
    command = shell("true");
    command.directory = "/no/such/folder";
    EXPECT_EQ(run(command, {}, &said).bytes, "127");
  });
}

TEST_P(SandboxTest, HasNoWayToTheMachinesSockets) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  const std::string path = folder_ / "socket";
  std::copy(path.begin(), path.end(), address.sun_path);
  const ScopedFd server(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const auto* generic = reinterpret_cast<const sockaddr*>(&address);
  ASSERT_EQ(::bind(server.get(), generic, sizeof address), 0);
  ASSERT_EQ(::listen(server.get(), 5), 0);
  ::chmod(path.c_str(), 0777);
  as_parameter_says([&] {
    const auto connects = [&](bool in_place) {
      SandboxOptions options;
      options.in_place = in_place;
      auto sandbox = Sandbox::create(options);
      Status started = sandbox->start([&](Inside&) {
        const ScopedFd client(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
        return std::to_string(::connect(client.get(), generic, sizeof address) == 0 ? 0 : errno);
      });
      return started ? sandbox->finish()->bytes : started.error().message;
    };
    EXPECT_EQ(connects(false), std::to_string(ECONNREFUSED));
    EXPECT_EQ(connects(true), "0");  // checks that the test can fail
  });
}

TEST_P(SandboxTest, HoldsNoDescriptorOfTheTool) {
  as_parameter_says([&] {
    const ScopedFd secret(::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    const ScopedFd wanted(::memfd_create("wanted", MFD_CLOEXEC));
    SandboxOptions options;
    options.descriptors = {wanted.get()};
    auto sandbox = Sandbox::create(options);
    struct stat folder = {};
    ASSERT_EQ(::fstat(secret.get(), &folder), 0);
    ASSERT_TRUE(sandbox->start([&](Inside&) {
      int held = 0;
      for (int fd = 0; fd < 1024; ++fd) {
        struct stat one = {};
        held +=
            ::fstat(fd, &one) == 0 && one.st_dev == folder.st_dev && one.st_ino == folder.st_ino;
      }
      return std::to_string(held) + std::to_string(::fcntl(wanted.get(), F_GETFD) >= 0);
    }));
    EXPECT_EQ(sandbox->finish()->bytes, "01");
  });
}

TEST_P(SandboxTest, InPlaceChangesTheRealFiles) {
  as_parameter_says([&] {
    SandboxOptions options;
    options.in_place = true;
    EXPECT_EQ(run(shell("echo real > " + (folder_ / "f").string()), options).bytes, "0");
    EXPECT_EQ(*read_file(folder_ / "f"), "real\n");
  });
}

TEST_P(SandboxTest, LeavesNoDescriptorsNorMounts) {
  as_parameter_says([] {
    const auto count = [] {
      return std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator());
    };
    const auto before = count();
    const std::string mounts = *read_file("/proc/self/mountinfo");
    for (int i = 0; i < 5; ++i) run(shell("true"), {});
    {
      auto unused = Sandbox::create({});
    }
    {
      auto killed = Sandbox::create({});
      ASSERT_TRUE(killed->start([](Inside&) {
        ::pause();
        return "";
      }));
    }
    EXPECT_EQ(count(), before);
    EXPECT_EQ(*read_file("/proc/self/mountinfo"), mounts);
    EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "a child is left";
  });
}

TEST(MountTable, IsRead) {
  const auto all = parse_mount_table(
      "22 27 0:21 / /proc rw - proc proc rw\n"
      "27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw\n"
      "30 27 0:25 / /home/a\\040b rw - xfs /dev/vdb rw\n"
      "31 27 0:26 / /dev/shm rw - tmpfs tmpfs rw\n"
      "32 27 0:27 / /run/user/bus rw - nsfs nsfs rw\n"
      "33 27 0:28 / /devel rw - ext4 /dev/vdc rw\n"
      "nonsense\n34 x\n");
  ASSERT_EQ(all.size(), 6U);
  EXPECT_EQ(all[2].point, "/home/a b");
  std::vector<std::string> points;
  for (const HostMount& mount : real_mounts(all)) points.push_back(mount.point);
  EXPECT_EQ(points, (std::vector<std::string>{"/", "/devel", "/home/a b"}));
}

}  // namespace
}  // namespace deadheat::process::sandbox

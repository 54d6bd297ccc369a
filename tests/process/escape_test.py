#!/usr/bin/python3
"""Nothing escapes: what a sandboxed command does to files, processes, mounts and the disk stays in the sandbox, and nothing
is left when the tool is killed.

usage: escape_test.py SANDBOX_RUN ESCAPE_PROBE ESCAPE_PRELOAD
"""
import ctypes
import os
import pty
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

RUN = ""
PROBE = ""
PRELOAD = ""
SKIP = 77
SOMEBODY = 54321  # as sandbox_run --no-root
PATIENCE_S = 150  # for things that end by themselves; a test that waits this long fails


def cannot_run(*options):
    """Why there can be no sandbox here, or None."""
    done = subprocess.run([RUN, *options, "--", "true"], capture_output=True, text=True)
    return done.stderr.strip() if done.returncode == SKIP else None


def mounts():
    with open("/proc/self/mountinfo", encoding="utf-8", errors="replace") as file:
        return sorted(file.read().splitlines())


def marked(token):
    """Processes of the machine that carry the token in their environment or command line."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as line, open(f"/proc/{pid}/environ", "rb") as environment:
                if token.encode() in line.read() + environment.read():
                    found.append(int(pid))
        except OSError:
            continue  # it has ended, or is not readable
    return found


def as_one_with_real_time():
    """A caller who may have real-time priority, by his limits or as root, and has it."""
    for wish in (lambda: resource.setrlimit(resource.RLIMIT_RTPRIO, (99, 99)),
                 lambda: resource.setrlimit(resource.RLIMIT_NICE, (40, 40)),
                 lambda: os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))):
        try:
            wish()
        except (OSError, ValueError):
            pass  # a container's root may not raise limits, a control group may have no such time


class Escape(unittest.TestCase):
    options = ()

    def setUp(self):
        why = cannot_run(*self.options)
        if why:
            self.skipTest(why)
        self.folder = tempfile.mkdtemp(prefix="escape-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        os.chmod(self.folder, 0o777)
        os.mkdir(self.path("precious"), 0o777)
        os.chmod(self.path("precious"), 0o777)
        for name in ("a", "b"):
            with open(self.path("precious", name), "w", encoding="ascii") as file:
                file.write(name)
        if self.options and os.geteuid() == 0:  # the user's own files: those a command could harm
            for path in (self.folder, self.path("precious"), self.path("precious", "a"), self.path("precious", "b")):
                os.chown(path, SOMEBODY, SOMEBODY)
        self.token = f"escape-{os.getpid()}-{time.monotonic_ns()}"
        self.environment = dict(os.environ, ESCAPE_TOKEN=self.token)
        self.victim = subprocess.Popen(["sleep", "100000"])  # in the process group of this test
        self.addCleanup(self.victim.wait)
        self.addCleanup(self.victim.kill)
        self.before = mounts()

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def command(self, script, *more):
        return [RUN, *self.options, *more, "--", "sh", "-c", script]

    def run_inside(self, script, *more):
        return subprocess.run(self.command(script, *more), capture_output=True, text=True, env=self.environment,
                              cwd=self.folder, timeout=PATIENCE_S)

    def check_untouched(self):
        self.assertEqual(sorted(os.listdir(self.folder)), ["precious"])
        self.assertEqual(sorted(os.listdir(self.path("precious"))), ["a", "b"])
        self.assertIsNone(self.victim.poll(), "a process outside was killed")
        self.assertEqual(mounts(), self.before)
        deadline = time.monotonic() + PATIENCE_S
        while marked(self.token):  # the kernel ends them when init is gone
            self.assertLess(time.monotonic(), deadline, f"left behind: {marked(self.token)}")

    def test_rm(self):
        done = self.run_inside(f"rm -rf {self.folder}/* && echo x > {self.folder}/new && ls {self.folder}")
        self.assertEqual(done.stdout, "new\n", done.stderr)
        self.check_untouched()

    def test_overwrite_rename_chmod(self):
        done = self.run_inside("cd precious && echo spoilt > a; mv b c; chmod 0 a; mkdir d; ln a e; ls")
        self.assertIn("c\nd\n", done.stdout, done.stderr)
        self.check_untouched()
        with open(self.path("precious", "a"), encoding="ascii") as file:
            self.assertEqual(file.read(), "a")

    def test_kill(self):
        group = os.getpgrp()
        done = self.run_inside(f"kill -9 -{group}; kill -9 {self.victim.pid}; kill -9 {os.getpid()}; "
                               "kill -9 1; kill -15 1; kill -14 1; kill -9 -1; kill -9 0")
        self.assertEqual(done.returncode, 128 + signal.SIGKILL, done.stderr)  # only itself
        self.check_untouched()

    def bomb(self, timeout_s, script="import os\nwhile True:\n    try: os.fork()\n    except OSError: os.write(1, b'full')"):
        return [RUN, *self.options, "--most-processes", "300", "--timeout", str(timeout_s), "--",
                "/usr/bin/python3", "-c", script]

    def test_fork_bomb(self):
        bomb = subprocess.Popen(self.bomb(3), env=self.environment, cwd=self.folder, stdout=subprocess.PIPE)
        self.addCleanup(bomb.stdout.close)
        self.addCleanup(bomb.kill)
        self.assertEqual(bomb.stdout.read(4), b"full")  # a fork was refused
        self.assertLessEqual(len(marked(self.token)), 310)
        subprocess.run(["true"], check=True, timeout=PATIENCE_S)  # the machine can still start processes
        self.assertEqual(bomb.wait(PATIENCE_S), 124)
        self.check_untouched()

    def test_fork_bomb_without_control_groups(self):
        hide = ["unshare", "-m", "sh", "-c", 'mount -t tmpfs none /sys/fs/cgroup && exec "$@"', "sh"]
        if self.options or subprocess.run([*hide, "true"], capture_output=True).returncode != 0:
            self.skipTest("only root has control groups to hide")
        # Without a control group the sandbox only looks now and then. A bomb without a bound takes all process numbers of a busy machine meanwhile.
        many = "import os, time\nfor _ in range(1500):\n    if os.fork() == 0: time.sleep(600)\ntime.sleep(600)"
        done = subprocess.run([*hide, *self.bomb(PATIENCE_S, many)], capture_output=True, text=True, env=self.environment,
                              timeout=2 * PATIENCE_S)
        self.assertEqual(done.returncode, 125, done.stderr)
        self.assertIn("more than 300 processes", done.stderr)
        self.check_untouched()

    def test_full_disk(self):
        done = self.run_inside("head -c 100000000 /dev/zero > large; head -c 100000000 /dev/zero > /tmp/large; "
                               "head -c 100000000 /dev/zero > /dev/shm/large", "--most-bytes", "20000000")
        self.assertEqual(done.stderr.count("No space left"), 3, done.stderr)
        self.check_untouched()

    def test_memory_hog(self):
        """512 MB are asked for where 128 are allowed: the hog fails or is ended, its neighbour and the machine go on."""
        hog = "x = [bytes([1]) * (8 << 20) for _ in range(64)]; print('had it all')"
        done = self.run_inside(f'/usr/bin/python3 -c "{hog}"; echo status $?', "--most-memory", str(128 << 20))
        self.assertNotIn("had it all", done.stdout, done.stderr)
        self.assertRegex(done.stdout, "status (1|137)", done.stderr)  # MemoryError, or ended by the kernel
        if "status 137" in done.stdout:
            self.assertIn("it wanted more than 128 MB of memory", done.stderr)
        enough = self.run_inside(f'/usr/bin/python3 -c "{hog}"', "--most-memory", str(2 << 30))
        self.assertEqual(enough.stdout, "had it all\n", enough.stderr)
        self.check_untouched()

    def start_busy(self, **how):
        """A command with a daemon of its own, which says when it is ready."""
        script = ("rm -rf precious; setsid sh -c 'trap \"\" INT TERM HUP; sleep 100000' & "
                  "trap '' INT TERM HUP; echo ready; while :; do sleep 1000; done")
        tool = subprocess.Popen(self.command(script), env=self.environment, cwd=self.folder, **how)
        self.addCleanup(tool.wait)
        self.addCleanup(tool.kill)  # also when the test fails
        return tool

    def test_killed_tool(self):
        tool = self.start_busy(stdout=subprocess.PIPE)
        self.assertEqual(tool.stdout.readline(), b"ready\n")
        deadline = time.monotonic() + PATIENCE_S
        while len(marked(self.token)) < 5:  # tool, init, the shell, its daemon and a sleep
            self.assertLess(time.monotonic(), deadline, "it never got going")
        tool.kill()
        tool.wait()
        tool.stdout.close()
        self.check_untouched()

    def test_interrupt_at_a_terminal(self):
        pid, terminal = pty.fork()
        if pid == 0:
            os.chdir(self.folder)
            script = "trap '' INT; sleep 100000 & echo ready; while :; do sleep 1000; done"
            os.execve(RUN, self.command(script), self.environment)
        with os.fdopen(terminal, "r+b", buffering=0) as file:
            text = b""
            while b"ready" not in text:
                text += file.read(100)
            file.write(b"\x03")
            _, status = os.waitpid(pid, 0)
        self.assertTrue(os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGINT, status)
        self.check_untouched()

    def test_sockets(self):
        path = self.path("precious", "socket")
        with socket.socket(socket.AF_UNIX) as named, socket.socket(socket.AF_UNIX) as abstract, \
                socket.socket() as network:
            named.bind(path)
            os.chmod(path, 0o777)
            abstract.bind("\0" + self.token)
            network.bind(("127.0.0.1", 0))
            for server in (named, abstract, network):
                server.listen()
            client = ("import socket,sys\n"
                      f"for family, address in ((socket.AF_UNIX, {path!r}), (socket.AF_UNIX, '\\0' + {self.token!r}),\n"
                      f"                        (socket.AF_INET, ('127.0.0.1', {network.getsockname()[1]}))):\n"
                      "    try:\n        socket.socket(family).connect(address); print('connected')\n"
                      "    except ConnectionRefusedError: print('refused')\n")
            def connects(*command):
                return subprocess.run([*command, "/usr/bin/python3", "-c", client], capture_output=True, text=True,
                                      timeout=PATIENCE_S).stdout.split()
            self.assertEqual(connects(), ["connected"] * 3)
            self.assertEqual(connects(RUN, *self.options, "--"), ["refused"] * 3)
        os.unlink(path)
        self.check_untouched()

    def test_settings_of_the_machine(self):
        name = socket.gethostname()
        self.run_inside("hostname escaped; echo escaped > /proc/sys/kernel/hostname; umount -l /proc; mount -t tmpfs x /mnt")
        self.assertEqual(socket.gethostname(), name)
        done = self.run_inside("echo 1 > /proc/sys/vm/swappiness; echo x > /sys/kernel/uevent_seqnum; "
                               "ls /dev; cat /proc/1/maps | wc -l")
        self.assertNotIn("vda", done.stdout)
        self.assertNotIn("sda", done.stdout)
        self.assertIn("swappiness", done.stderr)
        self.check_untouched()


    def probe(self, *more):
        """What the probe says of each of its tries."""
        shutil.copy(PROBE, self.path("probe"))  # where anybody may read it
        with socket.socket(socket.AF_UNIX) as named, socket.socket(socket.AF_UNIX) as abstract, \
                socket.socket() as network:
            named.bind(self.path("socket"))
            os.chmod(self.path("socket"), 0o777)
            abstract.bind("\0" + self.token)
            network.bind(("127.0.0.1", 0))
            for server in (named, abstract, network):
                server.listen()
            os.mkfifo(self.path("pipe"))
            os.chmod(self.path("pipe"), 0o777)
            reader = os.open(self.path("pipe"), os.O_RDONLY | os.O_NONBLOCK)
            libc = ctypes.CDLL(None, use_errno=True)
            queue = libc.mq_open(f"/{self.token}".encode(), os.O_CREAT | os.O_RDWR, 0o666, None)
            memory = libc.shmget(0, 4096, 0o1666)  # IPC_PRIVATE, IPC_CREAT
            self.assertTrue(queue >= 0 and memory >= 0, os.strerror(ctypes.get_errno()))
            arguments = [self.path("probe"), str(self.victim.pid), self.folder, str(network.getsockname()[1]), self.token]
            done = subprocess.run([RUN, *self.options, *more, "--", *arguments], capture_output=True, text=True,
                                  cwd=self.folder, stdin=subprocess.DEVNULL, timeout=PATIENCE_S,
                                  preexec_fn=as_one_with_real_time)
        os.close(reader)
        libc.mq_close(queue)
        libc.mq_unlink(f"/{self.token}".encode())
        libc.shmctl(memory, 0, None)  # IPC_RMID
        for name in ("probe", "socket", "pipe"):
            os.unlink(self.path(name))
        said = dict(line.split("\t") for line in done.stdout.splitlines())
        self.assertEqual(done.stderr, "")
        return said

    def reached(self, said):
        return {name for name, what in said.items() if what.startswith("REACHED")}

    def test_probe(self):
        """A hostile command tries every way out that it knows."""
        devices = {name: os.stat(name) for name in ("/dev/null", "/dev/tty")}
        said = self.probe()
        for number, (name, what) in enumerate(said.items(), 1):
            print(f"{number:3} {name}: {what}")
        self.assertGreater(len(said), 40)
        self.assertEqual(self.reached(said), set())
        for name, before in devices.items():
            now = os.stat(name)
            self.assertEqual((now.st_mode, now.st_uid, now.st_ctime), (before.st_mode, before.st_uid, before.st_ctime))
        with open(os.path.join(os.path.dirname(__file__), "..", "..", "docs", "threat-model.md"), encoding="utf-8") as file:
            page = file.read()
        self.assertEqual([name for name in said if f"| {name} |" not in page], [], "docs/threat-model.md lacks them")
        self.check_untouched()

    def test_probe_with_the_machines_network(self):
        said = self.probe("--host-network")
        expected = {"an abstract socket outside", "a port outside"}
        if not self.options:  # root then has no user namespace, where half of them would be left to others
            expected.add("all inotify instances of the user")
        self.assertEqual(self.reached(said) - {"another machine"}, expected)
        self.check_untouched()

    def test_probe_that_may_mount(self):
        """Mounts of its own lead to nothing of the machine's."""
        said = self.probe("--allow", "namespaces")
        self.assertLessEqual(self.reached(said), {
            "mount tmpfs", "open_tree of the root", "fsopen", "fspick", "move_mount", "mount_setattr", "pivot_root",
            "mount cgroup2", "mount cgroup", "unshare a mount namespace", "unshare a user namespace",
            "clone into a user namespace", "clone3 into a user namespace", "clone3 into a network namespace",
            "umount through the 32-bit door", "CAP_SYS_ADMIN", "set the host name", "namespaces through the 32-bit door",
            "unshare a time namespace", "unshare a control group namespace", "unshare PID and network namespaces", "open_tree_attr",
            "a filter that allows again", "a tracer that changes the call", "list the mounts outside", "the name of the domain"})
        self.assertIn("unshare a user namespace", self.reached(said))
        self.check_untouched()

    def test_the_probe_can_fail(self):
        if self.options:
            self.skipTest("only root has a machine to lose")
        said = self.probe("--allow", "machine")
        self.assertLessEqual({"mount devtmpfs", "CAP_SYS_ADMIN", "unmount the mask of /proc/sys", "limits and priority of process 1",
                              "pairs of sockets of rare families", "modules for line disciplines", "modules for rare protocols",
                              "modules for rare netlink protocols", "all inotify instances of the user", "unshare PID and network namespaces"}, self.reached(said))
        self.check_untouched()

    def test_the_tools_own_program(self):
        """A script for /proc/self/exe runs the tool's own file, outside of every overlay: its mode must stay."""
        tool, script = self.path("tool"), self.path("script")
        shutil.copy(RUN, tool)
        with open(script, "w", encoding="ascii") as file:
            file.write("#!/proc/self/exe\n")
        for path in (tool, script):
            os.chmod(path, 0o755)
            if self.options and os.geteuid() == 0:
                os.chown(path, SOMEBODY, SOMEBODY)
        preload = shutil.copy(PRELOAD, self.path("preload.so"))
        done = subprocess.run([tool, *self.options, "--", script], capture_output=True, text=True, cwd=self.folder,
                              env=dict(self.environment, LD_PRELOAD=preload), timeout=PATIENCE_S)
        self.assertIn("usage: sandbox_run", done.stderr)  # the script did run it
        about = os.stat(tool)
        self.assertEqual(about.st_mode & 0o7777, 0o755, "its mode was changed from inside")
        for path in (tool, script, preload):
            os.unlink(path)
        self.check_untouched()

    def test_permissions(self):
        """What --allow gives, each by itself; without it, not."""
        if self.options:
            self.skipTest("another user has no such rights outside either")
        copy = "cp /usr/bin/id id && chmod 4755 id && setpriv --reuid 65534 --clear-groups ./id -u"
        for what, script, without, allowed in (
                ("setuid", f"{copy}; true", "65534", "0"),
                ("namespaces", "mount -t tmpfs x /mnt && umount /mnt && echo done", "", "done"),
                ("network", "/usr/sbin/ip link set lo mtu 1400 && echo done", "", "done")):
            if what == "network" and not os.access("/usr/sbin/ip", os.X_OK):
                continue
            self.assertEqual(self.run_inside(script).stdout.strip(), without, what)
            done = self.run_inside(script, "--allow", what)
            self.assertEqual(done.stdout.strip(), allowed, f"{what}: {done.stderr}")
        self.check_untouched()

    def test_root_is_still_root(self):
        """What installers and servers do as root works as ever."""
        if self.options:
            self.skipTest("for root")
        done = self.run_inside("""set -e
            echo x > f; chown 1234:4321 f; stat -c %u:%g f
            /usr/sbin/useradd -m probe-user; su probe-user -c id > /dev/null; stat -c %U ~probe-user
            python3 -c 'import socket; socket.socket().bind(("127.0.0.1", 80)); print("bound")'
            setpriv --reuid 33 --regid 33 --clear-groups sleep 100 & readlink /proc/$!/exe > /dev/null; kill $!
            chroot / true; nice true; mkfifo p; cat /proc/sys/kernel/ostype""")
        self.assertEqual(done.stdout.split(), ["1234:4321", "probe-user", "bound", "Linux"], done.stderr)
        self.check_untouched()


class EscapeWithoutRoot(Escape):
    options = ("--no-root",)


class InPlace(unittest.TestCase):
    def test_without_namespaces(self):
        """Where users may make no namespaces: one clear line; --in-place still works and cleans up."""
        if not shutil.which("unshare"):
            self.skipTest("no unshare")
        token = f"escape-{os.getpid()}-in-place"

        def run(*command):
            return subprocess.run(
                ["unshare", "-Ur", "sh", "-c", 'echo 0 > /proc/sys/user/max_user_namespaces && exec "$@"', "sh",
                 *command], capture_output=True, text=True, timeout=PATIENCE_S,
                env=dict(os.environ, ESCAPE_TOKEN=token))
        if run("true").returncode != 0:
            self.skipTest("no user namespaces to switch off: " + run("true").stderr)
        refused = run(RUN, "--", "true")
        self.assertEqual(refused.returncode, SKIP, refused.stderr)
        self.assertIn("max_user_namespaces is 0", refused.stderr)
        self.assertIn("--in-place", refused.stderr)
        done = run(RUN, "--in-place", "--", "sh", "-c", "setsid sleep 100000 & echo $$; exit 3")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertNotEqual(done.stdout, "2\n")  # no PID namespace
        self.assertIn("not kept apart", done.stderr)
        done = run(RUN, "--in-place", "--timeout", "0.2", "--", "sh", "-c", "setsid sleep 100000 & sleep 100000")
        self.assertEqual(done.returncode, 124, done.stderr)
        self.assertEqual(marked(token), [])


if __name__ == "__main__":
    RUN = os.path.abspath(sys.argv.pop(1))
    PROBE = os.path.abspath(sys.argv.pop(1))
    PRELOAD = os.path.abspath(sys.argv.pop(1))
    result = unittest.main(exit=False, verbosity=2).result
    for test, why in result.skipped:
        print(f"SKIPPED {test.id()}: {why}")
    if not result.wasSuccessful():
        sys.exit(1)
    sys.exit(SKIP if len(result.skipped) == result.testsRun else 0)

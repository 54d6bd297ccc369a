"""One execution of one build: starts the program under test behind the tool's words, measures it, and runs what drives it.

What is measured is the program under test and its children only, not a client that drives it. CPU time is wait4's. Peak memory is
the high-water mark of the process itself, read while it runs: wait4's would begin with ours, from before the exec.
"""
import contextlib
import os
import resource
import signal
import socket
import subprocess
import time


class Failed(Exception):
    pass


class Work:
    def __init__(self, folder, input_file, scratch, clients, prefix, environment, threads, scale, log, seconds=900):
        self.folder, self.input, self.scratch, self.clients = folder, input_file, scratch, clients
        self.prefix, self.environment, self.threads, self.scale = prefix, environment, threads, scale
        self.log, self.seconds = log, seconds
        self.cpu_s = self.wall_s = self.rss_mb = 0.0

    def client(self, name):
        return os.path.join(self.clients, name)

    def check(self, command):
        """A command that belongs to the work but not to the measurement."""
        done = subprocess.run(command, cwd=self.folder, env=dict(os.environ, LC_ALL="C"), stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=self.seconds, check=False)
        if done.returncode != 0:
            raise Failed(f"{' '.join(command)}: status {done.returncode}: {done.stdout[-300:].decode('utf-8', 'replace')}")

    def _start(self, command):
        return subprocess.Popen([*self.prefix, *command], cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL,
                                stdout=self.log, stderr=self.log, start_new_session=True)

    def _look_at_memory(self, process):
        with contextlib.suppress(OSError), open(f"/proc/{process.pid}/status", encoding="ascii", errors="replace") as status:
            for line in status:
                if line.startswith("VmHWM:"):
                    self.rss_mb = max(self.rss_mb, int(line.split()[1]) / 1024)

    def _wait(self, process, started):
        limit = time.monotonic() + self.seconds
        while True:
            self._look_at_memory(process)
            pid, status, usage = os.wait4(process.pid, os.WNOHANG)
            if pid != 0:
                break
            if time.monotonic() > limit:
                os.killpg(process.pid, signal.SIGKILL)
                os.wait4(process.pid, 0)
                raise Failed(f"still running after {self.seconds} s")
            time.sleep(0.01)
        process.returncode = os.waitstatus_to_exitcode(status)
        self.wall_s += time.monotonic() - started
        self.cpu_s += usage.ru_utime + usage.ru_stime
        # 66: races were found; a server that was asked to end may do so by its signal.
        if process.returncode not in (0, 66, -signal.SIGTERM, 128 + signal.SIGTERM):
            raise Failed(f"ended with status {process.returncode}")

    def run(self, command):
        started = time.monotonic()
        self._wait(self._start(command), started)

    @contextlib.contextmanager
    def serve(self, command, path):
        """The program serves at a socket until the block ends."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        started = time.monotonic()
        process = self._start(command)
        try:
            self._await_socket(process, path)
            yield
        except BaseException:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            raise
        # To the group: behind `deadheat run` the server is a child.
        os.killpg(process.pid, signal.SIGTERM)
        self._wait(process, started)

    def _await_socket(self, process, path):
        limit = time.monotonic() + 60
        while time.monotonic() < limit:
            if process.poll() is not None:
                raise Failed(f"server ended with status {process.returncode} before it served")
            with socket.socket(socket.AF_UNIX) as probe, contextlib.suppress(OSError):
                probe.connect(path)
                return
            time.sleep(0.02)
        raise Failed("server does not serve")


def no_core_files():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

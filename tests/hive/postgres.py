"""A PostgreSQL of the test's own: its data in a temporary folder, a Unix socket, no network, not as root."""
import glob
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import time


def programs():
    """Where initdb and postgres are; Debian keeps them out of PATH."""
    folders = sorted(glob.glob("/usr/lib/postgresql/*/bin"), key=lambda path: int(path.split("/")[4])) or [""]
    return folders[-1] if os.path.exists(os.path.join(folders[-1], "initdb")) else os.path.dirname(shutil.which("initdb") or "")


def need():
    if not programs():
        print("skipped: no initdb (Debian package postgresql)")
        sys.exit(77)


class Postgres:
    def __init__(self):
        self.bin = programs()
        self.folder = tempfile.mkdtemp(prefix="hive_pg.")
        self.data = os.path.join(self.folder, "data")
        self.user = None
        if os.getuid() == 0:  # it refuses to run as root
            self.user = next((name for name in ("postgres", "nobody") if self._known(name)), "nobody")
            shutil.chown(self.folder, self.user)
        self._run("initdb", "-D", self.data, "-U", "hive", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
        self.server = None
        self.start()

    @staticmethod
    def _known(name):
        try:
            return bool(pwd.getpwnam(name))
        except KeyError:
            return False

    def _words(self, program, *words):
        run = [os.path.join(self.bin, program), *words]
        return (["setpriv", "--reuid", self.user, "--regid", str(pwd.getpwnam(self.user).pw_gid), "--clear-groups", "--"] if self.user else []) + run

    def _run(self, *words):
        done = subprocess.run(self._words(*words), cwd=self.folder, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stdout + done.stderr

    def start(self):
        """The machine does not crash in a test, so that what the server wrote need not reach the disk: fsync=off."""
        log = open(os.path.join(self.folder, "log"), "a", encoding="utf-8")  # pylint: disable=consider-using-with
        self.server = subprocess.Popen(self._words("postgres", "-D", self.data, "-k", self.folder, "-c", "listen_addresses=", "-c", "fsync=off",
                                                   "-c", "max_connections=60", "-c", "deadlock_timeout=200ms"), cwd=self.folder, stdout=log, stderr=log)
        log.close()
        end = time.monotonic() + 120
        while not self.answers():
            assert time.monotonic() < end and self.server.poll() is None, self.log()
            time.sleep(0.05)

    def answers(self):
        return subprocess.run([os.path.join(self.bin, "pg_isready"), "-q", "-h", self.folder], check=False).returncode == 0

    def log(self):
        with open(os.path.join(self.folder, "log"), encoding="utf-8") as file:
            return file.read()

    @property
    def url(self):
        return f"postgresql://hive@/postgres?host={self.folder}"

    def ask(self, sql):
        """Rows of text."""
        done = subprocess.run([os.path.join(self.bin, "psql"), "-X", "-A", "-t", "-d", self.url, "-c", sql], capture_output=True, text=True,
                              timeout=60, check=True)
        return [line.split("|") for line in done.stdout.splitlines()]

    def kill(self):
        """As if the power of this one program failed: the server and all that it forked."""
        os.kill(self.server.pid, signal.SIGSTOP)  # it forks no more
        children = subprocess.run(["ps", "-o", "pid=", "--ppid", str(self.server.pid)], capture_output=True, text=True, check=False).stdout.split()
        self.server.kill()
        self.server.wait()
        for child in children:
            try:
                os.kill(int(child), 9)
            except ProcessLookupError:
                pass
        # A new server refuses to start while one of them still has the shared memory.
        while any(self._alive(child) for child in children):
            time.sleep(0.01)

    @staticmethod
    def _alive(pid):
        try:
            with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
                return file.read().rpartition(")")[2].split()[0] != "Z"
        except OSError:
            return False

    def close(self):
        if self.server.poll() is None:
            self.server.terminate()
            try:
                self.server.wait(timeout=20)
            except subprocess.TimeoutExpired:
                self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

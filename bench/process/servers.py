"""Servers under a client: processor time per unit of work, the recorder's included. The client is not recorded."""
import os
import pwd
import re
import shutil
import signal
import subprocess
import time

import measure

NGINX = """
worker_processes 1; error_log {0}/error.log; pid {0}/pid; daemon off; user root;
events {{ worker_connections 256; }}
http {{ access_log {0}/access.log; client_body_temp_path {0}; proxy_temp_path {0}; fastcgi_temp_path {0}; uwsgi_temp_path {0}; scgi_temp_path {0};
  server {{ listen 127.0.0.1:{1}; location / {{ root {0}/www; }} }} }}
"""


def wait_until(works):
    end = time.monotonic() + 30
    while not works():
        if time.monotonic() > end:
            raise RuntimeError("the server does not answer")
        time.sleep(0.05)


def descendants_named(root, name):
    found = []
    for pid in measure.tree(root):
        try:
            with open(f"/proc/{pid}/comm", encoding="utf-8") as file:
                if file.read().strip() == name:
                    found.append(pid)
        except OSError:
            continue
    return found


def under_load(words, name, ending, log, ready, load):
    """Starts a server, runs the client against it, ends the server by itself. Seconds per unit, and the counters."""
    with open(log, "w", encoding="utf-8") as errors:
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=errors)
    try:
        wait_until(ready)
        begin = measure.tree_seconds(process.pid)
        units = load()
        seconds = measure.tree_seconds(process.pid) - begin
        os.kill(min(descendants_named(process.pid, name)), ending)
        process.wait(30)
    finally:
        if process.poll() is None:
            measure.stop(process)
    return seconds / units, measure.said(log)


class Nginx:
    name, unit = "nginx, wrk at full load", "request"

    def __init__(self, work, seconds, folder="/nginx", port=18480):
        self.work, self.seconds, self.port = work + folder, seconds, port
        os.makedirs(self.work + "/www")
        with open(self.work + "/www/page", "w", encoding="ascii") as file:
            file.write("x" * 4096)
        with open(self.work + "/conf", "w", encoding="ascii") as file:
            file.write(NGINX.format(self.work, self.port))

    def wrk(self, seconds):
        return subprocess.run(["wrk", "-t1", "-c8", f"-d{seconds}", *self.pace(), f"http://127.0.0.1:{self.port}/page"],
                              capture_output=True, text=True, check=False).stdout

    def pace(self):
        return []

    def load(self):
        return int(re.search(r"(\d+) requests in", self.wrk(self.seconds))[1])

    def ready(self):
        return "Socket errors" not in self.wrk(1) and os.path.exists(self.work + "/pid")

    def run(self, prefix, log):
        return under_load([*prefix, "nginx", "-c", self.work + "/conf"], "nginx", signal.SIGQUIT, log, self.ready, self.load)


class SteadyNginx(Nginx):
    """Each connection waits between two requests: a fixed load far below what the server can do, so that most requests find it asleep."""
    name = "nginx, wrk at 800 requests a second"

    def __init__(self, work, seconds):
        super().__init__(work, seconds, "/steady", 18481)
        with open(self.work + "/pace.lua", "w", encoding="ascii") as file:
            file.write("function delay() return 10 end\n")

    def pace(self):
        return ["-s", self.work + "/pace.lua"]


class Postgres:
    name, unit = "PostgreSQL, pgbench", "transaction"

    def __init__(self, work, seconds):
        self.work, self.seconds, self.port = work + "/pg", seconds, 18532
        self.bin = max((folder for folder in os.listdir("/usr/lib/postgresql")), key=int)
        self.bin = f"/usr/lib/postgresql/{self.bin}/bin"
        user = pwd.getpwnam("postgres")
        self.as_user = ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"]
        os.mkdir(self.work)
        shutil.chown(self.work, "postgres")
        os.chmod(work, 0o755)
        self.call([f"{self.bin}/initdb", "-D", self.work + "/data", "-A", "trust"])
        self.server = [*self.as_user, f"{self.bin}/postgres", "-D", self.work + "/data", "-k", self.work, "-p", str(self.port), "-c",
                       "listen_addresses=", "-c", "autovacuum=off", "-c", "checkpoint_timeout=1h"]
        first = subprocess.Popen(self.server, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_until(self.ready)
        self.call([f"{self.bin}/createdb", "-h", self.work, "-p", str(self.port), "bench"])
        self.call([f"{self.bin}/pgbench", "-i", "-s", "5", "-q", "-h", self.work, "-p", str(self.port), "bench"])
        first.send_signal(signal.SIGINT)
        first.wait()

    def call(self, words):
        return subprocess.run([*self.as_user, *words], capture_output=True, text=True, check=True, cwd="/").stdout

    def ready(self):
        return subprocess.run([f"{self.bin}/pg_isready", "-q", "-h", self.work, "-p", str(self.port)], check=False).returncode == 0

    def load(self):
        # A fixed rate, far below what the server can do.
        text = self.call([f"{self.bin}/pgbench", "-n", "-c", "4", "-j", "1", "-R", "300", "-T", str(self.seconds), "-h", self.work, "-p",
                          str(self.port), "bench"])
        return int(re.search(r"transactions actually processed: (\d+)", text)[1])

    def run(self, prefix, log):
        return under_load([*prefix, *self.server], "postgres", signal.SIGINT, log, self.ready, self.load)

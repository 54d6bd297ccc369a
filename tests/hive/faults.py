"""Faults for the hive's tests: a proxy that cuts, delays, duplicates and reorders, and a clock that steps.

Everything is decided by a seed. Nothing sleeps to order things: the proxy holds a message until another passed it, or for a bounded time.
"""
import os
import random
import socket
import subprocess
import threading


class Proxy:
    """Passes whole requests (Connection: close) to one of some ports and answers back; what it does to each is chance."""

    def __init__(self, ports, seed):
        self.ports, self.random, self.faulty = list(ports), random.Random(seed), True
        self.lock, self.passed = threading.Condition(), 0
        self.counts = {}
        self.server = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self.server.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self):
        try:
            self.server.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.server.close()

    def _accept(self):
        while True:
            try:
                client, _ = self.server.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    @staticmethod
    def _request(client):
        data = b""
        while b"\r\n\r\n" not in data:
            piece = client.recv(65536)
            if not piece:
                return b""
            data += piece
        head, _, body = data.partition(b"\r\n\r\n")
        length = next((int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")), 0)
        while len(body) < length:
            piece = client.recv(65536)
            if not piece:
                return b""
            body += piece
        return head.replace(b"\r\n", b"\r\nConnection: close\r\n", 1) + b"\r\n\r\n" + body

    @staticmethod
    def _ask(port, request, until=None):
        """The answer; `until`: only so many bytes of the request get there."""
        with socket.create_connection(("127.0.0.1", port), timeout=30) as hive:
            hive.sendall(request[:until])
            if until is not None:
                return b""
            answer = b""
            while True:
                piece = hive.recv(65536)
                if not piece:
                    return answer
                answer += piece

    def _serve(self, client):
        with client:
            try:
                client.settimeout(30)
                request = self._request(client)
                if not request:
                    return
                with self.lock:
                    what = self.random.choice(["pass"] * 6 + ["cut", "half", "lost", "twice", "late"]) if self.faulty else "pass"
                    ports = self.random.sample(self.ports, len(self.ports))
                    at = self.random.randrange(1, len(request))
                    passed = self.passed
                    self.counts[what] = self.counts.get(what, 0) + 1
                if what == "cut":  # nothing gets there
                    return
                if what == "half":
                    self._ask(ports[0], request, at)
                    return
                if what == "late":  # others overtake it
                    with self.lock:
                        self.lock.wait_for(lambda: self.passed >= passed + 5 or not self.faulty, timeout=0.3)
                if what == "twice":
                    self._ask(ports[-1], request)
                try:
                    answer = self._ask(ports[0], request)
                except OSError:
                    answer = self._ask(ports[-1], request)
                if what != "lost":  # it arrived, and the answer is lost
                    client.sendall(answer)
            except OSError:
                pass
            finally:
                with self.lock:
                    self.passed += 1
                    self.lock.notify_all()


class Clock:
    """The time of day of a process, off by what a file says. A library of a few lines stands before the C library's."""

    SOURCE = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
static volatile long long* off;
__attribute__((constructor)) static void begin(void) {
  int file = open(getenv("TEST_CLOCK"), O_RDONLY);
  void* at = mmap(0, 8, PROT_READ, MAP_SHARED, file, 0);
  off = at == MAP_FAILED ? 0 : at;
}
int clock_gettime(clockid_t id, struct timespec* now) {
  static int (*real)(clockid_t, struct timespec*);
  if (!real) real = (int (*)(clockid_t, struct timespec*))dlsym(RTLD_NEXT, "clock_gettime");
  int done = real(id, now);
  if (id == CLOCK_REALTIME && off) now->tv_sec += *off;
  return done;
}
"""

    def __init__(self, folder):
        self.path, self.library = os.path.join(folder, "clock"), os.path.join(folder, "clock.so")
        self.step(0)
        source = os.path.join(folder, "clock.c")
        with open(source, "w", encoding="utf-8") as file:
            file.write(self.SOURCE)
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", self.library, source, "-ldl"], check=True, timeout=120)

    def step(self, seconds):
        with open(self.path, "r+b" if os.path.exists(self.path) else "w+b") as file:
            file.write(int(seconds).to_bytes(8, "little", signed=True))

    def environment(self):
        return {"LD_PRELOAD": self.library, "TEST_CLOCK": self.path}

"""A real server under a load that checks every reply: for attaching to it and leaving it again.

Each client has its own connection and keys, so it knows what every answer must be.
"""
import os
import shutil
import socket
import subprocess
import threading
import time


def memcached_set(key, value):
    return b"set %s 0 0 %d\r\n%s\r\n" % (key, len(value), value), b"STORED\r\n"


def memcached_get(key, value):
    return b"get %s\r\n" % key, b"VALUE %s 0 %d\r\n%s\r\nEND\r\n" % (key, len(value), value)


def redis_set(key, value):
    return b"*3\r\n$3\r\nSET\r\n$%d\r\n%s\r\n$%d\r\n%s\r\n" % (len(key), key, len(value), value), b"+OK\r\n"


def redis_get(key, value):
    return b"*2\r\n$3\r\nGET\r\n$%d\r\n%s\r\n" % (len(key), key), b"$%d\r\n%s\r\n" % (len(value), value)


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Server:
    """memcached with four worker threads, or redis-server with its one and three in the background."""
    COMMANDS = {
        "memcached": lambda port: ["-l", "127.0.0.1", "-p", str(port), "-U", "0", "-t", "4"]
        + (["-u", "root"] if os.geteuid() == 0 else []),
        "redis-server": lambda port: ["--bind", "127.0.0.1", "--port", str(port), "--save", ""],
    }
    CALLS = {"memcached": (memcached_set, memcached_get), "redis-server": (redis_set, redis_get)}

    @staticmethod
    def installed(name):
        return shutil.which(name) is not None

    def __init__(self, name, folder, words=(), command=None, calls=None):
        self.port = free_port()
        self.calls = calls or self.CALLS[name]
        # pylint: disable=consider-using-with
        self.process = subprocess.Popen([name] + (command or self.COMMANDS[name])(self.port) + list(words), cwd=folder,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=5).close()
                break
            except ConnectionRefusedError:
                if self.process.poll() is not None:
                    raise RuntimeError(name + " did not start") from None

    def alive(self):
        return self.process.poll() is None

    def stop(self):
        self.process.terminate()
        return self.process.wait(timeout=30)


class Load:
    """Clients until stop(); wrong, missing or late (10 s) replies are failures."""

    def __init__(self, server, clients=8):
        self.server, self.stopping = server, threading.Event()
        self.requests, self.failures, self.longest = [0] * clients, [], [0.0] * clients
        self.threads = [threading.Thread(target=self.client, args=(i,)) for i in range(clients)]
        for thread in self.threads:
            thread.start()

    def client(self, number):
        try:
            with socket.create_connection(("127.0.0.1", self.server.port), timeout=10) as connection:
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self.talk(connection, number)
        except OSError as error:
            self.failures.append(f"client {number}: {error}")

    def talk(self, connection, number):
        count = 0
        while not self.stopping.is_set():
            count += 1
            key, value = b"k%d-%d" % (number, count % 64), b"%d" % count * (1 + count % 50)
            for call in self.server.calls:
                question, wanted = call(key, value)
                start = time.monotonic()
                connection.sendall(question)
                answer = b""
                while len(answer) < len(wanted):
                    more = connection.recv(65536)
                    if not more:
                        self.failures.append(f"client {number}: the connection ended")
                        return
                    answer += more
                if answer != wanted:
                    self.failures.append(f"client {number}: {answer[:60]} instead of {wanted[:60]}")
                self.longest[number] = max(self.longest[number], time.monotonic() - start)
                self.requests[number] += 1

    def stop(self):
        self.stopping.set()
        for thread in self.threads:
            thread.join()
        return sum(self.requests)

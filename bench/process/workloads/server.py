#!/usr/bin/python3
"""A server that forks for every request, and three clients at once, over the loopback."""
import os
import socket
import sys
import tempfile

REQUESTS = 5


def serve(listener, log):
    for _ in range(3 * REQUESTS):
        connection, _ = listener.accept()
        if os.fork() == 0:
            line = connection.makefile("r").readline().strip()
            with open(log, "a", encoding="utf-8") as file:
                file.write(line + "\n")
            connection.sendall(f"hello {line}\n".encode())
            connection.close()
            os._exit(0)
        connection.close()
    for _ in range(3 * REQUESTS):
        os.wait()
    os._exit(0)


def ask(port, name):
    for number in range(REQUESTS):
        with socket.create_connection(("127.0.0.1", port)) as connection:
            connection.sendall(f"{name} {number}\n".encode())
            connection.makefile("r").readline()
    os._exit(0)


log = os.path.join(tempfile.mkdtemp(), "log")
listener = socket.create_server(("127.0.0.1", 0))
if os.fork() == 0:
    serve(listener, log)
for client in ("one", "two", "three"):
    if os.fork() == 0:
        ask(listener.getsockname()[1], client)
for _ in range(4):
    os.wait()
with open(log, encoding="utf-8") as file:
    lines = file.read().splitlines()
print(len(lines), "requests, the first from", lines[0])
sys.exit(0 if len(lines) == 3 * REQUESTS else 1)

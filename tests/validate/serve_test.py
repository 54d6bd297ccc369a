#!/usr/bin/python3
"""A server under load while validators come and go: every request is answered, and rightly. The long form: bench/validate/servers.

usage: serve_test.py DEADHEAT DEADHEAT_CC PROGRAMS
"""
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import unittest

from bench import Validation, candidate, lines_of

CLIENTS, ATTACHMENTS, SEED = 4, 12, 1


class Client(threading.Thread):
    """Requests with numbers of its own until it is told to stop; what was answered wrongly is kept."""

    def __init__(self, path, number):
        super().__init__()
        self.path, self.number, self.stop = path, number, threading.Event()
        self.asked = self.sum = 0
        self.failures = []

    def run(self):
        try:
            while not self.stop.is_set():
                with socket.socket(socket.AF_UNIX) as connection:
                    connection.settimeout(60)
                    connection.connect(self.path)
                    with connection.makefile("rwb") as file:
                        for _ in range(50):
                            self.ask(file)
        except OSError as error:
            self.failures.append(str(error))

    def ask(self, file):
        number = SEED + self.number + CLIENTS * self.asked
        file.write(b"%d\n" % number)
        file.flush()
        answer = file.readline()
        if answer != b"%d\n" % number:
            self.failures.append(f"{number}: {answer}")
        self.asked += 1
        self.sum += number


class Serving(Validation):
    def test_no_request_fails(self):
        path = self.source("requests.c")
        pairs = [candidate(path, ("take", lines_of(path, pattern)[0], "write"), ("take", lines_of(path, pattern)[0], "read"))
                 for pattern in (r"served = served", r"sum = sum")]
        self.write_candidates(*pairs)
        self.build("requests.c")
        for number, pair in enumerate(pairs):
            self.write_candidates(pair, name=f"{number}.json")
        place = self.path("socket")
        server = subprocess.Popen([self.path("program"), place], stdout=subprocess.PIPE, text=True)
        self.addCleanup(server.stdout.close)
        self.addCleanup(server.wait)
        self.addCleanup(server.kill)
        self.assertEqual(server.stdout.readline(), "ready\n")
        clients = [Client(place, number) for number in range(CLIENTS)]
        for client in clients:
            client.start()
        states = set()
        try:
            for turn in range(ATTACHMENTS):
                before = [client.asked for client in clients]
                done = self.run_in(self.deadheat, "validate", self.path(f"{turn % 2}.json"), "--findings", self.path("out.json"),
                                   "--attach", str(server.pid), "--runs", "2", "--time", "20", "--tau-most", "1", "--budget", "0")
                self.assertIn(done.returncode, (0, 66), done.stderr)
                self.assertIsNone(server.poll())
                with open(self.path("out.json"), encoding="utf-8") as file:
                    states.add((turn % 2, self.state(json.load(file)["findings"][0])))
                self.assertTrue(any(client.asked > was for client, was in zip(clients, before)), "it went on serving")
        finally:
            for client in clients:
                client.stop.set()
            for client in clients:
                client.join()
        self.assertEqual([client.failures for client in clients], [[]] * CLIENTS)
        self.assertIn((0, "true_race"), states)
        self.assertNotIn((1, "true_race"), states)
        server.send_signal(signal.SIGTERM)
        self.assertEqual(int(server.stdout.readline()), sum(client.sum for client in clients))


if __name__ == "__main__":
    Validation.deadheat, Validation.compiler, Validation.programs = sys.argv[1:4]
    if shutil.which("clang-19") is None:
        print("validate: skipped: no clang-19 (install the package of that name)")
        sys.exit(77)
    assert os.path.isabs(Validation.programs), Validation.programs
    unittest.main(argv=sys.argv[:1] + sys.argv[4:])

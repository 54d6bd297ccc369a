#!/usr/bin/python3
"""End to end: a hive, three agents, two instrumented programs; candidates reach verdicts while the programs run, and people see it. Then a hive
that is hostile to its agents.

usage: fleet_test.py DEADHEAT DEADHEAT_CC PROGRAMS PAGE

PAGE: the folder with the packages of page_test.py; without them nobody looks at the page.
"""
import http.server
import json
import os
import pathlib
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
import unittest

import page_test
from contract import CONTRACT
from hives import Hive

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../validate"))
from bench import Validation, candidate, lines_of  # pylint: disable=wrong-import-position


class Sites(Hive, Validation):
    """User sites: copies of a program, and agents."""

    def setUp(self):
        Hive.setUp(self)
        self.make_program(self.source("server.c"), "plain", "locked", "program", "candidates.json")

    def make_program(self, path, raced, kept, output, candidates):
        """Candidates for a counter that races and one that does not, and the program that is built for them."""
        raced, kept = (lines_of(path, rf"{name} = {name} \+ 1")[0] for name in (raced, kept))
        self.write_candidates(candidate(path, ("serve", raced, "write"), ("serve", raced, "read")),
                              candidate(path, ("serve", kept, "write"), ("serve", kept, "read")), name=candidates)
        self.build(path, output=output, candidates=candidates)

    def install(self, name, program="program"):
        """A user site: a copy of the program, and a folder for its agent."""
        shutil.copy(self.path(program), self.path(name))
        os.makedirs(self.path(name + ".agent"), exist_ok=True)

    def read(self, name):
        with open(self.path(name), encoding="utf-8") as file:
            return file.read()

    def start_server(self, name, agent=""):
        socket = os.path.join(self.folder, (agent or name) + ".agent", "page.socket")
        server = subprocess.Popen([self.path(name), "4"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                  env=self.environment(DEADHEAT_OPTIONS="validate_socket=" + socket))
        for end in (server.stdout.close, server.stdin.close, server.wait, server.kill):
            self.addCleanup(end)
        return server, int(server.stdout.readline())

    def start_agent(self, name, token, *options):
        with open(self.path(name + ".token"), "w", encoding="utf-8") as file:
            file.write(token)
        log = open(self.path(name + ".log"), "w", encoding="utf-8")  # pylint: disable=consider-using-with
        self.addCleanup(log.close)
        # A busy machine may keep the other thread away for long: no budget, so that steering is never left out.
        agent = subprocess.Popen([self.deadheat, "agent", "run", "--hive", self.url, "--token-file", self.path(name + ".token"),
                                  "--program", self.path(name), "--folder", self.path(name + ".agent"), "--budget", "0",
                                  "--standstill", "0", *(options or ("--ca", self.path("ca.pem")))],
                                 stdout=subprocess.DEVNULL, stderr=log, env=self.environment())
        self.addCleanup(agent.wait)
        self.addCleanup(agent.kill)
        return agent

    def stop_server(self, server):
        server.stdin.write("\n")
        server.stdin.flush()
        self.assertEqual(server.stdout.readline(), "right\n")
        self.assertEqual(server.wait(timeout=60), 0)


class Fleet(Sites):
    page = None

    def setUp(self):
        super().setUp()
        self.serve(*self.make_certificate())
        self.command("push", self.path("candidates.json"))

    def race(self, number):
        return self.ask("GET", f"/api/v1/findings/{number}")["race"]

    def leases(self, number):
        with sqlite3.connect(self.database) as database:
            return database.execute("SELECT count(*) FROM jobs WHERE number=? AND state='leased'", (number,)).fetchone()[0]

    def add_the_other_program(self):
        """The same by other names, so that it is another program with other sites."""
        with open(self.source("server.c"), encoding="utf-8") as one, open(self.path("other.c"), "w", encoding="utf-8") as two:
            two.write(one.read().replace("plain", "loose").replace("locked", "guarded"))
        self.make_program(self.path("other.c"), "loose", "guarded", "other", "others.json")
        self.command("push", self.path("others.json"))

    def see_on_the_page(self, *numbers):
        """As somebody who signs in with a browser sees them."""
        try:
            page_test.fetch(pathlib.Path(self.page))
        except SystemExit:
            return  # said why
        program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "seen_test.mjs")
        done = subprocess.run(["node", program, self.url, self.token("developer"), self.page, shutil.which("chromium"), *map(str, numbers)],
                              capture_output=True, text=True, timeout=280, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_candidates_reach_verdicts_while_programs_run(self):
        plain, locked, loose, guarded = 1, 2, 3, 4  # in the order of the files
        self.add_the_other_program()
        agents, servers = {}, []
        for name, words, options in (("one", (), ()), ("two", (), ()), ("ci", ("--trusted",), ("--program", self.path("ci.other")))):
            self.install(name)
            if name == "ci":  # has both programs
                self.install("ci.other", "other")
            if name == "two":
                servers.append(self.start_server(name)[0])  # before its agent: it is found among the processes
            agents[name] = self.start_agent(name, self.token("agent", *words), *options, *(("--ca", self.path("ca.pem")) if options else ()))
        self.until(lambda: all(os.path.exists(self.path(f"{name}.agent/page.socket")) for name in agents), "listening")
        servers += [self.start_server("one")[0], self.start_server("ci")[0], self.start_server("ci.other", "ci")[0]]
        for number in (plain, loose):
            self.until(lambda: self.race(number)["basis"] in ("observed", "made_to_happen"), "proved")  # pylint: disable=cell-var-from-loop
        self.until(lambda: any(one["spent_ppm"] > 0 for one in self.ask("GET", "/api/v1/fleet")["instances"]), "accounted for its time")
        for number in (plain, loose):
            self.until(lambda: self.leases(number) == 0, "its validation stopped everywhere")  # pylint: disable=cell-var-from-loop
        self.until(lambda: self.race(locked)["verdict"] == "likely_false_positive" or self.ask("GET", "/api/v1/status")["evidence"] > 12,
                   "said about the other")
        self.see_on_the_page(plain, loose)
        for number in (locked, guarded):
            self.assertNotEqual(self.race(number)["verdict"], "true_race")
        self.assertEqual(len(self.ask("GET", "/api/v1/fleet")["instances"]), 4, "three agents, one of them with two programs")
        sent = subprocess.run([self.deadheat, "agent", "log", "--folder", self.path("one.agent")], capture_output=True, text=True,
                              env=self.environment(), check=True).stdout
        self.assertIn("/api/v1/results", sent)
        for line in sent.splitlines():
            _, path, message = line.split(" ", 2)
            CONTRACT.check_message(path, message)
        self.assertNotIn("0x", sent, "no address leaves the machine")
        self.assertNotIn(os.uname().nodename, sent)
        for name, agent in agents.items():
            agent.terminate()
            self.assertEqual(agent.wait(timeout=60), 0, name)
        for server in servers:
            self.stop_server(server)

    def test_a_crash_after_the_race_is_its_consequence(self):
        """Two executions that raced and died of SIGSEGV; a third that was asked to end says nothing."""
        names = {"one": signal.SIGSEGV, "two": signal.SIGSEGV, "three": signal.SIGTERM}
        for name, ends in names.items():
            self.install(name)
            server, pid = self.start_server(name)
            agent = self.start_agent(name, self.token("agent"))
            credential = self.read(name + ".token").split(":")[1]
            self.until(lambda: self.said(credential, "outcome='race'"), "raced")  # pylint: disable=cell-var-from-loop
            os.kill(pid, ends)
            server.wait(timeout=60)
            if ends == signal.SIGSEGV:
                if tuple(int(part) for part in os.uname().release.split("-")[0].split(".")[:2]) < (6, 15):
                    self.skipTest("Linux before 6.15 does not tell how a process of others ended")
                self.until(lambda: self.said(credential, "consequence='crash'"), "told")  # pylint: disable=cell-var-from-loop
            else:
                self.until(lambda: "page.socket" in self.read(name + ".log"), "alive")  # pylint: disable=cell-var-from-loop
            agent.terminate()
            self.assertEqual(agent.wait(timeout=60), 0)
            self.assertEqual(bool(self.said(credential, "consequence<>'none'")), ends == signal.SIGSEGV)
        self.assertEqual(self.race(1)["consequence"], "crash")
        self.assertEqual(self.race(2)["consequence"], "none")

    def said(self, credential, which):
        with sqlite3.connect(self.database, timeout=30) as database:
            return database.execute(f"SELECT count(*) FROM evidence WHERE credential=? AND {which}", (credential,)).fetchone()[0]

    def test_two_agents_do_not_meet_in_one_program(self):
        self.install("one")
        server, _ = self.start_server("one")
        first = self.start_agent("one", self.token("agent"))
        evidence = lambda: self.ask("GET", "/api/v1/status")["evidence"]  # pylint: disable=unnecessary-lambda-assignment
        self.until(evidence, "said something")
        same = subprocess.run([self.deadheat, "agent", "run", "--hive", self.url, "--token-file", self.path("one.token"), "--program",
                               self.path("one"), "--folder", self.path("one.agent")], capture_output=True, text=True, timeout=60,
                              env=self.environment(), check=False)
        self.assertEqual(same.returncode, 77)
        self.assertIn("another agent has the folder", same.stderr)
        # With a folder of its own it waits, and takes over when the first is gone.
        shutil.copy(self.path("one.token"), self.path("two.token"))
        os.mkdir(self.path("two.agent"))
        os.symlink(self.path("one"), self.path("two"))
        second = self.start_agent("two", self.token("agent"))
        self.until(lambda: "another agent validates" in self.read("two.log"), "noticed")
        first.kill()
        first.wait()
        before = evidence()
        self.until(lambda: evidence() > before, "took over")
        second.terminate()
        self.assertEqual(second.wait(timeout=60), 0)
        self.stop_server(server)

    def test_off_stops_at_once_and_results_wait_for_the_hive(self):
        self.install("one")
        server, _ = self.start_server("one")
        self.hive.kill()
        self.hive.wait()
        agent = self.start_agent("one", self.token("agent"))
        self.until(lambda: "trying again" in self.read("one.log"), "without a hive")
        self.assertIsNone(agent.poll())
        agent.terminate()
        self.assertEqual(agent.wait(timeout=60), 0)
        self.serve(*self.make_certificate())
        self.make_certificate("else", authority="stranger")
        stranger = self.start_agent("one", self.token("agent"), "--ca", self.path("stranger.pem"))
        self.until(lambda: "no secure connection" in self.read("one.log"), "refused a certificate that nobody vouches for")
        stranger.terminate()
        stranger.wait(timeout=60)
        self.assertEqual(self.ask("GET", "/api/v1/fleet")["instances"], [])
        subprocess.run([self.deadheat, "agent", "off", "--folder", self.path("one.agent")], env=self.environment(), check=True)
        agent = self.start_agent("one", self.token("agent"))
        self.until(lambda: "off:" in self.read("one.log"), "off")
        self.assertEqual(self.ask("GET", "/api/v1/fleet")["instances"], [])
        subprocess.run([self.deadheat, "agent", "on", "--folder", self.path("one.agent")], env=self.environment(), check=True)
        self.until(lambda: self.ask("GET", "/api/v1/status")["evidence"] > 0, "on again")
        self.stop_server(server)


class Tyrant(http.server.BaseHTTPRequestHandler):
    """A hive that answers what the test wishes, and remembers what was asked."""
    protocol_version = "HTTP/1.1"
    answer, got = None, []

    def do_POST(self):  # pylint: disable=invalid-name
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        type(self).got.append((self.path, body, time.monotonic()))
        status, text = type(self).answer(self.path, body)
        text = text if isinstance(text, bytes) else json.dumps(text).encode()
        self.send_response(status)
        if status == 302:
            self.send_header("Location", "/elsewhere")
        self.send_header("Content-Length", str(len(text)))
        self.send_header("Connection", "close")
        self.end_headers()
        try:
            self.wfile.write(text)
        except OSError:  # the agent does not read everything
            pass
        self.close_connection = True

    do_GET = do_POST

    def log_message(self, *words):  # pylint: disable=arguments-differ
        pass


def kept(body):
    return {"accepted": len(body["results"]), "repeated": 0, "refused": []}


class HostileHive(Sites):
    def setUp(self):
        super().setUp()
        Tyrant.got = []
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Tyrant)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        self.url = f"http://127.0.0.1:{server.server_port}"
        with open(self.path("candidates.json"), encoding="utf-8") as file:
            self.candidates = json.load(file)
        self.given = 0

    def log(self):
        return self.read("one.log")

    def job(self, at, **more):
        self.given += 1
        finding = self.candidates["findings"][at]
        return {"id": f"j{self.given}", "number": at + 1, "candidate": {**self.candidates, "findings": [finding]}, "order": "primary", "tau_us": 1000,
                "lease_s": 600, "promoted": False, "last_tau": False, **more}

    @staticmethod
    def asked(instance=None):
        return [body for path, body, _ in list(Tyrant.got) if path == "/api/v1/jobs" and instance in (None, body["instance"])]

    @staticmethod
    def results():
        return [result for path, body, _ in list(Tyrant.got) if path == "/api/v1/results" for result in body["results"]]

    def test_a_wish_to_be_asked_rarely_is_about_one_program(self):
        """Neither the other program's answer nor a job that ended makes the agent ask earlier."""
        first = []

        def answer(path, body):
            if path == "/api/v1/results":
                return 200, kept(body)
            if not first:
                first.append(body["instance"])
            if body["instance"] == first[0]:
                return 200, {"jobs": [], "drop": [], "again_s": 3600}
            return 200, {"jobs": [] if body["holding"] else [self.job(1)], "drop": [], "again_s": 0}
        Tyrant.answer = answer
        self.install("one")
        self.make_program(self.source("server.c"), "locked", "locked", "second", "second.json")
        self.candidates["findings"][1] = json.loads(self.read("second.json"))["findings"][0]
        self.install("one.second", "second")
        servers = [self.start_server("one")[0], self.start_server("one.second", "one")[0]]
        agent = self.start_agent("one", "shop:a:b", "--program", self.path("one.second"))
        self.until(lambda: len(self.asked()) >= 8 and len(self.results()) >= 4, "asked for the other one")
        self.assertEqual(len(self.asked(first[0])), 1)
        agent.terminate()
        self.assertEqual(agent.wait(timeout=60), 0)
        for server in servers:
            self.stop_server(server)

    def test_nonsense_and_wishes_beyond_the_users_limits(self):
        stranger = json.loads(json.dumps(self.candidates["findings"][0]))
        stranger["roles"][0]["site"]["line"] = 999
        good = {"jobs": [], "drop": []}
        nonsense = [(200, b""), (200, b"<html>sign in to this network</html>"), (200, b"[" * 100000), (200, b"\xff\xfe\x00"), (200, b"x" * (2 << 20)),
                    (200, {"jobs": [{"id": "x" * 100000, "candidate": {}}]}), (200, {"jobs": 7}), (200, {"drop": [[[]]]}),
                    (302, b""), (500, b"\x1b[2J"), (200, {"jobs": [self.job(0, order="sideways")]}), (200, {"jobs": [self.job(0) for _ in range(17)]})]
        wishes = [{"jobs": [self.job(0, tau_us=4294967295, last_tau=True)], "drop": ["nobody", "x" * 200]},
                  {"jobs": [self.job(1)] + [self.job(0) for _ in range(15)], "drop": []},
                  {"jobs": [self.job(0, candidate={**self.candidates, "findings": [stranger]})], "drop": []}]
        script = [one for bad in nonsense for one in (bad, (200, good))] + [(200, wish) for wish in wishes]

        def answer(path, body):
            if path == "/api/v1/results":
                return 200, kept(body)
            return script.pop(0) if script and not body["holding"] else (200, {**good, "again_s": 0})
        Tyrant.answer = answer
        self.install("one")
        server, _ = self.start_server("one")
        agent = self.start_agent("one", "shop:a:b", "--tau-most", "2", "--dwell", "5", "--program", self.path("one"))
        self.until(lambda: not script and len(self.results()) >= 3, "went through all of it")
        self.assertIsNone(agent.poll())
        # After nonsense it waits, as after silence: half a second at least.
        times = [at for path, _, at in Tyrant.got if path == "/api/v1/jobs"][:2 * len(nonsense)]
        self.assertGreater(min(second - first for first, second in zip(times[::2], times[1::2])), 0.4)
        self.assertEqual({path for path, _, _ in Tyrant.got}, {"/api/v1/jobs", "/api/v1/results"}, "a redirect is not followed")
        self.assertLessEqual(max(result["tau_us"] for result in self.results()), 2000, "the user's limit")
        self.assertTrue(all(not result["maximum_timeout"] for result in self.results()))
        self.assertEqual([result["outcome"] for result in self.results() if result["job"] == wishes[2]["jobs"][0]["id"]], ["not_seen"])
        self.assertEqual({len(body["holding"]) for body in self.asked()} - {0, 1}, set(), "one job at a time, whatever it gives")
        self.assertNotIn("\x1b", self.log())
        agent.terminate()
        self.assertEqual(agent.wait(timeout=60), 0)
        self.stop_server(server)


if __name__ == "__main__":
    Sites.deadheat, Sites.compiler, Sites.programs, Fleet.page = sys.argv[1:5]
    del sys.argv[1:5]
    unittest.main()

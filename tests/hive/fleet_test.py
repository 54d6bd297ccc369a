#!/usr/bin/python3
"""End to end: a hive, three agents, three copies of an instrumented server; candidates reach verdicts while the servers run.

usage: fleet_test.py DEADHEAT DEADHEAT_CC PROGRAMS
"""
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import unittest

from hives import Hive

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../validate"))
from bench import Validation, candidate, lines_of  # pylint: disable=wrong-import-position


class Fleet(Hive, Validation):
    def setUp(self):
        Hive.setUp(self)
        path = self.source("server.c")
        plain, locked = lines_of(path, r"plain = plain \+ 1")[0], lines_of(path, r"locked = locked \+ 1")[0]
        self.write_candidates(candidate(path, ("serve", plain, "write"), ("serve", plain, "read")),
                              candidate(path, ("serve", locked, "write"), ("serve", locked, "read")))
        self.build("server.c")
        self.serve(*self.make_certificate())
        self.command("push", self.path("candidates.json"))

    def install(self, name):
        """A user site: a copy of the program, and a folder for its agent."""
        shutil.copy(self.path("program"), self.path(name))
        os.mkdir(self.path(name + ".agent"))

    def read(self, name):
        with open(self.path(name), encoding="utf-8") as file:
            return file.read()

    def start_server(self, name):
        socket = os.path.join(self.folder, name + ".agent", "page.socket")
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

    def race(self, number):
        return self.ask("GET", f"/api/v1/findings/{number}")["race"]

    def leases(self, number):
        with sqlite3.connect(self.database) as database:
            return database.execute("SELECT count(*) FROM jobs WHERE number=? AND state='leased'", (number,)).fetchone()[0]

    def test_candidates_reach_verdicts_while_programs_run(self):
        plain, locked = 1, 2  # in the order of the file
        agents = {}
        servers = []
        for name, options in (("one", ()), ("two", ()), ("ci", ("--trusted",))):
            self.install(name)
            if name == "two":
                servers.append(self.start_server(name)[0])  # before its agent: it is found among the processes
            agents[name] = self.start_agent(name, self.token("agent", *options))
        self.until(lambda: all(os.path.exists(self.path(f"{name}.agent/page.socket")) for name in agents), "listening")
        servers += [self.start_server(name)[0] for name in ("one", "ci")]
        self.until(lambda: self.race(plain)["basis"] in ("observed", "made_to_happen"), "proved")
        self.until(lambda: any(one["spent_ppm"] > 0 for one in self.ask("GET", "/api/v1/fleet")["instances"]), "accounted for its time")
        self.until(lambda: self.leases(plain) == 0, "its validation stopped everywhere")
        self.assertNotEqual(self.race(locked)["verdict"], "true_race")
        self.until(lambda: self.race(locked)["verdict"] == "likely_false_positive" or self.ask("GET", "/api/v1/status")["evidence"] > 12,
                   "said about the other")
        self.assertNotEqual(self.race(locked)["verdict"], "true_race")
        self.assertEqual(len(self.ask("GET", "/api/v1/fleet")["instances"]), 3)
        sent = subprocess.run([self.deadheat, "agent", "log", "--folder", self.path("one.agent")], capture_output=True, text=True,
                              env=self.environment(), check=True).stdout
        self.assertIn("/api/v1/results", sent)
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


if __name__ == "__main__":
    Fleet.deadheat, Fleet.compiler, Fleet.programs = sys.argv[1:4]
    del sys.argv[1:4]
    unittest.main()

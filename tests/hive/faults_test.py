#!/usr/bin/python3
"""Random fault schedules against hives, compared with a model that saw every acknowledgement.

usage: faults_test.py DEADHEAT [--seeds 3] [--first 1] [--postgres EVERY]

A schedule is its seed: agents ask and answer through a proxy that cuts, delays, duplicates and reorders; meanwhile hives are killed with
kill -9, PostgreSQL too, agents forget all but their spool, the clock steps by up to a month, the disk is full for a while. Then everything heals,
agents send what was not acknowledged, and what the hive holds must be what the model says: nothing acknowledged lost, nothing twice,
no job given to two, verdicts as the evidence says. One schedule in EVERY runs two hives over one PostgreSQL, the others one over SQLite.
"""
import argparse
import json
import os
import random
import resource
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time

import hives
import postgres
from faults import Clock, Proxy
from hives import finding, findings

RACES, AGENTS, ACKNOWLEDGED = 12, 5, 60


class Wrong(Exception):
    pass


class Agent(threading.Thread):
    """Says Race of every fourth race sometimes. What it has not heard of is sent again, also after it was killed."""

    def __init__(self, port, token, seed):
        super().__init__(daemon=True)
        self.port, self.token, self.random = port, token, random.Random(seed)
        self.credential, self.instance = token.split(":")[1], f"i{seed}"
        self.spool, self.sent, self.acknowledged, self.jobs = {}, {}, {}, {}
        self.holding, self.problems, self.over, self.killed = [], [], False, False

    def post(self, path, body):
        status, text = hives.post(f"127.0.0.1:{self.port}", self.token, path, body)
        try:
            if status == 200:
                return json.loads(text)
        except ValueError:  # the proxy cut it
            return None
        if status not in (None, 429, 503):
            self.problems.append((status, text))
        return None

    def send(self):
        batch = [self.spool[one] for one in self.random.sample(sorted(self.spool), min(len(self.spool), self.random.randrange(1, 6)))]
        answer = self.post("/api/v1/results", {"instance": self.instance, "results": batch})
        if not answer:
            return
        if answer["refused"] or answer["accepted"] + answer["repeated"] != len(batch):
            self.problems.append(answer)
        for result in batch:
            self.acknowledged[result["id"]] = result
            self.spool.pop(result["id"], None)

    def ask(self):
        answer = self.post("/api/v1/jobs", {"instance": self.instance, "holding": self.holding, "room": 2})
        if not answer:
            return
        self.holding = [one for one in self.holding if one not in answer["drop"]]
        for job in answer["jobs"]:
            self.jobs[job["id"]] = job
            self.holding.append(job["id"])

    def answer(self):
        job = self.jobs[self.holding.pop(self.random.randrange(len(self.holding)))]
        races = job["number"] % 4 == 0 and self.random.random() < 0.3
        outcome = "race" if races else self.random.choice(["no_race", "not_seen", "timeout"])
        result = {"id": f"{self.instance}.{len(self.sent)}", "job": job["id"], "number": job["number"], "outcome": outcome,
                  "proof": "co_enabled" if races else "none", "ordered": "yes" if outcome == "no_race" else "unknown", "order": job["order"], "execution": str(len(self.sent) % 5)}
        self.sent[result["id"]] = self.spool[result["id"]] = result

    def run(self):
        while not self.over and not self.problems:
            if self.killed:
                self.holding, self.killed = [], False
            if self.holding and self.random.random() < 0.7:
                self.answer()
            elif self.spool and self.random.random() < 0.6:
                self.send()
            else:
                self.ask()

    def flush(self):
        end = time.monotonic() + 60
        while self.spool and not self.problems and time.monotonic() < end:
            self.send()
        if self.spool:
            self.problems.append("could not send all")


class Schedule:
    def __init__(self, deadheat, seed, server, clock):
        self.deadheat, self.seed, self.server, self.clock = deadheat, seed, server, clock
        self.random = random.Random(seed)
        self.folder = tempfile.mkdtemp(prefix="hive_faults.")
        self.hives, self.log = {}, []
        if server:
            server.ask(f"CREATE DATABASE s{seed}")
            self.database = server.url.replace("/postgres?", f"/s{seed}?")
        else:
            self.database = os.path.join(self.folder, "hive.db")

    def command(self, *words):
        return subprocess.run([self.deadheat, "hive", words[0], "--database", self.database, *words[1:]], capture_output=True, text=True,
                              timeout=120, check=True).stdout.strip()

    def start(self, name, port=0):
        with open(os.path.join(self.folder, "log"), "a", encoding="utf-8") as log:
            # Python ignores SIGXFSZ and the hive inherits that: a file that may not grow is a disk that is full.
            hive = subprocess.Popen([self.deadheat, "hive", "serve", "--database", self.database, "--listen", f"127.0.0.1:{port}"],
                                    stdout=subprocess.PIPE, stderr=log, text=True, restore_signals=False,
                                    env={**os.environ, **self.clock.environment()})
        url = hive.stdout.readline().strip()
        hive.stdout.close()
        if not url.startswith("http"):
            hive.kill()
            hive.wait()
            raise Wrong("a hive did not start")
        self.hives[name] = (hive, int(url.rsplit(":", 1)[1]))

    def stop(self, name):
        hive, port = self.hives[name]
        hive.kill()
        hive.wait()
        return port

    def restart(self, name):
        """Its database may be away: tried until it is back."""
        port, end = self.stop(name), time.monotonic() + 60
        while True:
            try:
                return self.start(name, port)
            except Wrong:
                if time.monotonic() > end:
                    raise

    def fault(self, agents):
        kinds = ["hive", "agent", "clock", "cut off"] + (["database"] if self.server else ["disk"])
        kind = self.random.choice(kinds)
        self.log.append(kind)
        name = self.random.choice(sorted(self.hives))
        if kind == "hive":
            self.restart(name)
        elif kind == "agent":
            self.random.choice(agents).killed = True
        elif kind == "clock":
            self.clock.step(self.random.choice([-86400, -3600, -5, 5, 700, 3600, 30 * 86400]))
        elif kind == "cut off":
            port = self.stop(name)
            self.some_answers(agents, 0, 0.2)
            self.start(name, port)
        elif kind == "database":
            self.server.kill()
            self.server.start()
        elif kind == "disk":
            process = self.hives[name][0].pid
            resource.prlimit(process, resource.RLIMIT_FSIZE, (self.random.choice([4096, 65536]), resource.RLIM_INFINITY))
            self.some_answers(agents, 5, 0.5)
            resource.prlimit(process, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))

    @staticmethod
    def some_answers(agents, more, seconds):
        """Until so many more are acknowledged, or for so long: a fault may last without any."""
        count = lambda: sum(len(agent.acknowledged) for agent in agents)  # pylint: disable=unnecessary-lambda-assignment
        goal, end = count() + more, time.monotonic() + seconds
        while (count() < goal or not more) and time.monotonic() < end and not any(agent.problems for agent in agents):
            time.sleep(0.01)
        return count() >= goal

    def run(self):
        self.command("init", "--program", "shop")
        developer = self.command("token", "--program", "shop", "--role", "developer")
        tokens = [self.command("token", "--program", "shop", "--role", "agent") for _ in range(AGENTS)]
        for name in "ab" if self.server else "a":
            self.start(name)
        proxy = Proxy([port for _, port in self.hives.values()], self.seed)
        agents = [Agent(proxy.port, token, self.seed * 100 + i) for i, token in enumerate(tokens)]
        first = Agent(next(iter(self.hives.values()))[1], developer, 0)
        if not first.post("/api/v1/findings", findings(*[finding(5 + i) for i in range(RACES)])):
            raise Wrong(f"findings were not taken: {first.problems}")
        try:
            for agent in agents:
                agent.start()
            for _ in range(self.random.randrange(3, 6)):
                if not self.some_answers(agents, ACKNOWLEDGED // 4, 60):
                    raise Wrong(f"no progress after {self.log}: {[agent.problems for agent in agents]}")
                self.fault(agents)
            if not self.some_answers(agents, ACKNOWLEDGED // 4, 60):
                raise Wrong(f"no progress at the end, after {self.log}: {[agent.problems for agent in agents]}")
            self.clock.step(0)
            with proxy.lock:
                proxy.faulty = False
            for agent in agents:
                agent.over = True
            for agent in agents:
                agent.join(timeout=60)
                agent.flush()
                if agent.is_alive() or agent.problems:
                    raise Wrong(f"an agent: {agent.problems}")
            self.check(agents)
            return sum(len(agent.acknowledged) for agent in agents), proxy.counts
        finally:
            for agent in agents:
                agent.over = True
            proxy.close()
            for name in list(self.hives):
                self.stop(name)
            shutil.rmtree(self.folder, ignore_errors=True)

    def rows(self, sql):
        if self.server:
            done = subprocess.run([os.path.join(self.server.bin, "psql"), "-X", "-A", "-t", "-d", self.database, "-c", sql], capture_output=True,
                                  text=True, timeout=60, check=True)
            return [tuple(line.split("|")) for line in done.stdout.splitlines()]
        with sqlite3.connect(self.database, timeout=60) as database:
            return [tuple(str(cell) for cell in row) for row in database.execute(sql)]

    def check(self, agents):
        """The hive's word against the model's."""
        for name in list(self.hives):  # what only a running hive remembers counts for nothing
            self.stop(name)
        held = {(credential, one): (number, outcome) for credential, one, number, outcome
                in self.rows("SELECT credential, id, number, outcome FROM evidence")}
        said = {(agent.credential, one): (str(result["number"]), result["outcome"]) for agent in agents for one, result in agent.acknowledged.items()}
        expect(held == said, "evidence differs from what was acknowledged", sorted(set(held.items()) ^ set(said.items()))[:5])
        holders = {}
        for agent in agents:
            for job in agent.jobs:
                expect(holders.setdefault(job, agent.instance) == agent.instance, "a job was given to two", job)
        for number in range(1, RACES + 1):
            mine = [(credential, outcome) for (credential, _), (race, outcome) in said.items() if race == str(number)]
            claims = {credential for credential, outcome in mine if outcome == "race"}
            weight = weight_against(agents, number)
            row = self.rows(f"SELECT verdict, claimed_by, answered_primary+answered_alternate, proved FROM races WHERE number={number}")[0]
            verdict = "true_race" if claims else "likely_false_positive" if weight >= 6 else "unknown"
            expect(row == (verdict, str(len(claims)), str(len(mine)), "0"), f"race {number}", row, verdict, len(claims), len(mine))
            tries = self.rows(f"SELECT coalesce(sum(tries_primary+tries_alternate),0) FROM tried WHERE number={number}")[0][0]
            expect(int(tries) == len(mine), "tries were counted twice or not at all", tries, len(mine))
            leased = self.rows(f"SELECT count(*) FROM jobs WHERE number={number} AND state='leased'")[0][0]
            kept = self.rows(f"SELECT holders FROM races WHERE number={number}")[0][0]
            expect(leased == kept, "holders", leased, kept)


def parked_while_the_clock_steps(deadheat, server, clock):
    """A question that waits for a job is answered in its time, also if the clock goes back by a month meanwhile."""
    schedule = Schedule(deadheat, 0, server, clock)
    answers = []
    try:
        schedule.command("init", "--program", "shop")
        token = schedule.command("token", "--program", "shop", "--role", "agent")
        schedule.start("a")
        place = f"127.0.0.1:{schedule.hives['a'][1]}"
        asks = threading.Thread(target=lambda: answers.append(hives.post(place, token, "/api/v1/jobs", {"instance": "i", "wait_s": 1})[0]), daemon=True)
        asks.start()
        end = time.monotonic() + 60
        while schedule.rows("SELECT count(*) FROM instances")[0][0] == "0" and time.monotonic() < end:
            time.sleep(0.01)
        clock.step(-30 * 86400)
        asks.join(timeout=60)
        expect(answers == [200], "a parked question was not answered", answers)
    finally:
        clock.step(0)
        schedule.stop("a")
        shutil.rmtree(schedule.folder, ignore_errors=True)


def slot(text):
    """Which of eight executions of its credential this is: FNV-1a, as crowd::execution_slot."""
    value = 0xcbf29ce484222325
    for byte in text.encode():
        value = (value ^ byte) * 0x100000001b3 % 2**64
    return value % 8


def weight_against(agents, number):
    """crowd::judge's: NoRace of a second access that came ordered; a credential's first execution counts 1, each further one half."""
    slots = [{slot(f"{agent.instance}/{result['execution']}") for result in agent.acknowledged.values()
              if result["number"] == number and result["outcome"] == "no_race"} for agent in agents]
    spoke = [len(one) for one in slots if one]
    return sum(1 + (count - 1) / 2 for count in spoke) if len(spoke) >= 3 else 0


def expect(holds, *what):
    if not holds:
        raise Wrong(*what)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("deadheat")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--postgres", type=int, default=0, metavar="EVERY")
    options = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="hive_clock.")
    clock, server, failed = Clock(folder), None, 0
    if options.postgres and not postgres.programs():
        print("skipped: no initdb (Debian package postgresql)")
        options.postgres = 0
    try:
        parked_while_the_clock_steps(options.deadheat, None, clock)
        for seed in range(options.first, options.first + options.seeds):
            on_postgres = options.postgres and seed % options.postgres == 0
            if on_postgres and not server:
                server = postgres.Postgres()
            clock.step(0)
            began = time.monotonic()
            schedule = Schedule(options.deadheat, seed, server if on_postgres else None, clock)
            try:
                acknowledged, counts = schedule.run()
                print(f"seed {seed}: right, {acknowledged} acknowledged, {', '.join(schedule.log)}; proxy {counts}; {time.monotonic() - began:.1f} s")
            except (Wrong, subprocess.SubprocessError, OSError) as problem:
                failed += 1
                print(f"seed {seed}: WRONG after {', '.join(schedule.log)}: {problem}; again: faults_test.py DEADHEAT --first {seed} --seeds 1"
                      f" --postgres {options.postgres}")
            sys.stdout.flush()
    finally:
        if server:
            server.close()
        shutil.rmtree(folder, ignore_errors=True)
    print(f"{options.seeds} schedules, {failed} wrong")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

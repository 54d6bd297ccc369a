#!/usr/bin/python3
"""The hive on PostgreSQL: the store's own tests, and two hives over one database behind HAProxy while things are killed.

usage: postgres_test.py DEADHEAT STORE_TEST

A model notes every acknowledgement; what the database holds afterwards must be just that: nothing lost, nothing twice.
"""
import json
import os
import random
import shutil
import socket
import subprocess
import sys
import threading
import unittest
import urllib.parse

import hives
import postgres
from hives import Hive, finding, findings


class Stores(unittest.TestCase):
    program = None

    def test_the_same_tests(self):
        server = postgres.Postgres()
        self.addCleanup(server.close)
        done = subprocess.run([self.program, "--gtest_brief=1", "--gtest_filter=StoreTest.*:Schema.*"], capture_output=True, text=True, timeout=250,
                              env={**os.environ, "DEADHEAT_TEST_POSTGRES": server.url}, check=False)
        self.assertEqual(done.returncode, 0, done.stdout[-3000:] + done.stderr[-2000:] + server.log()[-2000:])
        self.assertGreater(int(server.ask("SELECT count(*) FROM information_schema.schemata WHERE schema_name LIKE 't%'")[0][0]), 10)


class Cluster(Hive):
    def setUp(self):
        self.server = postgres.Postgres()
        self.addCleanup(self.server.close)
        super().setUp()
        self.hives = {}
        for name in "ab":
            self.start_hive(name)

    def database_name(self):
        return self.server.url

    def start_hive(self, name, port=0):
        log = open(self.path("hive.log"), "a", encoding="utf-8")  # pylint: disable=consider-using-with
        hive = subprocess.Popen([self.deadheat, "hive", "serve", "--database", self.server.url, "--listen", f"127.0.0.1:{port}"],
                                stdout=subprocess.PIPE, stderr=log, text=True, env=self.environment())
        log.close()
        for end in (hive.stdout.close, hive.wait, hive.kill):
            self.addCleanup(end)
        url = hive.stdout.readline().strip()
        self.assertTrue(url.startswith("http"), self.log())
        self.hives[name] = (hive, urllib.parse.urlparse(url).port)

    def balance(self):
        """HAProxy in front of both; it leaves out a hive that does not answer."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        servers = "".join(f"  server {name} 127.0.0.1:{at} check inter 100ms fall 1 rise 1\n" for name, (_, at) in self.hives.items())
        with open(self.path("haproxy.cfg"), "w", encoding="utf-8") as file:
            file.write("global\n  maxconn 500\ndefaults\n  mode http\n  timeout connect 5s\n  timeout client 60s\n  timeout server 60s\n"
                       "  option httpchk GET /healthz\n  option redispatch\n  retries 3\n"
                       f"frontend in\n  bind 127.0.0.1:{port}\n  default_backend hives\nbackend hives\n  balance roundrobin\n{servers}")
        balancer = subprocess.Popen([shutil.which("haproxy") or "/usr/sbin/haproxy", "-db", "-f", self.path("haproxy.cfg")],
                                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(balancer.wait)
        self.addCleanup(balancer.kill)
        self.url = f"http://127.0.0.1:{port}"
        self.until(self.healthy, "balanced")

    def healthy(self):
        try:
            return self.request("GET", "/healthz")[0] == 200
        except OSError:
            return False

    def test_nothing_acknowledged_is_lost_and_nothing_counts_twice(self):
        if not (shutil.which("haproxy") or os.path.exists("/usr/sbin/haproxy")):
            self.skipTest("no haproxy (Debian package haproxy)")
        self.balance()
        self.ask("POST", "/api/v1/findings", findings(*[finding(5 + i) for i in range(30)]))
        crowd = [Agent(self.url, self.token("agent"), i) for i in range(6)]
        for agent in crowd:
            agent.start()
        acknowledged = lambda: sum(len(agent.acknowledged) for agent in crowd)  # pylint: disable=unnecessary-lambda-assignment
        for fault in ("hive a", "database", "hive b"):
            goal = acknowledged() + 40
            self.until(lambda: acknowledged() >= goal, "answered before the fault")  # pylint: disable=cell-var-from-loop
            if fault == "database":
                self.server.kill()
                self.server.start()
            else:
                hive, port = self.hives[fault[-1]]
                hive.kill()
                hive.wait()
                self.start_hive(fault[-1], port)
        goal = acknowledged() + 40
        self.until(lambda: acknowledged() >= goal, "answered after the faults")
        for agent in crowd:
            agent.stop = True
        for agent in crowd:
            agent.join(timeout=120)
            self.assertEqual(agent.wrong, [])
        kept = {(credential, id_): (int(number), outcome) for credential, id_, number, outcome in
                self.server.ask("SELECT credential, id, number, outcome FROM evidence")}
        for agent in crowd:
            mine = {id_: said for (credential, id_), said in kept.items() if credential == agent.credential}
            for id_, said in agent.acknowledged.items():
                self.assertEqual(mine.get(id_), said, "acknowledged, and not there or not as it was")
            for id_ in mine:
                self.assertIn(id_, agent.sent, "nobody sent it")
        # One race, one instance, one lease.
        self.assertEqual(self.server.ask("SELECT number, instance FROM jobs WHERE state='leased' GROUP BY number, instance HAVING count(*)>1"), [])
        # What the verdicts should be, from what was kept.
        for number, verdict, claimed_by in self.server.ask("SELECT number, verdict, claimed_by FROM races"):
            claims = {credential for (credential, _), (at, outcome) in kept.items() if at == int(number) and outcome == "race"}
            self.assertEqual(int(claimed_by), len(claims), number)
            self.assertEqual(verdict == "true_race", bool(claims), number)


    def test_a_lease_ends_once(self):
        """A result at one hive while the same instance asks the other one without naming the job: either ends the lease, not both."""
        self.url = f"http://127.0.0.1:{self.hives['a'][1]}"
        self.ask("POST", "/api/v1/findings", findings(*[finding(5 + i) for i in range(4)]))
        tokens = [self.token("agent") for _ in range(4)]

        def collide(at):
            places = [f"127.0.0.1:{port}" for _, port in self.hives.values()]
            for i in range(15):
                name = f"i{at}.{i}"
                _, text = hives.post(places[0], tokens[at], "/api/v1/jobs", {"instance": name, "room": 4})
                results = [{"id": job["id"], "job": job["id"], "number": job["number"], "outcome": "not_seen"} for job in json.loads(text)["jobs"]]
                calls = [threading.Thread(target=hives.post, args=(places[0], tokens[at], "/api/v1/results", {"instance": name, "results": results}))]
                calls += [threading.Thread(target=hives.post, args=(place, tokens[at], "/api/v1/jobs", {"instance": name, "room": 4}))
                          for place in places]
                for call in calls:
                    call.start()
                for call in calls:
                    call.join()
        threads = [threading.Thread(target=collide, args=(at,)) for at in range(len(tokens))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(self.server.ask("SELECT number, holders, (SELECT count(*) FROM jobs j WHERE j.number=r.number AND j.state='leased') AS leased "
                                         "FROM races r WHERE holders<>(SELECT count(*) FROM jobs j WHERE j.number=r.number AND j.state='leased')"), [])


class Agent(threading.Thread):
    """A user site that sends each result until it is acknowledged, at times once more, at times two at once or late."""

    def __init__(self, url, token, seed):
        super().__init__(daemon=True)
        self.place, self.token, self.random = urllib.parse.urlparse(url).netloc, token, random.Random(seed)
        self.credential, self.instance = token.split(":")[1], f"i{seed}"
        self.sent, self.acknowledged, self.late, self.wrong, self.stop = {}, {}, [], [], False

    def post(self, path, body):
        """The answer, or nothing."""
        status, text = hives.post(self.place, self.token, path, body)
        if status == 200:
            return json.loads(text)
        if status not in (None, 429, 502, 503, 504):
            self.wrong.append((status, text))
        return None

    def send(self, results):
        while True:
            answer = self.post("/api/v1/results", {"instance": self.instance, "results": results})
            if answer:
                break
            if self.stop:
                return
        if answer["refused"]:
            self.wrong.append(answer)
        for result in results:
            self.acknowledged[result["id"]] = (result["number"], result["outcome"])

    def run(self):
        while not self.stop and not self.wrong:
            answer = self.post("/api/v1/jobs", {"instance": self.instance})
            for job in answer["jobs"] if answer else []:
                outcome = self.random.choice(["race", "no_race", "no_race", "not_seen"] if job["number"] % 5 == 0 else ["no_race", "not_seen"])
                result = {"id": f"{self.instance}.{len(self.sent)}", "job": job["id"], "number": job["number"], "outcome": outcome,
                          "proof": "co_enabled" if outcome == "race" else "none", "order": job["order"], "execution": str(len(self.sent))}
                self.sent[result["id"]] = result
                chance = self.random.random()
                if chance < 0.2:
                    self.late.append(result)
                    continue
                batch = [result]
                if chance > 0.7 and self.late:
                    batch = [result, self.late.pop(self.random.randrange(len(self.late)))]
                self.send(batch)
                if chance > 0.9:
                    self.send(batch)


if __name__ == "__main__":
    postgres.need()
    Hive.deadheat, Stores.program = sys.argv[1:3]
    del sys.argv[1:3]
    unittest.main()

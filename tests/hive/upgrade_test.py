#!/usr/bin/python3
"""A database that the first hive that served left behind, and an agent of that time, with the hive of today.

usage: upgrade_test.py DEADHEAT

first_hive.sql is that database as it was, made by that hive; its head has the tokens and what the agent had said.
"""
import json
import os
import sqlite3
import sys
import unittest

from hives import Hive, finding, findings

FIRST = os.path.join(os.path.dirname(os.path.abspath(__file__)), "first_hive.sql")


class Upgrade(Hive):
    def setUp(self):
        super().setUp()
        os.remove(self.database)
        with open(FIRST, encoding="utf-8") as file:
            text = file.read()
        self.left = json.loads(text.splitlines()[2].removeprefix("-- "))
        with sqlite3.connect(self.database) as database:
            database.executescript(text)
        self.admin = self.left["developer"]

    def say(self, instance, result):
        """As the first agents did: without the version of the API."""
        return self.ask("POST", "/api/v1/results", {"instance": instance, "results": [result]}, self.left["agent"])

    def race(self, number):
        race = self.ask("GET", f"/api/v1/findings/{number}")["race"]
        return race["verdict"], race["basis"], race["claimed_by"]

    def test_nothing_is_lost_and_nothing_counts_twice(self):
        told = self.run_hive("serve", "--listen", "127.0.0.1:0")
        self.assertEqual(told.returncode, 77)
        self.assertIn("hive migrate", told.stderr)
        self.assertIn("was 2", self.run_hive("migrate").stderr)
        self.serve()
        before = [("unknown", "none", 0), ("true_race", "claimed", 1), ("unknown", "none", 0), ("true_race", "observed", 0)]
        self.assertEqual([self.race(number) for number in (1, 2, 3, 4)], before)
        evidence = self.ask("GET", "/api/v1/status")["evidence"]
        self.assertEqual(evidence, 5)
        answered = {(result["number"], instance) for instance, result, known in self.left["said"] if known}
        self.assertEqual({race["number"]: race["instances"] for race in self.ask("GET", "/api/v1/findings")["races"]},
                         {number: len([one for one in answered if one[0] == number]) for number in (1, 2, 3, 4)})
        # What was said before the upgrade is said again; what was given before it is answered after it.
        for instance, result, known in self.left["said"]:
            answer = self.say(instance, result)
            self.assertEqual((answer["accepted"], answer["repeated"]), (0, 1) if known else (1, 0), result)
        self.assertEqual(self.ask("GET", "/api/v1/status")["evidence"], evidence + 2)
        self.assertEqual([self.race(number) for number in (1, 2, 3, 4)], before)
        # The first agents' question, as they wrote it.
        poll = {"instance": "i9", "build_id": "", "version": "", "holding": [], "room": 1, "wait_s": 0, "spent_ppm": 0, "dropped": 0}
        job = self.ask("POST", "/api/v1/jobs", poll, self.left["agent"])["jobs"][0]
        for field in ("id", "number", "order", "tau_us", "lease_s", "promoted", "last_tau", "candidate"):
            self.assertIn(field, job, "a field that the first agents read")
        self.say("i9", {"id": "new", "job": job["id"], "number": job["number"], "outcome": "no_race", "order": job["order"], "execution": "e"})
        # What later versions added works on it.
        self.ask("POST", "/api/v1/findings", findings(finding(5, "v0"), finding(99, "new")), self.left["developer"])
        self.assertEqual(self.ask("GET", "/api/v1/status")["races"], 5, "one of the two was known")
        self.assertEqual(self.ask("GET", "/api/v1/trends")["points"][-1]["true_races"], 2)
        self.assertEqual(self.ask("GET", "/api/v1/findings?text=v1")["total"], 1, "what a search looks at is there")
        self.command("push", "--scan-of", "1.0", self.write("scan.json", findings(finding(5, "v0"))))
        self.command("revoke", "--program", "shop", self.left["agent"].split(":")[1])
        self.assertEqual(self.race(2), ("unknown", "none", 0))

    def write(self, name, value):
        with open(self.path(name), "w", encoding="utf-8") as file:
            json.dump(value, file)
        return self.path(name)


if __name__ == "__main__":
    Hive.deadheat = sys.argv.pop(1)
    unittest.main()

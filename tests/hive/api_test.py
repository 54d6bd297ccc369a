#!/usr/bin/python3
"""The hive over HTTP: what it answers to whom, its limits, its commands, its page.

usage: api_test.py DEADHEAT
"""
import json
import os
import socket
import sys
import unittest
import urllib.parse

from contract import CONTRACT
from hives import Hive, finding, findings

# Every endpoint with the least role that may use it.
ENDPOINTS = [("POST", "/api/v1/jobs", "agent"), ("POST", "/api/v1/results", "agent"), ("GET", "/api/v1/status", "agent"),
             ("POST", "/api/v1/findings", "developer"), ("GET", "/api/v1/findings", "developer"),
             ("GET", "/api/v1/findings/1", "developer"), ("POST", "/api/v1/findings/1", "developer"), ("GET", "/api/v1/export", "developer"),
             ("GET", "/api/v1/fleet", "developer"), ("GET", "/api/v1/trends", "developer"), ("GET", "/metrics", "developer"),
             ("GET", "/api/v1/versions", "developer"), ("POST", "/api/v1/owners", "developer"),
             ("POST", "/api/v1/builds/abcdef01", "developer"), ("GET", "/api/v1/builds", "agent"), ("GET", "/api/v1/builds/abcdef01", "agent"),
             ("POST", "/api/v1/import", "admin"), ("POST", "/api/v1/controls/1", "admin"), ("GET", "/api/v1/suspects", "admin"), ("GET", "/api/v1/tokens", "admin"), ("POST", "/api/v1/tokens", "admin"), ("DELETE", "/api/v1/tokens/x", "admin"),
             ("GET", "/api/v1/audit", "admin")]
ROLES = ["agent", "developer", "admin"]


class Api(Hive):
    def setUp(self):
        super().setUp()
        self.tokens = {role: self.token(role) for role in ROLES}
        self.serve()

    def test_credentials(self):
        expired = self.token("admin", "--days", "0.0000001")
        revoked = self.token("admin")
        self.command("revoke", "--program", "shop", revoked.split(":")[1])
        good = self.tokens["admin"]
        wrong = [None, "nonsense", "shop:x:y", good[:-1] + ("0" if good[-1] != "0" else "1"), "other" + good[4:], expired,
                 revoked, good.rsplit(":", 1)[0] + ":"]
        for method, path, least in ENDPOINTS:
            for token in wrong:
                status, headers, _ = self.request(method, path, "{}" if method == "POST" else None, token)
                self.assertIn(status, (401, 429), (method, path, token))
                self.assertIn("Content-Security-Policy", headers)
            for role in ROLES:
                status, _, text = self.request(method, path, "{}" if method == "POST" else None, self.tokens[role])
                if ROLES.index(role) < ROLES.index(least):
                    self.assertEqual(status, 403, (method, path, role))
                else:
                    self.assertNotIn(status, (401, 403, 500, 503), (method, path, role, text))

    def test_documented(self):
        """The OpenAPI document lists exactly the endpoints that there are. (Every answer in these tests is checked against it: contract.py.)"""
        if not CONTRACT.document:
            self.skipTest("no python3-yaml")
        documented = {(method.upper(), path) for path, methods in CONTRACT.document["paths"].items() for method in methods}
        expected = {(method, path.replace("findings/1", "findings/{number}").replace("tokens/x", "tokens/{id}").replace("builds/abcdef01", "builds/{build_id}")
                 .replace("controls/1", "controls/{number}"))
                    for method, path, _ in ENDPOINTS}
        self.assertEqual(documented, expected)

    def test_hostile_requests(self):
        agent = self.tokens["agent"]
        for body in ("", "[", "null", "[" * 100000, '{"instance":' + "[" * 5000, "\xff\xfe", '{"instance":1}', "{}"):
            status, _, _ = self.request("POST", "/api/v1/jobs", body.encode("latin-1"), agent)
            self.assertEqual(status, 400, body[:40])
        self.assertEqual(self.request("POST", "/api/v1/jobs", b"x" * (2 << 20), agent)[0], 413)
        self.assertEqual(self.request("GET", "/x" * 20000, token=agent)[0], 431)
        self.assertEqual(self.request("GET", "/nowhere", token=agent)[0], 404)
        self.assertEqual(self.request("PUT", "/api/v1/jobs", "{}", agent)[0], 405)
        place = urllib.parse.urlparse(self.url)
        for text in (b"\x16\x03\x01\x02\x00", b"GET / HTTP/9.9\r\n\r\n", b"\r\n" * 100, b"POST /api/v1/jobs HTTP/1.1\r\nContent-Length: -5\r\n\r\n"):
            with socket.create_connection((place.hostname, place.port), timeout=60) as raw:
                raw.sendall(text)
                raw.shutdown(socket.SHUT_WR)
                self.assertIn(raw.recv(9), (b"", b"HTTP/1.1 "), text)
        self.assertEqual(self.request("GET", "/healthz")[0], 200)
        # A body is not read from those who may not send it.
        with socket.create_connection((place.hostname, place.port), timeout=60) as raw:
            raw.sendall(b"POST /api/v1/findings HTTP/1.1\r\nHost: x\r\nContent-Length: 60000000\r\n\r\n")
            self.assertIn(b"401", raw.recv(100))

    def test_callers_of_other_versions_work_or_are_told(self):
        """An agent of before versions were named, of this one, and of later and earlier ones."""
        agent = {"Authorization": "Bearer " + self.tokens["agent"]}
        for version in (None, "1"):
            headers = {**agent, **({"Deadheat-Api-Version": version} if version else {})}
            status, said, _ = self.request("POST", "/api/v1/jobs", {"instance": "i", "field_of_a_later_version": 1}, headers=headers)
            self.assertEqual((status, said["Deadheat-Api-Version"]), (200, "1"))
        for version, told in (("2", "update the hive"), ("0", "update deadheat"), ("x", "update deadheat"), ("9" * 30, "update deadheat")):
            for method, path in (("POST", "/api/v1/jobs"), ("GET", "/api/v1/status")):
                status, _, text = self.request(method, path, "{}" if method == "POST" else None, headers={**agent, "Deadheat-Api-Version": version})
                self.assertEqual(status, 426, text)
                self.assertIn(told, text)

    def test_a_token_for_every_program_names_one(self):
        every = self.command("token", "--program", "*", "--role", "admin").strip()
        self.assertEqual(self.request("GET", "/metrics?program=shop", token=every)[0], 200)
        self.assertEqual(self.request("GET", "/metrics", token=every)[0], 400)
        for name in ("a%22%7D%201%0Aup%7B", "..", "%3Cb%3E", "x" * 100, "A"):
            for method, path in (("GET", "/metrics"), ("GET", "/api/v1/status"), ("POST", "/api/v1/tokens")):
                self.assertEqual(self.request(method, f"{path}?program={name}", '{"role":"agent"}' if method == "POST" else None, every)[0], 400, (path, name))
        # It speaks about no race, and a token of one program stays in it whatever it asks for.
        for path in ("jobs", "findings", "import", "owners"):
            self.assertEqual(self.request("POST", f"/api/v1/{path}?program=shop", "{}", every)[0], 403)
        self.command("token", "--program", "billing", "--role", "admin")
        self.assertEqual(self.ask("GET", "/api/v1/status?program=billing", token=self.tokens["agent"])["program"], "shop")

    def test_programs_do_not_see_one_another(self):
        tokens = {role: self.command("token", "--program", "billing", "--role", role).strip() for role in ROLES}
        self.ask("POST", "/api/v1/findings", findings(finding(5)), self.tokens["developer"])
        self.ask("POST", "/api/v1/findings", findings(finding(7, "theirs"), finding(8, "theirs")), tokens["developer"])
        job = self.ask("POST", "/api/v1/jobs", {"instance": "i"}, tokens["agent"])["jobs"][0]
        for query in ("", "?program=billing"):
            for path in ("findings", "findings/2", "export", "fleet", "trends", "builds", "tokens", "audit", "suspects"):
                self.assertNotIn("theirs", self.request("GET", f"/api/v1/{path}{query}", token=self.admin)[2])
            for method, path in (("GET", "findings/2"), ("POST", "findings/2"), ("POST", "controls/2"), ("DELETE", "tokens/" + tokens["admin"].split(":")[1])):
                status, _, text = self.request(method, f"/api/v1/{path}{query}", '{"comment":"x"}' if method == "POST" else None, self.admin)
                self.assertEqual(status, 404, (path, text))
        said = self.ask("POST", "/api/v1/results", {"instance": "i", "results": [
            {"id": "r", "job": job["id"], "number": job["number"], "outcome": "race", "proof": "co_enabled", "order": job["order"]}]}, self.tokens["agent"])
        self.assertEqual((said["accepted"], len(said["refused"])), (0, 1))

    def test_too_often(self):
        statuses = {self.request("GET", "/api/v1/status", token=self.tokens["agent"])[0] for _ in range(600)}
        self.assertLessEqual(statuses, {200, 429})
        self.assertEqual(self.request("GET", "/api/v1/status", token=self.tokens["developer"])[0], 200, "others are not slowed")

    def test_a_job_and_its_answer(self):
        pushed = self.ask("POST", "/api/v1/findings", findings(finding(5), finding(9)), self.tokens["developer"])
        self.assertEqual(pushed["added"], 2)
        agent = self.tokens["agent"]
        answer = self.ask("POST", "/api/v1/jobs", {"instance": "i1"}, agent)
        job = answer["jobs"][0]
        result = {"id": "r1", "job": job["id"], "number": job["number"], "execution": "e", "outcome": "race",
                  "proof": "co_enabled", "order": job["order"]}
        for expected in ("accepted", "repeated"):
            said = self.ask("POST", "/api/v1/results", {"instance": "i1", "results": [result]}, agent)
            self.assertEqual(said[expected], 1)
        race = self.ask("GET", f"/api/v1/findings/{job['number']}")
        self.assertEqual((race["race"]["verdict"], race["race"]["basis"], race["race"]["claimed_by"]), ("true_race", "claimed", 1))
        self.assertEqual([event["detail"] for event in race["history"]][-1], "true_race claimed by 1")
        listed = self.command("list")
        self.assertIn("claimed by 1", listed)
        self.assertIn("deadheat_hive_races{program=\"shop\",verdict=\"true_race\"} 1",
                      self.request("GET", "/metrics", token=self.admin)[2])
        exported = json.loads(self.command("export", "--format", "json"))
        self.assertEqual(len(exported["findings"]), 2)
        self.assertEqual(json.loads(self.command("export", "--format", "sarif"))["version"], "2.1.0")
        # The agent's word goes when its token does.
        self.command("revoke", "--program", "shop", agent.split(":")[1])
        self.assertEqual(self.ask("GET", f"/api/v1/findings/{job['number']}")["race"]["verdict"], "unknown")
        self.assertIn("revoke", [entry["what"] for entry in self.ask("GET", "/api/v1/audit")["audit"]])

    def test_text_of_others_stays_text(self):
        evil = "<script>alert(1)</script>'; DROP TABLE races; --"
        self.ask("POST", "/api/v1/findings", findings(finding(5, evil)), self.tokens["developer"])
        listed = self.ask("GET", "/api/v1/findings")
        self.assertIn(evil.split("'")[0], json.dumps(listed))
        self.assertEqual(self.ask("GET", "/api/v1/findings?text=" + urllib.parse.quote("' OR 1=1 --"))["total"], 0)
        self.assertEqual(self.ask("GET", "/api/v1/findings?sort=" + urllib.parse.quote("number; DROP TABLE races"))["total"], 1)

    def test_signing_in(self):
        status, headers, page = self.request("GET", "/")
        self.assertEqual(status, 200)
        self.assertIn("Sign in", page)
        self.assertNotIn("http", page.replace("http-equiv", ""), "nothing is loaded from elsewhere")
        guard = {"X-Deadheat": "1"}
        developer = self.tokens["developer"]
        self.assertEqual(self.request("POST", "/signin", developer)[0], 403, "without the guard")
        self.assertEqual(self.request("POST", "/signin", developer, headers={**guard, "Origin": "http://evil.example"})[0], 403)
        self.assertEqual(self.request("POST", "/signin", "shop:x:y", headers=guard)[0], 401)
        self.assertEqual(self.request("POST", "/signin", self.tokens["agent"], headers=guard)[0], 403)
        status, headers, _ = self.request("POST", "/signin", self.tokens["admin"], headers=guard)
        self.assertEqual(status, 200)
        cookie = headers["Set-Cookie"]
        for word in ("HttpOnly", "SameSite=Strict"):
            self.assertIn(word, cookie)
        self.assertNotIn("; Secure", cookie)
        _, headers, _ = self.request("POST", "/signin", self.tokens["admin"], headers={**guard, "X-Forwarded-Proto": "https"})
        self.assertIn("; Secure", headers["Set-Cookie"], "behind a proxy that has TLS")
        session = {"Cookie": cookie.split(";")[0]}
        self.assertEqual(self.request("GET", "/api/v1/findings", headers=session)[0], 200)
        self.assertEqual(self.request("POST", "/api/v1/tokens", '{"role":"admin"}', headers=session)[0], 403, "a form of another site")
        self.assertEqual(self.request("POST", "/api/v1/tokens", '{"role":"agent"}', headers={**session, **guard})[0], 200)
        forged = {"Cookie": session["Cookie"][:-1] + ("0" if session["Cookie"][-1] != "0" else "1")}
        self.assertEqual(self.request("GET", "/api/v1/findings", headers=forged)[0], 401)

    def test_what_is_acknowledged_survives_kill_9(self):
        self.ask("POST", "/api/v1/findings", findings(*[finding(5 + i) for i in range(20)]), self.tokens["developer"])
        agent, acknowledged = self.tokens["agent"], 0
        for i in range(10):
            job = self.ask("POST", "/api/v1/jobs", {"instance": f"i{i}"}, agent)["jobs"][0]
            self.ask("POST", "/api/v1/results", {"instance": f"i{i}", "results": [
                {"id": f"r{i}", "job": job["id"], "number": job["number"], "outcome": "no_race"}]}, agent)
            acknowledged += 1
        self.hive.kill()
        self.hive.wait()
        self.serve()
        self.assertEqual(self.ask("GET", "/api/v1/status")["evidence"], acknowledged)

    def test_tokens_are_not_in_the_log(self):
        self.ask("GET", "/api/v1/status")
        self.request("GET", "/api/v1/findings?text=secret", token="shop:x:verysecretword")
        log = self.until(lambda: self.log() if "/api/v1/findings" in self.log() else "", "logged")
        self.assertNotIn("verysecretword", log)
        self.assertNotIn(self.admin.split(":")[2], log)
        for line in log.splitlines():
            json.loads(line)


class Commands(Hive):
    def test_where_it_listens(self):
        refused = self.run_hive("serve", "--listen", "0.0.0.0:0")
        self.assertEqual(refused.returncode, 2)
        self.assertIn("--tls-certificate", refused.stderr)

    def test_without_a_server(self):
        with open(self.path("f.json"), "w", encoding="utf-8") as file:
            json.dump(findings(finding(5, evidence=[{"id": "run/1", "execution": "run", "outcome": "race", "proof": "happens_before"}])), file)
        self.assertIn("1 races added", self.command("push", "f.json"))
        self.assertIn("0 races added, 1 known", self.command("push", "f.json"))
        self.assertIn("observed", self.command("list"), "the owner of the database is trusted")
        self.assertIn("server.c", self.command("show", "1"))
        self.assertIn("proved: 1", self.command("status"))
        again = self.run_hive("init", "--program", "shop")
        self.assertEqual(again.returncode, 2)

    def test_backup_and_restore(self):
        with open(self.path("f.json"), "w", encoding="utf-8") as file:
            json.dump(findings(finding(5)), file)
        self.command("push", "f.json")
        self.command("backup", self.path("copy.db"))
        os.remove(self.database)
        self.command("restore", self.path("copy.db"))
        self.assertIn("races: 1", self.command("status"))
        self.command("migrate")
        # The secret of the owner's token and the hashes of all others are in both.
        for path in (self.database, self.path("copy.db")):
            self.assertEqual(os.stat(path).st_mode & 0o777, 0o600, path)

    def test_what_a_killed_hive_left_is_kept_by_restore(self):
        self.command("backup", self.path("empty.db"))
        self.serve()
        self.ask("POST", "/api/v1/findings", findings(finding(5)))
        self.hive.kill()
        self.hive.wait()
        self.assertGreater(os.path.getsize(self.database + "-wal"), 0, "it is not in the file itself yet")
        for _ in range(2):
            self.command("restore", self.path("empty.db"))
            self.assertIn("races: 0", self.command("status"))
        whole = self.database
        for name, races in ((".before-restore", 1), (".before-restore-2", 0)):
            self.database = whole + name
            self.assertIn(f"races: {races}", self.command("status"))

    def test_a_mistyped_program_is_said_to_be_new(self):
        self.assertNotIn("new program", self.run_hive("token", "--program", "shop").stderr)
        self.assertIn("shpo is a new program of this hive, which has shop", self.run_hive("token", "--program", "shpo").stderr)


if __name__ == "__main__":
    Hive.deadheat = sys.argv.pop(1)
    unittest.main()

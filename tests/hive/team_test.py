#!/usr/bin/python3
"""What a team gives a hive beside findings: signed builds, scans of versions, owners, web hooks, another hive's races.

usage: team_test.py DEADHEAT
"""
import hashlib
import hmac
import http.server
import json
import os
import sqlite3
import subprocess
import sys
import threading
import unittest

from hives import Hive, finding, findings


class Receiver(http.server.BaseHTTPRequestHandler):
    """Answers as it is told to, and remembers."""
    answers, got = [], []

    def do_POST(self):  # pylint: disable=invalid-name
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.got.append((self.path, dict(self.headers), body))
        status = self.answers.pop(0) if self.answers else 200
        self.send_response(status)
        if status == 302:
            self.send_header("Location", "/elsewhere")
        self.end_headers()

    do_GET = do_POST

    def log_message(self, *words):  # pylint: disable=arguments-differ
        pass


class Team(Hive):
    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text if isinstance(text, str) else json.dumps(text))
        return self.path(name)

    def compile(self, name, text):
        with open(self.path(name + ".c"), "w", encoding="utf-8") as file:
            file.write(f'#include <stdio.h>\nint main(void) {{ puts("{text}"); return 0; }}\n')
        subprocess.run(["cc", "-Wl,--build-id=sha1", "-o", self.path(name), self.path(name + ".c")], check=True, timeout=60)

    def tool(self, *words):
        return subprocess.run([self.deadheat, "hive", *words], cwd=self.folder, env=self.environment(), capture_output=True, text=True,
                              timeout=120, check=False)

    def fetch(self, build, key="ci.pub"):
        return self.tool("fetch", build, "--hive", self.url, "--token-file", self.path("agent.token"), "--key", self.path(key), "-o",
                         self.path("fetched"))

    def test_builds_are_verified_by_whoever_fetches_them(self):
        self.serve()
        self.compile("server", "one")
        self.compile("other", "two")
        self.write("agent.token", self.token("agent"))
        self.write("dev.token", self.token("developer"))
        for name in ("ci", "stranger"):
            self.assertEqual(self.tool("key", name).returncode, 0)
        self.assertEqual(os.stat(self.path("ci.key")).st_mode & 0o777, 0o600)
        self.assertEqual(self.tool("key", "ci").returncode, 2, "a key is not overwritten")
        pushed = self.tool("build", self.path("server"), "--hive", self.url, "--token-file", self.path("dev.token"), "--key", self.path("ci.key"),
                           "--version", "1.0 beta/ä")
        self.assertEqual(pushed.returncode, 0, pushed.stderr)
        build = pushed.stdout.strip()
        fetched = self.fetch(build)
        self.assertEqual(fetched.returncode, 0, fetched.stderr)
        with open(self.path("fetched"), "rb") as one, open(self.path("server"), "rb") as two:
            self.assertEqual(one.read(), two.read())
        self.assertFalse(os.access(self.path("fetched"), os.X_OK), "nothing is made to run by itself")
        os.remove(self.path("fetched"))
        wrong = self.fetch(build, "stranger.pub")
        self.assertEqual(wrong.returncode, 77)
        self.assertIn("do not run it", wrong.stderr)
        # An agent may fetch but not store; the hive has no key, so the owner of the database cannot forge.
        refused = self.tool("build", self.path("other"), "--hive", self.url, "--token-file", self.path("agent.token"), "--key",
                            self.path("ci.key"), "--version", "2")
        self.assertIn("403", refused.stderr)
        with sqlite3.connect(self.database) as database:
            database.execute("UPDATE builds SET version='2.0'")
        self.assertEqual(self.fetch(build).returncode, 77, "the version is signed")
        with sqlite3.connect(self.database) as database:
            database.execute("UPDATE builds SET version='1.0 beta/ä'")
            part = database.execute("SELECT content FROM build_parts").fetchone()[0]
            database.execute("UPDATE build_parts SET content=?", ("AAAA" + part[4:],))
        self.assertEqual(self.fetch(build).returncode, 77, "the bytes are signed")
        self.assertFalse(os.path.exists(self.path("fetched")))
        self.assertEqual(self.fetch("0123456789abcdef").returncode, 77)
        same_id = self.request("POST", f"/api/v1/builds/{build}?version=3&signature=" + "ab" * 64, "x", self.admin)
        self.assertEqual(same_id[0], 409)
        self.assertEqual(self.request("POST", f"/api/v1/builds/{build}?version=3&signature=zz", "x", self.admin)[0], 400)
        self.assertIn(build, self.command("builds"))

    def test_a_new_version_fixes_and_reopens(self):
        self.command("push", "--scan-of", "1.0", self.write("a.json", findings(finding(5), finding(9))))
        self.command("push", "--scan-of", "1.1", self.write("b.json", findings(finding(5))))
        self.serve()
        states = {race["where"].split(":")[1].split(" ")[0].split(",")[0]: race["state"] for race in self.ask("GET", "/api/v1/findings")["races"]}
        self.assertEqual(sorted(states.values()), ["open", "stale"])
        self.command("push", "--scan-of", "1.2", self.path("a.json"))
        self.assertEqual({race["state"] for race in self.ask("GET", "/api/v1/findings")["races"]}, {"open"})
        self.assertEqual([(one["version"], one["stale"], one["reopened"]) for one in self.ask("GET", "/api/v1/versions")["versions"]],
                         [("1.0", 0, 0), ("1.1", 1, 0), ("1.2", 0, 1)])
        empty = self.run_hive("push", "--scan-of", "1.3", self.write("none.json", findings()))
        self.assertNotEqual(empty.returncode, 0, "a scan that lists nothing is more likely broken than right")
        self.assertIn("close every race", empty.stderr)

    def test_owners(self):
        os.makedirs(self.path("project/.github"))
        self.write("project/.github/CODEOWNERS", "*.c @all\n/server.c @core\n")
        one = finding(5)
        for role in one["roles"]:
            role["site"]["file"] = os.path.realpath(self.path("project")) + "/server.c"
        self.command("push", self.write("a.json", findings(one)))
        self.assertIn("1 races", self.command("owners", self.path("project/.github/CODEOWNERS")))
        self.serve()
        self.assertEqual(self.ask("GET", "/api/v1/findings")["races"][0]["owner"], "@core")

    def test_races_move(self):
        self.command("push", self.write("a.json", findings(finding(5), finding(9))))
        self.serve()
        self.ask("POST", "/api/v1/findings/1", {"comment": "known", "state": "suppressed", "reason": "later"})
        self.command("export", "--format", "hive", "-o", self.path("moved.json"))
        first, self.database = self.database, self.path("second.db")
        self.command("init", "--program", "shop")
        self.assertIn("2 races added", self.command("import", self.path("moved.json")))
        self.assertIn("0 races added, 2 known", self.command("import", self.path("moved.json")))
        shown = json.loads(self.command("show", "1", "--format", "json"))
        self.assertEqual((shown["race"]["state"], shown["reason"]), ("suppressed", "later"))
        self.assertIn("known", [event["detail"] for event in shown["history"]])
        self.database = first
        for text in ("{}", "[]", '{"format":"deadheat-hive","version":2,"races":[]}', '{"format":"deadheat-hive","version":1,"races":[1]}',
                     '{"format":"deadheat-hive","version":1,"races":[{"findings":{},"state":"open"}]}', "[" * 100000):
            self.assertEqual(self.request("POST", "/api/v1/import", text, self.admin)[0], 400, text[:50])

    def test_hooks(self):
        Receiver.answers, Receiver.got = [], []
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        self.assertEqual(self.run_hive("hook", "--program", "shop", "ftp://x").returncode, 2)
        secret = self.command("hook", "--program", "shop", f"http://127.0.0.1:{server.server_port}/told?by=hive").strip()
        self.serve()
        Receiver.answers = [302]
        agent = self.token("agent")
        self.ask("POST", "/api/v1/findings", findings(finding(5)))
        job = self.ask("POST", "/api/v1/jobs", {"instance": "i"}, agent)["jobs"][0]
        self.ask("POST", "/api/v1/results", {"instance": "i", "results": [
            {"id": "r", "job": job["id"], "number": 1, "outcome": "race", "proof": "co_enabled", "order": job["order"]}]}, agent)
        self.until(lambda: Receiver.got, "called")
        path, headers, body = Receiver.got[0]
        self.assertEqual(path, "/told?by=hive")
        told = json.loads(body)
        self.assertEqual((told["event"], told["number"], told["claimed_by"]), ("race_claimed", 1, 1))
        signature = hmac.new(secret.encode(), headers["Deadheat-Time"].encode() + b"." + body, hashlib.sha256).hexdigest()
        self.assertEqual(headers["Deadheat-Signature"], "sha256=" + signature)
        self.assertNotIn(secret, json.dumps(headers))
        self.until(lambda: "last answer: 302" in self.command("hooks", "--program", "shop"), "noted")
        with sqlite3.connect(self.database, timeout=30) as database:  # the clock of the retry
            database.execute("UPDATE hook_calls SET next_ms=1")
        self.until(lambda: len(Receiver.got) == 2, "called again")
        self.assertEqual([path for path, _, _ in Receiver.got], ["/told?by=hive"] * 2, "a redirect is not followed")
        self.assertEqual(json.loads(Receiver.got[1][2])["id"], told["id"])
        self.until(lambda: "0 waiting" in self.command("hooks", "--program", "shop"), "taken")
        listed = self.command("hooks", "--program", "shop")
        self.command("unhook", "--program", "shop", listed.split()[0])
        self.assertEqual(self.command("hooks", "--program", "shop"), "")
        # No token adds an address over the network.
        for method, path in (("POST", "/api/v1/hooks"), ("GET", "/api/v1/hooks")):
            self.assertEqual(self.request(method, path, "{}", self.admin)[0], 404)


if __name__ == "__main__":
    Hive.deadheat = sys.argv.pop(1)
    unittest.main()

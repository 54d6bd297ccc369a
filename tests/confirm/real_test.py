#!/usr/bin/python3
"""check, confirm and replay with the real scheduler on small programs: what is true is found, what
is not true is not, and every finding replays.

usage: real_test.py DEADHEAT [unittest arguments]
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

TOOL = os.path.abspath(sys.argv.pop(1))
HERE = os.path.dirname(os.path.realpath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = os.path.realpath(tempfile.mkdtemp())

    def tearDown(self):
        shutil.rmtree(self.folder)

    def tool(self, *words, timeout=200):
        clean = {k: v for k, v in os.environ.items() if k not in ("DEADHEAT_OPTIONS", "LD_LIBRARY_PATH")}
        return subprocess.run([TOOL, *words], capture_output=True, text=True, check=False, timeout=timeout,
                              env=clean, cwd=self.folder, stdin=subprocess.DEVNULL)

    def check(self, source, *words):
        done = self.tool("check", *words, os.path.join(HERE, "programs", source))
        with open(os.path.join(self.folder, "deadheat-check/findings.json"), encoding="utf-8") as file:
            return done, json.load(file)["findings"]

    def pairs(self, findings, what=lambda evidence: True):
        """{(line, line): [evidence of trials]} of the races that came."""
        found = {}
        for one in findings:
            key = tuple(sorted(role["site"]["line"] for role in one["roles"]))
            met = [e for e in one["evidence"] if e["outcome"] == "race" and e.get("proof") == "co_enabled"]
            if met and any(what(e) for e in met):
                found.setdefault(key, []).extend(met)
        return found

    def replay_all(self, findings):
        """Every execution that the findings say how to repeat: the same decisions, one by one."""
        count = 0
        for one in findings:
            for evidence in one["evidence"]:
                if "--seed" not in evidence.get("repeat", ""):
                    continue
                words = evidence["repeat"].split()[1:]
                done = self.tool(*words)
                self.assertIn(": the same\n", done.stderr, done)
                self.assertRegex(done.stderr, "all [0-9,]+ decisions are the same", done)
                count += 1
        return count


class Check(Case):
    def test_the_bank_is_harmful_and_replays(self):
        done = self.tool("check", os.path.join(ROOT, "examples/bank"))
        self.assertEqual(done.returncode, 66, done)
        self.assertTrue(done.stdout.startswith("HARMFUL  Data race on bank.checking"), done.stdout)
        self.assertIn("Assertion", done.stdout)
        with open(os.path.join(self.folder, "deadheat-check/report.html"), encoding="utf-8") as file:
            self.assertIn("is held back", file.read())
        with open(os.path.join(self.folder, "deadheat-check/findings.json"), encoding="utf-8") as file:
            self.assertGreaterEqual(self.replay_all(json.load(file)["findings"]), 4)

    def test_figure_1(self):
        done, findings = self.check("figure1.cc", "--trials", "60")
        self.assertEqual(done.returncode, 66, done)
        met = self.pairs(findings)
        self.assertEqual(set(met), {(18, 24)}, done.stdout)  # (5,7) of the paper, never (1,10)
        self.assertIn("HARMFUL", done.stdout)
        self.replay_all(findings)

    def test_figure_1_false_candidate(self):
        """A recording in which the second thread comes first ends in ERROR1, without (1,10): this one shows both."""
        compiler = os.path.join(os.path.dirname(TOOL), "deadheat-c++")
        subprocess.run([compiler, "-g", "-O1", "-pthread", os.path.join(HERE, "programs/figure1.cc"), "-o", "figure1"],
                       cwd=self.folder, check=True)
        self.assertEqual(self.tool("record", "-o", "trace.dht", "--", "./figure1", "in_order").returncode, 0)
        self.tool("analyze", "--engine", "hybrid", "--findings", "findings.json", "trace.dht")
        done = self.tool("confirm", "findings.json", "--trials", "60", "--", "./figure1")
        self.assertEqual(done.returncode, 66, done)
        with open(os.path.join(self.folder, "findings.json"), encoding="utf-8") as file:
            findings = json.load(file)["findings"]
        self.assertEqual({tuple(sorted(role["site"]["line"] for role in one["roles"])) for one in findings},
                         {(14, 27), (18, 24)})
        self.assertEqual(set(self.pairs(findings)), {(18, 24)}, done.stdout)
        self.assertIn("never met at the two accesses", done.stdout.replace("\n                ", " "))

    def test_every_strategy_can_confirm(self):
        """Threads that are not held back meet by chance; a lock keeps them apart under every strategy."""
        with open(os.path.join(ROOT, "examples/bank.c"), encoding="utf-8") as file:
            text = file.read()
        locked = text.replace("  long total", "  pthread_mutex_lock(&bank.lock); long total")
        locked = locked.replace("  total += bank.checking;",
                                "  total += bank.checking; pthread_mutex_unlock(&bank.lock);")
        with open(os.path.join(self.folder, "locked.c"), "w", encoding="utf-8") as file:
            file.write(locked)
        compiler = os.path.join(os.path.dirname(TOOL), "deadheat-cc")
        subprocess.run([compiler, "-g", "-O1", "-pthread", "locked.c", "-o", "locked"], cwd=self.folder, check=True)
        for strategy in ("random", "pct", "pos"):
            with self.subTest(strategy):
                done = self.tool("check", "--strategy", strategy, "--trials", "200", os.path.join(ROOT, "examples/bank"))
                self.assertEqual(done.returncode, 66, done)
                with open(os.path.join(self.folder, "deadheat-check/findings.json"), encoding="utf-8") as file:
                    findings = json.load(file)["findings"]
                self.assertEqual(set(self.pairs(findings)), {(13, 20), (14, 21)}, done.stdout)
                failed = self.pairs(findings, lambda e: e.get("consequence", {}).get("kind") == "assertion")
                self.assertTrue(failed, done.stdout)
                self.assertGreaterEqual(self.replay_all(findings), 2)
                done = self.tool("confirm", "deadheat-check/findings.json", "--findings", "locked.json", "--strategy",
                                 strategy, "--trials", "50", "--", "./locked")
                with open(os.path.join(self.folder, "locked.json"), encoding="utf-8") as file:
                    trials = [e for one in json.load(file)["findings"] for e in one["evidence"] if e.get("trial")]
                known = {e["id"] for one in findings for e in one["evidence"]}
                outcomes = {e["outcome"] for e in trials if e["id"] not in known}
                self.assertEqual(outcomes, {"not_seen"}, done)

    def test_a_safe_program_is_clean(self):
        done, findings = self.check("safe.c")
        self.assertEqual((done.returncode, findings), (0, []), done)
        self.assertIn("No races found", done.stdout)

    def test_a_deadlock_is_a_consequence(self):
        done, findings = self.check("deadlock.c", "--trials", "10", "--timeout", "5")
        self.assertEqual(done.returncode, 66, done)
        harmful = self.pairs(findings, lambda e: e.get("consequence", {}).get("kind") == "deadlock")
        self.assertTrue(harmful, done.stdout)

    def test_orders_are_explored_for_failures_only(self):
        done, findings = self.check("orders.c", "--trials", "20", "--timeout", "5")
        self.assertEqual((done.returncode, findings), (0, []), done)
        done, findings = self.check("orders.c", "--orders", "--trials", "20", "--timeout", "5")
        self.assertEqual(done.returncode, 66, done)
        self.assertEqual({one["kind"] for one in findings}, {"order"})
        self.assertNotIn("Data race", done.stdout)
        self.assertIn("waits for lock", done.stdout.replace("\n                ", " "))

    def test_a_program_that_never_ends(self):
        done, findings = self.check("forever.c", "--trials", "4", "--timeout", "2")
        self.assertEqual(done.returncode, 66, done)
        self.assertEqual(set(self.pairs(findings)), {(8, 15)}, done.stdout)
        self.assertNotIn("HARMFUL", done.stdout)  # it hangs in either order

    def test_a_rebuilt_program_is_told(self):
        source = os.path.join(self.folder, "bank.c")
        with open(os.path.join(ROOT, "examples/bank.c"), encoding="utf-8") as file:
            text = file.read()
        with open(source, "w", encoding="utf-8") as file:
            file.write(text)
        self.assertEqual(self.tool("check", "bank").returncode, 66)
        with open(source, "w", encoding="utf-8") as file:  # one more point before the race
            file.write(text.replace("static void* audit(void* expected) {", "static void* audit(void* expected) {\n"
                                    "  pthread_mutex_lock(&bank.lock);\n  pthread_mutex_unlock(&bank.lock);"))
        compiler = os.path.join(os.path.dirname(TOOL), "deadheat-cc")
        subprocess.run([compiler, "-g", "-O1", "-pthread", source, "-o", "deadheat-check/bank"], cwd=self.folder,
                       check=True)
        done = self.tool("replay", "deadheat-check/findings.json")
        self.assertRegex(done.stderr, "it diverged at decision [0-9]+ of [0-9]+", done)
        self.assertIn("  now:  T", done.stderr)

    @unittest.skipUnless(shutil.which("gdb"), "no gdb")
    def test_gdb_stops_at_the_race(self):
        self.assertEqual(self.tool("check", os.path.join(ROOT, "examples/bank")).returncode, 66)
        clean = {k: v for k, v in os.environ.items() if k not in ("DEADHEAT_OPTIONS", "LD_LIBRARY_PATH")}
        done = subprocess.run([TOOL, "replay", "deadheat-check/findings.json", "--gdb"], capture_output=True, text=True,
                              check=False, timeout=200, env=clean, cwd=self.folder,
                              input="thread apply all bt\ncontinue\nquit\n")
        before = done.stdout.split("Continuing.")[0]
        for word in ("SIGTRAP", "transfer (", "audit ("):
            self.assertIn(word, before)
        self.assertIn(": the same\n", done.stderr)

    def test_a_program_with_the_name_of_a_source_is_run(self):
        compiler = os.path.join(os.path.dirname(TOOL), "deadheat-cc")
        subprocess.run([compiler, "-g", "-O1", "-pthread", os.path.join(HERE, "programs/safe.c"), "-o", "safe.c"],
                       cwd=self.folder, check=True)
        for word in ("./safe.c", "safe"):  # the second: no such program, and no source of that name
            with self.subTest(word):
                done = self.tool("check", "--trials", "2", word)
                self.assertNotIn("building", done.stderr)
                self.assertEqual(done.returncode, 0 if word == "./safe.c" else 127, done)

    def test_the_programs_own_failure_is_its_exit_status(self):
        done = self.tool("check", "--", "/bin/false")
        self.assertNotIn(done.returncode, (0, 66), done)
        self.assertIn("not instrumented", done.stderr)


if __name__ == "__main__":
    unittest.main()

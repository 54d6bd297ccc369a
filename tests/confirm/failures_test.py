#!/usr/bin/python3
"""What is a failure and what is not: a program that stands in our scheduler does not hang, one that hangs by itself does, and
a trial that fails without a race is reported, too.

usage: failures_test.py DEADHEAT [unittest arguments]
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


class Failures(unittest.TestCase):
    def setUp(self):
        self.folder = os.path.realpath(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)

    def tool(self, *words):
        clean = {k: v for k, v in os.environ.items() if k not in ("DEADHEAT_OPTIONS", "LD_LIBRARY_PATH")}
        return subprocess.run([TOOL, *words], capture_output=True, text=True, check=False, timeout=280, env=clean,
                              cwd=self.folder, stdin=subprocess.DEVNULL)

    def check(self, name, *flags, options=()):
        wrapper = os.path.join(os.path.dirname(TOOL), "deadheat-cc")
        subprocess.run([wrapper, "-g", "-O1", "-pthread", os.path.join(HERE, "failures", name + ".c"), "-o", name, *flags],
                       check=True, cwd=self.folder)
        done = self.tool("check", *options, "--", "./" + name)
        with open(os.path.join(self.folder, "deadheat-check/findings.json"), encoding="utf-8") as file:
            self.findings = json.load(file)["findings"]
        return done

    def consequences(self):
        return [e["consequence"]["kind"] for one in self.findings for e in one["evidence"] if e.get("consequence")]

    def failures(self):
        return [one for one in self.findings if one["kind"] == "failure"]

    def test_standing_in_the_scheduler_is_no_hang(self):
        done = self.check("busy", options=("--trials", "2", "--undisturbed", "2", "--timeout", "15"))
        self.assertEqual(done.returncode, 66, done)
        self.assertTrue(any(e.get("proof") == "co_enabled" for one in self.findings for e in one["evidence"]), done.stdout)
        self.assertEqual(self.consequences(), [], done.stdout)

    def test_a_wait_that_gives_up_because_of_the_scheduler_is_no_failure(self):
        done = self.check("patient", options=("--trials", "30", "--undisturbed", "2"))
        self.assertEqual(done.returncode, 66, done)
        self.assertTrue(any(e.get("proof") == "co_enabled" for one in self.findings for e in one["evidence"]), done.stdout)
        self.assertEqual((self.consequences(), self.failures()), ([], []), done.stdout)
        done = self.check("patient", "-DSAFE", options=("--trials", "5", "--undisturbed", "2"))
        self.assertEqual((done.returncode, self.findings), (0, []), done)

    def test_a_lost_wake_up_hangs(self):
        done = self.check("lost", options=("--strategy", "pos", "--trials", "12", "--undisturbed", "2", "--timeout", "8"))
        self.assertEqual(done.returncode, 66, done)
        self.assertGreaterEqual(self.consequences().count("hang"), 2, done.stdout)
        self.assertIn("HARMFUL  Data race on ready", done.stdout)
        self.assertIn("waits for condition changed", " ".join(done.stdout.split()))
        done = self.check("lost", "-DSAFE", options=("--strategy", "pos", "--trials", "12", "--undisturbed", "2", "--timeout", "8"))
        self.assertEqual((done.returncode, self.findings), (0, []), done)

    def test_a_crash_without_a_race_is_reported_and_replays(self):
        done = self.check("closed", options=("--trials", "40", "--undisturbed", "2"))
        self.assertEqual(done.returncode, 66, done)
        failure, = self.failures()
        self.assertEqual(failure["roles"][0]["name"], "SIGSEGV")
        self.assertEqual(failure["roles"][0]["site"]["function"], "opens")
        self.assertGreaterEqual(len(failure["evidence"]), 2, done.stdout)
        self.assertIn("HARMFUL", done.stdout)
        self.assertIn("SIGSEGV at opens()", done.stdout)
        self.assertIn("silence       failure:", done.stdout)
        repeat, = [e["repeat"] for e in failure["evidence"] if e.get("repeat")]
        done = self.tool(*repeat.split()[1:])
        self.assertEqual(done.returncode, 66, done)
        self.assertIn(": the same\n", done.stderr)
        self.assertRegex(done.stderr, "all [0-9,]+ decisions are the same")

    def test_an_exit_status_without_a_race_is_reported(self):
        done = self.check("closed", "-DSTATUS=3", options=("--trials", "40", "--undisturbed", "2"))
        self.assertEqual(done.returncode, 66, done)
        failure, = self.failures()
        self.assertEqual(failure["roles"][0]["name"], "exit status 3")

    def test_the_safe_twin_has_no_failure(self):
        done = self.check("closed", "-DSAFE", options=("--trials", "40", "--undisturbed", "2"))
        self.assertEqual((done.returncode, self.failures(), self.consequences()), (0, [], []), done)
        tried = [e for one in self.findings for e in one["evidence"] if e.get("trial")]
        self.assertTrue(tried, done)


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/python3
"""How check and replay end: the time that was promised is kept, what was found is told, nothing is left running.

usage: ends_test.py DEADHEAT [unittest arguments]
"""
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

TOOL = os.path.abspath(sys.argv.pop(1))
HERE = os.path.dirname(os.path.realpath(__file__))
LONG = 100  # seconds after which something that should come is taken for missing


def until(condition):
    limit = time.monotonic() + LONG
    while not condition():
        if time.monotonic() > limit:
            raise AssertionError("it did not come")
        time.sleep(0.02)


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = os.path.realpath(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        self.environment = {k: v for k, v in os.environ.items() if k not in ("DEADHEAT_OPTIONS", "LD_LIBRARY_PATH")}

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def build(self, name, *flags):
        compiler = os.path.join(os.path.dirname(TOOL), "deadheat-cc")
        subprocess.run([compiler, "-g", "-O1", "-pthread", *flags, os.path.join(HERE, "ends", name + ".c"), "-o", self.path(name)],
                       check=True)

    def start(self, *words):
        return subprocess.Popen([TOOL, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                text=True, env=self.environment, cwd=self.folder)

    def tool(self, *words):
        with self.start(*words) as process:
            out, errors = process.communicate(timeout=2 * LONG)
            return process.returncode, out, errors

    def findings(self):
        with open(self.path("deadheat-check/findings.json"), encoding="utf-8") as file:
            return json.load(file)["findings"]


class Alone(Case):
    def test_check_starts_no_copy_of_itself(self):
        """It works where no program called deadheat is."""
        os.mkdir(self.path("bin"))
        shutil.copy(TOOL, self.path("bin", "dh"))
        os.symlink(os.path.join(os.path.dirname(TOOL), "..", "lib"), self.path("lib"))
        self.build("stays")
        self.environment["PATH"] = "/usr/bin:/bin"
        done = subprocess.run([self.path("bin", "dh"), "check", "--time", "4", "--", "./stays"], stdin=subprocess.DEVNULL, cwd=self.folder,
                              capture_output=True, text=True, env=self.environment, timeout=LONG, check=False)
        self.assertEqual(done.returncode, 66, done.stderr)
        self.assertEqual(len(self.findings()), 1, done.stdout)


class Time(Case):
    def test_a_program_that_never_ends_takes_no_longer_than_promised(self):
        for flags, words, findings in (((), ("./stays",), 1), ((), ("./stays", "ignores signals"), 1), (("-DSAFE",), ("./stays",), 0)):
            with self.subTest(flags=flags, words=words):
                self.build("stays", *flags)
                begin = time.monotonic()
                status, out, errors = self.tool("check", "--time", "5", *words)
                self.assertLess(time.monotonic() - begin, 40, errors)  # it was minutes
                self.assertIn(status, (0, 66) if findings else (0,), errors)
                self.assertEqual(len(self.findings()), findings, out + errors)
                self.assertRegex(out, r"the program had not ended after \d+\.\d s and was stopped")
        status, out, errors = self.tool("check", "--time", "5", "--fail-on", "incomplete", "./stays")
        self.assertEqual(status, 75, out + errors)

    def test_a_run_that_shows_nothing_is_not_the_last(self):
        self.build("stays", "-DSAFE")
        status, out, errors = self.tool("check", "--runs", "3", "--time", "1000", "./stays", "ends")
        self.assertEqual((status, errors.count("nothing yet: run")), (0, 2), errors)
        self.assertIn("No races found", out)
        self.build("stays")
        status, out, errors = self.tool("check", "--runs", "3", "--trials", "5", "./stays", "ends")
        self.assertEqual((status, errors.count("nothing yet: run")), (66, 0), errors)


class Stopped(Case):
    def test_what_was_found_is_told_after_ctrl_c(self):
        self.build("stays")
        for words in (("./stays",), ("./stays", "ignores signals")):
            with self.subTest(words):
                with self.start("check", *words) as process:
                    until(lambda: os.path.exists(self.path("done")))
                    process.send_signal(signal.SIGINT)
                    out, errors = process.communicate(timeout=LONG)
                os.remove(self.path("done"))
                self.assertEqual(len(self.findings()), 1, out + errors)
                self.assertIn("Data race on shared", out)
                self.assertIn("deadheat confirm continues", errors)

    def test_nothing_was_found_before_ctrl_c(self):
        self.build("stays", "-DSAFE")
        with self.start("check", "./stays") as process:
            until(lambda: os.path.exists(self.path("done")))
            process.send_signal(signal.SIGINT)
            out, errors = process.communicate(timeout=LONG)
        self.assertEqual(process.returncode, 130, out + errors)


class Orphans(Case):
    def family(self):
        """The numbers that the program's daemon and its child wrote, when both have."""
        try:
            with open(self.path("members"), encoding="ascii") as file:
                return [int(line) for line in file]
        except FileNotFoundError:
            return []

    def assert_gone(self):
        members = self.family()
        self.assertGreaterEqual(len(members), 2)
        for pid in members:
            self.assertRaises(ProcessLookupError, os.kill, pid, 0)
        os.remove(self.path("members"))

    def setUp(self):
        super().setUp()
        self.build("family")
        status, _, errors = self.tool("check", "--trials", "2", "--time", "0", "./family")
        self.assertEqual(status, 66, errors)
        self.assert_gone()
        with open(self.path("stay"), "w", encoding="ascii"):
            pass

    def test_after_a_time_out_of_replay(self):
        self.tool("replay", "--timeout", "3", "deadheat-check/findings.json")
        if len(self.family()) >= 2:  # a busy machine may not come that far
            self.assert_gone()

    def test_after_a_signal_to_replay(self):
        for number, status in ((signal.SIGTERM, 143), (signal.SIGHUP, 129)):
            with self.start("replay", "deadheat-check/findings.json") as process:
                until(lambda: len(self.family()) == 2)
                process.send_signal(number)
                _, errors = process.communicate(timeout=LONG)
            self.assertIn(process.returncode, (status, 66), errors)
            self.assert_gone()

    def test_after_a_time_out_of_run(self):
        for verb in ("run", "record"):
            self.tool(verb, "--timeout", "3", "./family")
            if len(self.family()) >= 2:
                self.assert_gone()


if __name__ == "__main__":
    unittest.main()

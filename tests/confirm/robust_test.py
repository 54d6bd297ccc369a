#!/usr/bin/python3
"""Programs that a scheduler of one thread at a time could hang on: each check ends in time, with what is true.

usage: robust_test.py DEADHEAT [unittest arguments]
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


class Robust(unittest.TestCase):
    def setUp(self):
        self.folder = os.path.realpath(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)

    def check(self, name, *flags, options=("--trials", "30")):
        """Exit status, and {(line, line)} that the scheduler confirmed."""
        wrapper = os.path.join(os.path.dirname(TOOL), "deadheat-cc")
        program = os.path.join(self.folder, name)
        subprocess.run([wrapper, "-g", "-O1", "-pthread", os.path.join(HERE, "robust", name + ".c"), "-o", program, *flags],
                       check=True)
        clean = {k: v for k, v in os.environ.items() if k not in ("DEADHEAT_OPTIONS", "LD_LIBRARY_PATH")}
        done = subprocess.run([TOOL, "check", *options, "--", program], capture_output=True, text=True, check=False,
                              timeout=200, env=clean, cwd=self.folder, stdin=subprocess.DEVNULL)
        with open(os.path.join(self.folder, "deadheat-check/findings.json"), encoding="utf-8") as file:
            self.findings = json.load(file)["findings"]
        return done.returncode, {tuple(sorted(self.text(role) for role in one["roles"])) for one in self.findings
                                 if any(e.get("proof") == "co_enabled" for e in one["evidence"])}

    def text(self, role):
        return role["site"]["source_text"].split(";")[0]

    def test_256_threads(self):
        self.assertEqual(self.check("many"), (66, {("++counter", "++counter")}))

    def test_detached_threads(self):
        self.assertEqual(self.check("detached"), (66, {("++shared", "++shared")}))

    def test_fork_in_the_middle(self):
        self.assertEqual(self.check("forks"), (66, {("++shared", "++shared")}))

    def test_spin_loops(self):
        status, confirmed = self.check("spins")
        self.assertEqual(status, 66)
        self.assertIn(("second = 1", "second = 2"), confirmed)
        self.assertNotIn(("first = 1", "first = 2"), confirmed)

    def test_a_sleep_orders_nothing(self):
        self.assertEqual(self.check("naps"), (66, {("shared = value", "shared = value")}))
        self.assertEqual(self.check("naps", "-DSAFE"), (0, set()))

    def test_who_waits_for_a_sleeper_in_a_loop(self):
        for kind in range(3):
            with self.subTest(kind):
                flags = ("-O0", "-fno-inline", f"-DKIND={kind}")
                status, met = self.check("waits", *flags)
                self.assertEqual(status, 66)
                self.assertIn(("shared = value", "shared = value"), met)
                with open(os.path.join(self.folder, "deadheat-check/findings.json"), encoding="utf-8") as file:
                    campaign = json.load(file)["origins"][-1]
                # Seen to spin at most in the serial run and in those that had begun before a trial told that it does.
                left = {one["name"]: one["value"] for one in campaign["counters"]}
                self.assertLessEqual(left["uncontrolled"], 8, left)
                status, met = self.check("waits", "-DSAFE", *flags)
                self.assertNotIn(("shared = value", "shared = value"), met)

    def test_accesses_of_the_c_library_are_met(self):
        status, met = self.check("texts", "-fno-builtin", options=("--trials", "12"))
        self.assertEqual(status, 66)
        self.assertEqual({name for pair in met for name in ("measured", "searched", "compared", "printed", "sent", "formatted", "filled")
                          if any(text.startswith(name + "[0] =") for text in pair)},
                         {"measured", "searched", "compared", "printed", "sent", "formatted", "filled"})
        self.assertEqual(self.check("texts", "-fno-builtin", "-DSAFE"), (0, set()))

    def test_library_that_blocks(self):
        library = os.path.join(self.folder, "liblibrary.so")
        for kind in ("-DSLEEPS", "-DNAPS"):
            with self.subTest(kind):
                subprocess.run(["gcc", "-O1", "-fPIC", "-shared", kind, os.path.join(HERE, "robust/library.c"), "-o", library],
                               check=True)
                self.assertEqual(self.check("blocks", library, f"-Wl,-rpath,{self.folder}"), (0, set()))
                self.assertFalse([e for one in self.findings for e in one["evidence"] if e.get("consequence")])  # none hung

    def test_a_side_that_the_kernel_keeps_is_waited_for(self):
        self.assertEqual(self.check("stalls", options=("--trials", "10")), (66, {("++shared", "++shared")}))
        tried = [e["outcome"] for one in self.findings for e in one["evidence"] if e.get("trial")]
        self.assertEqual(tried, ["race"] * len(tried))

    def test_a_pipe_that_is_a_lock(self):
        self.assertEqual(self.check("token", options=("--trials", "10")), (66, {("++shared", "++shared")}))
        with open(os.path.join(self.folder, "deadheat-check/findings.json"), encoding="utf-8") as file:
            campaign = json.load(file)["origins"][-1]
        left = {one["name"]: one["value"] for one in campaign["counters"]}
        self.assertEqual(left.get("outside", 0), 0, left)  # no thread waited in the kernel while holding the baton
        self.assertEqual(self.check("token", "-DSAFE", options=("--trials", "10")), (0, set()))

    def test_main_ends_the_process_early(self):
        self.assertEqual(self.check("unjoined"), (66, {("late = 1", "late = 2")}))
        done = subprocess.run([TOOL, "replay", "--follow", "deadheat-check/findings.json"], capture_output=True, text=True, check=False,
                              timeout=280, cwd=self.folder, stdin=subprocess.DEVNULL)
        self.assertRegex(done.stderr, "all [0-9,]+ decisions are the same", done)

    def test_endless_output(self):
        options = ("--trials", "3", "--undisturbed", "1", "--timeout", "3")
        self.assertEqual(self.check("loud", options=options), (66, {("++shared", "++shared")}))

    def test_signals_for_who_is_held_back(self):
        self.assertEqual(self.check("signalled"), (66, {("++counter", "++counter")}))
        self.assertFalse([e for one in self.findings for e in one["evidence"] if e.get("consequence")])  # none hung

    def test_a_handler_writes_what_its_thread_waits_for(self):
        self.assertEqual(self.check("selfpipe", options=("--trials", "6", "--timeout", "10")), (66, {("++shared", "++shared")}))
        self.assertFalse([e for one in self.findings for e in one["evidence"] if e.get("consequence")])  # none hung
        self.assertEqual(self.check("selfpipe", "-DSAFE", options=("--trials", "6", "--timeout", "10")), (0, set()))

    def test_event_loops(self):
        self.assertEqual(self.check("events"), (66, {("++served", "++served")}))
        self.assertFalse([e for one in self.findings for e in one["evidence"] if e.get("consequence")])  # none hung
        done = subprocess.run([TOOL, "replay", "deadheat-check/findings.json"], capture_output=True, text=True, check=False,
                              timeout=280, cwd=self.folder, stdin=subprocess.DEVNULL)
        self.assertRegex(done.stderr, "all [0-9,]+ decisions are the same", done)


if __name__ == "__main__":
    unittest.main()

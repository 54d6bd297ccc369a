#!/usr/bin/python3
"""What the runtime has no room for is counted, and the counter reaches the report; below the cap there is none.

usage: losses_test.py DEADHEAT DEADHEAT_CC
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.realpath(__file__))
DEADHEAT = WRAPPER = None


class Losses(unittest.TestCase):
    def setUp(self):
        self.work = tempfile.mkdtemp(prefix="losses.")
        self.addCleanup(shutil.rmtree, self.work)
        self.env = {**os.environ, "DEADHEAT_CC": "gcc"}
        self.env.pop("DEADHEAT_OPTIONS", None)

    def build(self, name, *flags):
        program = os.path.join(self.work, name)
        subprocess.run([WRAPPER, "-O1", "-g", *flags, os.path.join(HERE, name + ".c"), "-o", program, "-lpthread"],
                       env=self.env, check=True, timeout=280)
        return program

    def run_program(self, program):
        """The exit status, and the counters of findings.json that are not zero."""
        findings = os.path.join(self.work, "findings.json")
        done = subprocess.run([DEADHEAT, "run", "--findings", findings, "--", program], env=self.env, capture_output=True,
                              text=True, timeout=280)
        with open(findings, encoding="utf-8") as file:
            origin = json.load(file)["origins"][0]
        return done, {one["name"]: one for one in origin["counters"] if one["value"] > 0}

    def try_program(self, program, *arguments, lines=()):
        """One trial, asked for by hand: its lines, and the counters of the last."""
        request, raw = os.path.join(self.work, "trial"), os.path.join(self.work, "raw")
        with open(request, "w", encoding="utf-8") as file:
            file.write("\n".join(("deadheat-trial 1", "strategy serial", "seed 7", *lines)) + "\n")
        if os.path.exists(raw):
            os.remove(raw)
        library = os.path.join(os.path.dirname(DEADHEAT), "../lib/deadheat/schedule")
        subprocess.run([program, *arguments], timeout=280, capture_output=True, env={
            **self.env, "LD_LIBRARY_PATH": library, "DEADHEAT_OPTIONS": f"trial_path='{request}':raw_path='{raw}'"})
        with open(raw, encoding="utf-8") as file:
            found = [json.loads(line) for line in file]
        return found, {one["name"]: one for one in found[-1]["counters"] if one["value"] > 0}

    def test_benign_ranges(self):
        done, counters = self.run_program(self.build("benign", "-DRANGES=300"))
        self.assertEqual(done.returncode, 66, done.stdout + done.stderr)
        # The second round of the 44 is dropped again.
        self.assertEqual(counters["benign_ranges_dropped"]["value"], 2 * 44)
        self.assertIn("beyond the first 256", done.stdout + done.stderr)
        done, counters = self.run_program(self.build("benign", "-DRANGES=256"))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertNotIn("benign_ranges_dropped", counters)

    def test_suppressions_that_do_not_fit_the_first_line(self):
        done, counters = self.run_program(self.build("suppressions", "-DSIZE=70000"))
        self.assertEqual(done.returncode, 66, done.stdout + done.stderr)
        self.assertEqual(counters["report_lines_cut"]["value"], 1)
        self.assertEqual(counters["processes"]["value"], 1)
        self.assertNotIn("raw_lines_damaged", counters)
        done, counters = self.run_program(self.build("suppressions", "-DSIZE=60000"))
        self.assertEqual(done.returncode, 66, done.stdout + done.stderr)
        self.assertNotIn("report_lines_cut", counters)

    def test_descriptors_without_order(self):
        done, counters = self.run_program(self.build("descriptors", "-DAT=70000"))
        if done.returncode == 3:
            self.skipTest("the limit of open files is below 70002")
        self.assertGreaterEqual(counters["descriptors_not_followed"]["value"], 2)
        _, counters = self.run_program(self.build("descriptors", "-DAT=900"))
        self.assertNotIn("descriptors_not_followed", counters)

    def test_a_deadlock_of_many_threads_is_told_with_those_that_fit(self):
        program = self.build("stuck")
        lines, counters = self.try_program(program)
        stuck = [line for line in lines if line["t"] == "deadlock"]
        self.assertEqual(len(stuck), 1, [line["t"] for line in lines])
        self.assertTrue(10 < len(stuck[0]["threads"]) < 121, len(stuck[0]["threads"]))
        self.assertEqual(counters["report_lines_cut"]["value"], 1)
        self.assertTrue(counters["report_lines_cut"]["loss"])
        lines, counters = self.try_program(program, "few")
        self.assertEqual([len(line["threads"]) for line in lines if line["t"] == "deadlock"], [3])
        self.assertNotIn("report_lines_cut", counters)

    def test_sites_of_a_trial(self):
        program = self.build("stuck")
        sites = [f"site 0 {at:x} - {program}" for at in range(5000)]
        _, counters = self.try_program(program, "few", lines=sites)
        self.assertEqual(counters["sites_dropped"]["value"], 5000 - 4096)
        self.assertTrue(counters["sites_dropped"]["loss"])
        _, counters = self.try_program(program, "few", lines=sites[:4096])
        self.assertNotIn("sites_dropped", counters)


if __name__ == "__main__":
    DEADHEAT, WRAPPER = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1])

#!/usr/bin/python3
"""Programs that were built with plain deadheat-cc, by clang and by gcc: validated by their own hooks, and by check --static
together with the scheduler.

usage: hooked_test.py DEADHEAT DEADHEAT_CC PROGRAMS
"""
import json
import os
import shutil
import subprocess
import sys
import unittest

from bench import Validation, candidate, lines_of

PATIENT = ("--tau", "1", "--tau-step", "1000", "--tau-most", "3000", "--at-once", "1")
COMPILERS = [name for name in ("clang-19", "gcc") if shutil.which(name)]


class Hooked(Validation):
    def plain(self, name, compiler, *options):
        done = subprocess.run([self.compiler, "-g", "-O1", "-pthread", *options, self.source(name), "-o", self.path("program")],
                              env={**os.environ, "DEADHEAT_CC": compiler}, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)

    def ways(self):
        path = self.source("ways.c")
        self.write_candidates(candidate(path, ("put", lines_of(path, r"data = value;")[0], "write"),
                                        ("take", lines_of(path, r"taken = data;")[0], "read")))

    def test_a_race_is_made_to_happen(self):
        for compiler in COMPILERS:
            with self.subTest(compiler=compiler):
                self.ways()
                self.plain("ways.c", compiler)
                status, findings, text = self.validate(self.path("program"), "none", options=PATIENT)
                self.assertEqual((status, self.state(self.only(findings, text))), (66, "true_race"), text)
                os.remove(self.path("out.json"))

    def test_synchronised_pairs_are_never_true_races(self):
        for compiler in COMPILERS:
            self.ways()
            self.plain("ways.c", compiler)
            for way in ("mutex", "semaphore", "release", "fence", "join"):
                with self.subTest(compiler=compiler, way=way):
                    status, findings, text = self.validate(self.path("program"), way, options=("--tau-most", "51"))
                    self.assertEqual(status, 0, text)
                    self.assertEqual(self.state(self.only(findings, text)), "likely_false_positive", text)

    @unittest.skipUnless("gcc" in COMPILERS, "no gcc")
    def test_without_marks_of_unseen_code_nothing_is_observed(self):
        """gcc's own instrumentation: no plugin, so no marks."""
        self.ways()
        subprocess.run(["gcc", "-g", "-O1", "-fsanitize=thread", "-c", self.source("ways.c"), "-o", self.path("ways.o")], check=True)
        subprocess.run([self.compiler, "-pthread", self.path("ways.o"), "-o", self.path("program")], check=True,
                       env={**os.environ, "DEADHEAT_CC": "gcc"})
        status, findings, text = self.validate(self.path("program"), "relaxed", options=("--no-steering",))
        self.assertEqual(status, 0, text)
        self.assertNotEqual(self.state(self.only(findings, text)), "true_race", text)

    def test_sites_that_are_not_there_are_said(self):
        self.write_candidates(candidate("/elsewhere/other.c", ("f", 1, "write"), ("g", 2, "read")))
        self.plain("spin.c", COMPILERS[0])
        status, _, text = self.validate(self.path("program"))
        self.assertEqual(status, 77, text)
        self.assertIn("match nothing in the program", text)

    def test_a_prepared_server_is_attached_to(self):
        self.ways()
        self.plain("ways.c", COMPILERS[0])
        done = self.run_in(self.deadheat, "validate", "candidates.json", "--prepare", "sites", "--", "./program", "none")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("validate_sites=" + self.path("sites"), done.stdout)
        with open(self.path("sites"), encoding="utf-8") as file:
            text = file.read()
        self.assertTrue(text.startswith("deadheat-validate-sites 1\nlist "), text)
        self.assertEqual(self.run_in("sh", "-c", done.stdout).returncode, 0)
        # A file that makes no sense is one line, and the program runs as it is.
        for damage in (text.replace("pair 1 2", "pair 1 9"), text[:30], "other 1\n", text.replace("place 1", "place 77")):
            with open(self.path("sites"), "w", encoding="utf-8") as file:
                file.write(damage)
            ran = self.run_in("sh", "-c", done.stdout)
            self.assertEqual(ran.returncode, 0, ran.stderr)
            self.assertIn("nothing is validated", ran.stderr)


class Static(Validation):
    """check --static: the scheduler and the validator share one engine."""

    def check(self, way):
        done = self.run_in(self.compiler, "--scan", "-g", "-O1", "-pthread", self.source("ways.c"), "-o", self.path("program"))
        self.assertEqual(done.returncode, 0, done.stderr)
        done = self.run_in(self.deadheat, "check", "--static", "--trials", "5", "--undisturbed", "2", "--findings",
                           self.path("out.json"), "--", self.path("program"), way)
        with open(self.path("out.json"), encoding="utf-8") as file:
            return done, json.load(file)["findings"]

    def test_a_suspicion_that_is_none_is_tried_by_both(self):
        done, findings = self.check("semaphore")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        tried = {e["trial"]["confirmer"] for finding in findings for e in finding["evidence"] if "trial" in e}
        self.assertEqual(tried, {"schedule", "validate"}, done.stdout + done.stderr)
        self.assertNotIn("true_race", [self.state(finding) for finding in findings])

    def test_a_race_is_proven(self):
        done, findings = self.check("none")
        self.assertEqual(done.returncode, 66, done.stdout + done.stderr)
        self.assertIn("true_race", [self.state(finding) for finding in findings])


if __name__ == "__main__":
    Validation.deadheat, Validation.compiler, Validation.programs = sys.argv[1:4]
    if shutil.which("clang-19") is None:
        print("validate: skipped: no clang-19 (install the package of that name)")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1] + sys.argv[4:])

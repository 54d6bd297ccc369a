#!/usr/bin/python3
"""Programs with many ways of order, in one execution each: no ordered pair is a true race, and each racy twin is found.

usage: ways_test.py DEADHEAT DEADHEAT_CC PROGRAMS
"""
import os
import re
import shutil
import sys
import unittest

from bench import Validation, candidate, lines_of

# Their late puts still come before the end of the thread, which is what publishes them.
SAFE_WHEN_LATE = ("robust_mutex", "thread_local_destructor")
RACY = ("--tau", "1", "--tau-step", "100", "--tau-most", "501")


class Ways(Validation):
    def try_ways(self, name):
        path = self.source(name)
        with open(path, encoding="utf-8") as file:
            places = {match[1]: number for number, line in enumerate(file, 1) if (match := re.match(r"AWAIT\((\w+)\)", line))}
        self.assertGreater(len(places), 20)
        pairs = [candidate(path, (f"put_{way}", line, "write"), (f"take_{way}", line, "read")) for way, line in places.items()]
        self.write_candidates(*pairs)
        self.compiler = self.compiler.removesuffix("cc") + "c++"
        self.build(name, "-std=c++20", "-w", "-latomic")
        for options in (("--no-steering", "--tau-most", "1"), ("--tau-most", "51")):
            status, findings, text = self.validate(self.path("program"), options=options)
            wrong = [way for way, finding in zip(places, findings) if self.state(finding) == "true_race"]
            self.assertEqual((status, wrong, len(findings)), (0, [], len(places)))
        racy = {way: pair for way, pair in zip(places, pairs) if way not in SAFE_WHEN_LATE}
        self.write_candidates(*racy.values(), name="late.json")
        status, findings, text = self.validate(self.path("program"), "late", options=RACY, candidates="late.json")
        missed = [way for way, finding in zip(racy, findings) if self.state(finding) != "true_race"]
        self.assertEqual((status, missed), (66, []), text)

    def test_of_the_kernel(self):
        self.try_ways("kernel_ways.cc")

    def test_of_the_language(self):
        self.try_ways("language_ways.cc")


class Flags(Validation):
    def test_an_atomic_of_code_that_is_not_instrumented(self):
        library = self.path("libplain.so")
        self.assertEqual(self.run_in("clang-19", "-O1", "-shared", "-fPIC", self.source("plain_flag.c"), "-o", library).returncode, 0)
        path = self.source("flags.c")
        self.write_candidates(candidate(path, ("put", lines_of(path, r"data = 1;")[0], "write"), ("take", lines_of(path, r"taken = data;")[0], "read")))
        self.build("flags.c", library, f"-Wl,-rpath,{self.folder}")
        for way in ("sets", "waits"):
            status, findings, text = self.validate(self.path("program"), way, options=("--no-steering", "--tau-most", "1"))
            self.assertEqual(status, 0, text)
            self.assertNotEqual(self.state(self.only(findings, text)), "true_race", text)
        status, findings, text = self.validate(self.path("program"), "none", options=RACY)
        self.assertEqual((status, self.state(self.only(findings, text))), (66, "true_race"), text)


class Chains(Validation):
    """A site may be reached through what another site loads."""

    def test_each_site_is_checked_at_its_address(self):
        path = self.source("chain.c")
        line = lines_of(path, r"->value \+= value")[0]
        with open(self.path("list.txt"), "w", encoding="utf-8") as file:
            file.write(f"chain.c:{line} chain.c:{line}\n")
        ours = ("-O1", "-S", "-emit-llvm", path, "-o", self.path("chain.ll"))
        self.assertEqual(self.run_in(self.compiler, "--candidates", self.path("list.txt"), *ours).returncode, 0)
        done = self.run_in("clang-19", "-c", self.path("chain.ll"), "-o", self.path("chain.o"))
        self.assertEqual(done.returncode, 0, done.stderr)
        for safe in (False, True):
            self.build("chain.c", *(["-DSAFE"] if safe else []), candidates="list.txt")
            status, findings, text = self.validate(self.path("program"), options=() if safe else RACY, candidates="list.txt")
            self.assertEqual((status, self.state(self.only(findings, text)) == "true_race"), (0 if safe else 66, not safe), text)
            os.remove(self.path("out.json"))


class Jumps(Validation):
    def test_a_handler_that_jumps_away_from_an_access(self):
        """The access is never made: what comes after the jump does not meet it."""
        path = self.source("jumps.c")
        self.write_candidates(candidate(path, ("put", lines_of(path, r"data = 1;")[0], "write"), ("take", lines_of(path, r"data = 2;")[0], "write")))
        self.build("jumps.c")
        patient = ("--tau", "20", "--tau-step", "100", "--tau-most", "120")
        status, findings, text = self.validate(self.path("program"), options=patient)
        self.assertEqual(status, 0, text)
        self.assertNotEqual(self.state(self.only(findings, text)), "true_race", text)
        status, findings, text = self.validate(self.path("program"), "racy", options=patient)
        self.assertEqual((status, self.state(self.only(findings, text))), (66, "true_race"), text)


class Optimised(Validation):
    """The compiler may look at what the program only looks at under a condition: no access of the program, so no race."""

    def both(self, name, first, second, optimisation):
        path = self.source(name)
        self.write_candidates(candidate(path, (first[0], lines_of(path, first[1])[0], "write"), (second[0], lines_of(path, second[1])[0], "read")))
        self.build(name, optimisation)
        status, findings, text = self.validate(self.path("program"), options=("--tau-most", "51"))
        self.assertEqual((status, self.state(self.only(findings, text))), (0, "likely_false_positive"), text)
        status, findings, text = self.validate(self.path("program"), "racy", options=RACY)
        self.assertEqual((status, self.state(self.only(findings, text))), (66, "true_race"), text)

    def test_a_choice(self):
        for optimisation in ("-O1", "-O2"):
            self.both("choice.c", ("put", r"data = value;"), ("get", r"\? data :"), optimisation)

    def test_a_loop(self):
        self.both("owners.c", ("write_own", r"cells\[i\] = "), ("sum_of", r"sum \+= "), "-O3")


if __name__ == "__main__":
    Validation.deadheat, Validation.compiler, Validation.programs = sys.argv[1:4]
    if shutil.which("clang-19") is None:
        print("validate: skipped: no clang-19 (install the package of that name)")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1] + sys.argv[4:])

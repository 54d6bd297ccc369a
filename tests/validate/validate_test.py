#!/usr/bin/python3
"""deadheat-cc --candidates and deadheat validate, end to end: true races become so, ordered pairs never do.

usage: validate_test.py DEADHEAT DEADHEAT_CC PROGRAMS
"""
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import unittest

from bench import Validation, candidate, lines_of

# A busy machine may keep the other thread away for long: the largest tau decides what is found, not the time it takes.
PATIENT = ("--tau", "1", "--tau-step", "1000", "--tau-most", "3000", "--at-once", "1")


class Benches(Validation):
    """Table 5 of the paper: 1/1, 1/1, 1/1, 3/3; the safe twins 0."""

    def of_two(self, name, safe, first, second):
        path = self.source(name)
        (_, pattern_a, access_a), (_, pattern_b, access_b) = first, second
        line_a, line_b = lines_of(path, pattern_a)[safe], lines_of(path, pattern_b)[0 if name == "bench2.c" else 1 - safe]
        self.write_candidates(candidate(path, (first[0], line_a, access_a), (second[0], line_b, access_b)))

    def judge(self, name, *words, safe=False, options=PATIENT):
        self.build(name, *(["-DSAFE"] if safe else []))
        status, findings, text = self.validate(self.path("program"), *words, options=options)
        self.assertEqual(status, 0 if safe else 66, text)
        states = [self.state(finding) for finding in findings]
        if safe:
            self.assertNotIn("true_race", states, text)
        return findings, text

    def test_bench1(self):
        self.of_two("bench1.c", False, ("first", r"x = 1;", "write"), ("second", r"x = 2;", "write"))
        findings, text = self.judge("bench1.c")
        self.assertEqual(self.state(self.only(findings, text)), "true_race", text)

    def test_bench1_safe(self):
        self.of_two("bench1.c", True, ("first", r"x = 1;", "write"), ("second", r"x = 2;", "write"))
        findings, text = self.judge("bench1.c", safe=True)
        self.assertEqual(self.state(self.only(findings, text)), "likely_false_positive", text)

    def test_bench2(self):
        self.of_two("bench2.c", False, ("writer", r"x = 1;", "write"), ("last", r"x = 2;", "write"))
        findings, text = self.judge("bench2.c")
        self.assertEqual(self.state(self.only(findings, text)), "true_race", text)

    def test_bench2_safe(self):
        self.of_two("bench2.c", False, ("writer", r"x = 1;", "write"), ("last", r"x = 2;", "write"))
        self.judge("bench2.c", safe=True)

    def test_bench3(self):
        path = self.source("bench3.c")
        self.write_candidates(candidate(path, ("producer", lines_of(path, r"x = 1;")[1], "write"),
                                        ("consumer", lines_of(path, r"seen = x;")[1], "read")))
        findings, text = self.judge("bench3.c")
        self.assertEqual(self.state(self.only(findings, text)), "true_race", text)

    def test_bench3_safe(self):
        path = self.source("bench3.c")
        self.write_candidates(candidate(path, ("producer", lines_of(path, r"x = 1;")[0], "write"),
                                        ("consumer", lines_of(path, r"seen = x;")[0], "read")))
        self.judge("bench3.c", safe=True)

    def bench4_candidates(self):
        path = self.source("bench4.c")
        sites = [(function, lines_of(path, pattern)[0], "write")
                 for function, pattern in (("one", r"x \+= 1"), ("two", r"y \+= 2"), ("three", r"z \+= 3"))]
        self.write_candidates(*[candidate(path, site, site) for site in sites])

    def test_bench4_finds_what_the_input_reaches(self):
        self.bench4_candidates()
        self.build("bench4.c")
        for which in range(4):
            status, findings, text = self.validate(self.path("program"), str(which), options=PATIENT)
            self.assertEqual(status, 66 if which else 0, text)
            expected = ["true_race" if i + 1 == which else "unknown" for i in range(3)]
            self.assertEqual([self.state(finding) for finding in findings], expected, text)
            os.remove(self.path("out.json"))

    def test_bench4_safe(self):
        self.bench4_candidates()
        self.judge("bench4.c", "2", safe=True)


class Ways(Validation):
    """One pair of accesses under every kind of synchronisation."""

    def setUp(self):
        super().setUp()
        path = self.source("ways.c")
        self.write_candidates(candidate(path, ("put", lines_of(path, r"data = value;")[0], "write"),
                                        ("take", lines_of(path, r"taken = data;")[0], "read")))
        self.build("ways.c")

    def test_synchronised_pairs_are_never_true_races(self):
        for way in ("mutex", "rwlock", "spin", "condition", "semaphore", "pipe", "barrier", "release", "fence", "exchange",
                    "join"):
            with self.subTest(way=way):
                status, findings, text = self.validate(self.path("program"), way, options=("--tau-most", "51"))
                self.assertEqual(status, 0, text)
                self.assertEqual(self.state(self.only(findings, text)), "likely_false_positive", text)

    def test_without_synchronisation(self):
        status, findings, text = self.validate(self.path("program"), "none", options=PATIENT)
        self.assertEqual((status, self.state(self.only(findings, text))), (66, "true_race"), text)

    def test_a_relaxed_flag_orders_nothing(self):
        status, findings, text = self.validate(self.path("program"), "relaxed", options=("--tau-most", "51"))
        self.assertEqual((status, self.state(self.only(findings, text))), (66, "true_race"), text)
        self.assertEqual(findings[0]["verdict"]["basis"], "observed", text)


class Orders(Validation):
    """Orders that are easily missed: each would be a wrong true race. And their racy twins, which must not be lost for it."""

    ONE_WAY = ("condition", "c11", "reader", "consume", "release", "failing", "fence", "fence_acquire", "release_fence", "sequence",
               "chain", "asm_goto", "system_calls", "timer")
    LOCKS = ("peterson", "exchange")

    def setUp(self):
        super().setUp()
        path = self.source("orders.c")
        write, read = ("put", lines_of(path, r"void put\(")[0], "write"), ("take", lines_of(path, r"void take\(")[0], "read")
        self.write_candidates(candidate(path, write, read), candidate(path, write, write))
        self.build("orders.c")

    def test_no_order_is_missed(self):
        library = self.path("plain_pool.so")
        self.assertEqual(self.run_in("clang-19", "-O1", "-shared", "-fPIC", "-pthread", self.source("plain_pool.c"), "-o", library).returncode, 0)
        for words in (*((way,) for way in (*self.ONE_WAY, *self.LOCKS, "heap", "map", "stack", "fiber")), ("pool", library)):
            with self.subTest(way=words[0]):
                status, findings, text = self.validate(self.path("program"), *words, options=("--tau-most", "51"))
                self.assertEqual(status, 0, text)
                self.assertNotIn("true_race", [self.state(finding) for finding in findings], text)

    def test_the_same_without_order_is_a_race(self):
        for way in (*self.ONE_WAY, *self.LOCKS):
            with self.subTest(way=way):
                status, findings, text = self.validate(self.path("program"), way, "late", options=PATIENT)
                self.assertEqual((status, self.state(findings[0])), (66, "true_race"), text)


class Routines(Validation):
    def test_the_first_function_is_the_programs_own(self):
        path = self.source("first.c")
        line = lines_of(path, r"counter \+ 1")[0]
        self.write_candidates(candidate(path, ("run", line, "write"), ("run", line, "write")))
        self.build("first.c")
        status, findings, text = self.validate(self.path("program"), options=("--no-steering", "--bound", "60000"))
        self.assertEqual((status, self.state(self.only(findings, text))), (66, "true_race"), text)
        self.assertEqual(findings[0]["verdict"]["basis"], "observed", text)


class Consequences(Validation):
    def test_of_several_races_the_one_that_crashes_is_found(self):
        """Both are tried in the same executions; what failed is tried again, one at a time."""
        path = self.source("closes.c")
        count = lines_of(path, r"counter \+ 1")[0]
        self.write_candidates(
            candidate(path, ("clear", lines_of(path, r"place = 0")[0], "write"), ("get", lines_of(path, r"return place")[0], "read")),
            candidate(path, ("count", count, "write"), ("count", count, "write")))
        self.build("closes.c")
        status, findings, text = self.validate(self.path("program"), options=("--tau", "3000", "--tau-most", "3000", "--at-once", "16"))
        self.assertEqual(status, 66, text)
        self.assertEqual(findings[0]["verdict"].get("consequence", {}).get("kind"), "crash", text + str(findings[0]["verdict"]))
        self.assertNotIn("consequence", findings[1]["verdict"], text)


class Interrupts(Validation):
    """The user knows a hang when he sees one; time alone says nothing."""

    def interrupted(self, *options, answer=""):
        path = self.source("stuck.c")
        self.write_candidates(candidate(path, ("put", lines_of(path, r"data = 1;")[0], "write"),
                                        ("take", lines_of(path, r"return data;")[0], "read")))
        self.build("stuck.c")
        words = [self.deadheat, "validate", self.path("candidates.json"), "--findings", self.path("out.json"), "--tau", "20000",
                 "--tau-most", "20000", "--at-once", "1", *options, "--", self.path("program"), self.path("hangs")]
        with subprocess.Popen(words, cwd=self.folder, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                              text=True) as process:
            until = time.monotonic() + 100
            while not os.path.exists(self.path("hangs")) and process.poll() is None and time.monotonic() < until:
                time.sleep(0.05)
            process.send_signal(signal.SIGINT)
            errors = process.communicate(answer, timeout=100)[1]
        self.assertTrue(os.path.exists(self.path("hangs")), errors)
        with open(self.path("out.json"), encoding="utf-8") as file:
            findings = json.load(file)["findings"]
        return [e["consequence"]["kind"] for e in findings[0]["evidence"] if "consequence" in e], errors

    def test_who_says_that_it_hangs_is_believed_until_it_comes_again(self):
        consequences, errors = self.interrupted("--ask", answer="y\n")
        self.assertIn("did the program misbehave", errors)
        self.assertEqual(consequences, ["hang"], errors)

    def test_without_a_question_an_interrupt_says_nothing(self):
        consequences, errors = self.interrupted()
        self.assertEqual(consequences, [], errors)


class Builds(Validation):
    def test_a_waiting_loop_is_left_alone_and_named(self):
        path = self.source("spin.c")
        self.write_candidates(
            candidate(path, ("starter", lines_of(path, r"go = 1")[0], "write"), ("main", lines_of(path, r"while")[0], "read")))
        self.build("spin.c")
        status, findings, text = self.validate(self.path("program"))
        self.assertNotEqual(status, 66, text)
        self.assertEqual(self.state(self.only(findings, text)), "unknown")
        self.assertIn("only waits in an empty loop", findings[0]["evidence"][0]["why"])

    def test_candidates_of_another_program_are_one_line(self):
        path = self.source("spin.c")
        self.write_candidates(candidate("/elsewhere/other.c", ("f", 1, "write"), ("g", 2, "read")))
        self.build("spin.c")
        status, _, text = self.validate(self.path("program"))
        self.assertEqual(status, 77, text)
        self.assertIn("match nothing in the program", text)
        self.assertEqual(self.run_in(self.path("program")).returncode, 0)
        self.write_candidates(candidate(path, ("starter", 6, "write"), ("main", 13, "read")), name="others.json")
        status, _, text = self.validate(self.path("program"), candidates="others.json")
        self.assertEqual(status, 77, text)
        self.assertIn("none of the 1 candidates is one that the program was built for", text)

    def test_lines_that_moved_are_found_again(self):
        path = self.source("ways.c")
        with open(path, encoding="utf-8") as file:
            text = file.read()
        moved = self.path("ways.c")
        with open(moved, "w", encoding="utf-8") as file:
            file.write("/* one\n * two\n * three */\n" + text)
        put, take = lines_of(path, r"data = value;")[0], lines_of(path, r"taken = data;")[0]
        first = candidate(path, ("put", put, "write"), ("take", take, "read"))
        for role, line in zip(first["roles"], (put, take)):
            role["site"]["source_text"] = text.splitlines()[line - 1]
        self.write_candidates(first)
        done = self.run_in(self.compiler, "--candidates", "candidates.json", "-O2", "-pthread", moved, "-o", self.path("program"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("2 instrumented", self.run_in(self.deadheat, "verify", self.path("program")).stdout)
        status, findings, text = self.validate(self.path("program"), "none", options=PATIENT)
        self.assertEqual((status, self.state(self.only(findings, text))), (66, "true_race"), text)

    def test_a_plain_list_of_lines(self):
        path = self.source("ways.c")
        put, take = lines_of(path, r"data = value;")[0], lines_of(path, r"taken = data;")[0]
        with open(self.path("list.txt"), "w", encoding="utf-8") as file:
            file.write(f"# by hand\nways.c:{put} ways.c:{take}\n")
        self.build("ways.c", candidates="list.txt")
        self.assertIn("2 instrumented", self.run_in(self.deadheat, "verify", self.path("program")).stdout)
        status, findings, text = self.validate(self.path("program"), "none", options=PATIENT, candidates="list.txt")
        self.assertEqual((status, self.state(self.only(findings, text))), (66, "true_race"), text)
        status, findings, text = self.validate(self.path("program"), "mutex", options=("--tau-most", "51"), candidates="list.txt")
        self.assertEqual((status, self.state(self.only(findings, text))), (0, "likely_false_positive"), text)

    def test_the_input_stays_and_a_second_run_goes_on(self):
        path = self.source("ways.c")
        self.write_candidates(candidate(path, ("put", lines_of(path, r"data = value;")[0], "write"),
                                        ("take", lines_of(path, r"taken = data;")[0], "read")))
        self.build("ways.c")
        with open(self.path("candidates.json"), encoding="utf-8") as file:
            before = file.read()
        self.assertEqual(self.validate(self.path("program"), "none", options=PATIENT)[0], 66)
        with open(self.path("candidates.json"), encoding="utf-8") as file:
            self.assertEqual(file.read(), before)
        shutil.copy(self.path("out.json"), self.path("half.json"))
        status, findings, text = self.validate(self.path("program"), "none", options=PATIENT, candidates="half.json")
        self.assertEqual(status, 66, text)
        with open(self.path("half.json"), encoding="utf-8") as file:
            known = json.load(file)["findings"][0]["evidence"]
        self.assertEqual(len(findings[0]["evidence"]), len(known), text)  # it was decided

    def test_gcc_is_refused_in_one_line(self):
        self.write_candidates(candidate("/x.c", ("f", 1, "write"), ("g", 2, "read")))
        done = self.run_in("env", "DEADHEAT_CC=gcc", self.compiler, "--candidates", "candidates.json", "-c", self.source("spin.c"))
        self.assertEqual(done.returncode, 1)
        self.assertIn("--candidates needs clang 19", done.stderr)


if __name__ == "__main__":
    Validation.deadheat, Validation.compiler, Validation.programs = sys.argv[1:4]
    if shutil.which("clang-19") is None:
        print("validate: skipped: no clang-19 (install the package of that name)")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1] + sys.argv[4:])

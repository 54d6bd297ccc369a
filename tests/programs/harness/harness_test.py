#!/usr/bin/python3
"""The runner's own rules: what counts as found, missed and false, and how other tools' reports are read."""
import os
import sys
import tempfile
import time
import types
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from harness import builders, checks, detectors, judge, suite  # noqa: E402

TWO_RACES = """// A program.
// build: std=c11 flags=-mavx,-O1
int a, b;
void f(void) {
  a = 1;  // RACE! a
  b = 1;  // RACE! b // RACE! a
  a = 2;  // RACE? a
  b = 3;  // NORACE
}
"""


class Suite(unittest.TestCase):
    def source(self, text, name="x.c"):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        with open(os.path.join(folder.name, name), "w", encoding="utf-8") as file:
            file.write(text)
        return suite.Source(name, folder.name)

    def verdict(self, findings, safe=False, both_sides=True):
        result = judge.Result(self.source(TWO_RACES), safe)
        return judge.judge(result, [tuple(("x.c", line) for line in lines) for lines in findings], both_sides)

    def test_header_and_marks(self):
        source = self.source(TWO_RACES)
        self.assertEqual(source.header, {"std": "c11", "flags": ["-mavx", "-O1"]})
        self.assertEqual(source.races, {"a": {("x.c", 5), ("x.c", 6)}, "b": {("x.c", 6)}})
        self.assertIn(("x.c", 7), source.lines["a"])

    def test_headers_that_make_no_sense(self):
        for text in ("// build: colour=red\nint a;  // RACE!\n", "// order. build: std=c11\nint a;  // RACE!\n",
                     "int a;\n", "int a;  // MISS\n"):
            with self.assertRaises(suite.SuiteError, msg=text):
                self.source(text)

    def test_found_missed_false(self):
        self.assertEqual(self.verdict([(5, 6), (6,)]).outcome, "true")
        self.assertEqual(self.verdict([(5, 6), (6,), (5, 7)]).outcome, "true")
        missed = self.verdict([(6,)])
        self.assertEqual((missed.outcome, missed.missed), ("missed", ["a: x.c:5"]))
        self.assertEqual(self.verdict([(6,)], both_sides=False).outcome, "true")
        self.assertEqual(self.verdict([]).outcome, "missed")
        self.assertEqual(self.verdict([(5, 6), (6,), (5, 8)]).outcome, "false")
        self.assertEqual(self.verdict([(5, 6)], safe=True).outcome, "false")
        self.assertEqual(self.verdict([], safe=True).outcome, "silent")

    def test_a_found_miss_is_not_good(self):
        source = self.source("int a;  // RACE!\nint b;  // MISS too far back\n")
        result = judge.judge(judge.Result(source, False), [(("x.c", 1),), (("x.c", 2),)], True)
        self.assertFalse(result.good)


class Reports(unittest.TestCase):
    def test_thread_sanitizer(self):
        here = os.path.realpath(os.path.dirname(os.path.abspath(__file__)))
        text = f"""==================
WARNING: ThreadSanitizer: data race (pid=1)
  Read of size 4 at 0x1 by thread T2:
    #0 memcpy <null> (program+0x1)
    #1 reader {here}/judge.py:17:3 (program+0x2)

  Previous atomic write of size 4 at 0x1 by thread T1:
    #0 writer {here}/suite.py:9 (program+0x3)

  Location is global 'x' of size 4 at 0x1 (program+0x4)

  Thread T2 (tid=3, running) created by main thread at:
    #0 main {here}/checks.py:1 (program+0x5)
==================
"""
        self.assertEqual(detectors.parse_tsan(text, here), [(("judge.py", 17), ("suite.py", 9))])

    def test_innermost_frame_of_the_suite(self):
        here = os.path.realpath(os.path.dirname(os.path.abspath(__file__)))
        frames = [("/usr/include/c++/12/thread", 5), (None, None), (f"{here}/judge.py", 7), (f"{here}/suite.py", 8)]
        self.assertEqual(detectors.site_of(frames, here), ("judge.py", 7))
        self.assertIsNone(detectors.site_of([("nptl/pthread_once.c", 116)], here))


class Kept(unittest.TestCase):
    def test_built_once_until_what_it_is_made_of_changes(self):
        with tempfile.TemporaryDirectory() as top:
            for name in ("apps/deadheat-cc", "lib/deadheat/libdeadheat.so"):
                os.makedirs(os.path.dirname(f"{top}/{name}"))
                with open(f"{top}/{name}", "w", encoding="utf-8"):
                    pass
            built = []

            def build():
                tool = builders.Builder("deadheat", "gcc", "O1", f"{top}/apps/deadheat", f"{top}/kept")
                tool._build = lambda *arguments: built.append(arguments)
                return tool.build(types.SimpleNamespace(name="a/b.c"), False, f"{top}/run")

            self.assertEqual([build(), build()], [f"{top}/kept/deadheat-gcc-O1/a/b/racy/program"] * 2)
            self.assertEqual(len(built), 1)
            later = time.time() + 10
            os.utime(f"{top}/lib/deadheat/libdeadheat.so", (later, later))
            build()
            self.assertEqual(len(built), 2)


class Identity(unittest.TestCase):
    def test_counts(self):
        labels = {"0|a|0": "A", "1|a|0": "A", "0|a|1": "B", "1|a|1": "B"}
        self.assertEqual(checks.count_matches([["0|a|0", "1|a|0"], ["0|a|1"], ["1|a|1"]], labels)[:3], (2, 1, []))
        self.assertEqual(checks.count_matches([["0|a|0", "1|a|0", "0|a|1"], ["1|a|1"]], labels)[2], [["A", "B"]])


if __name__ == "__main__":
    unittest.main()

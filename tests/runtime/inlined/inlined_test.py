"""Inlined checks: at every level, in libraries that are loaded later, with link-time optimisation, and in each mode.

usage: inlined_test.py DEADHEAT DEADHEAT_CC
"""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.realpath(os.path.join(HERE, "../../.."))
DEADHEAT, CC = (os.path.abspath(path) for path in sys.argv[1:3])
del sys.argv[1:3]
LINES = 5  # that race, of part.c


class Inlined(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)

    def call(self, *command, expected=0):
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, check=False, timeout=280,
                              env={**os.environ, "DEADHEAT_CC": "clang-19"})
        self.assertEqual(done.returncode, expected, done)
        return done

    def compile(self, *words):
        self.call(CC, "-g", "-w", "-I", ROOT, *words)

    def build(self, racy, kind, level):
        sources = [os.path.join(HERE, "main.c")]
        flags = [level, f"-DRACY={racy}"]
        if kind == "loaded":
            self.compile("-shared", "-fPIC", level, os.path.join(HERE, "part.c"), "-o", "libpart.so")
            flags.append("-DLOADED")
        else:
            sources.append(os.path.join(HERE, "part.c"))
        if kind == "lto":
            flags.append("-flto")
        if kind == "fixed":
            flags += ["-fno-pie", "-no-pie"]
        self.compile(*flags, *sources, "-pthread", "-ldl", "-o", "program")

    def test_each_kind_of_build(self):
        for kind, level in (("plain", "-O0"), ("plain", "-O1"), ("plain", "-O3"), ("fixed", "-O2"), ("lto", "-O2"), ("loaded", "-O2")):
            for racy in (1, 0):
                with self.subTest(kind=kind, level=level, racy=racy):
                    self.build(racy, kind, level)
                    output = self.call("./program", expected=66 if racy else 0)
                    self.assertEqual(output.stdout, "42\n")
                    self.assertEqual(output.stderr.count("WARNING: ThreadSanitizer: data race"), LINES if racy else 0, output.stderr)

    def test_a_trace_has_the_first_access_of_each(self):
        self.build(1, "plain", "-O2")
        self.call(DEADHEAT, "record", "-o", "trace", "--", "./program")
        done = self.call(DEADHEAT, "analyze", "trace", expected=66)
        self.assertEqual(done.stdout.count("OBSERVED  Data race"), LINES, done.stdout)

    def test_objects_of_another_version_do_not_link(self):
        self.compile("-O2", "-c", os.path.join(HERE, "part.c"), "-o", "part.o")
        self.call("objcopy", "--redefine-sym", "__deadheat_check_words_2=__deadheat_check_words_1", "part.o")
        done = self.call(CC, "-DRACY=0", "-O2", "-w", "-I", ROOT, os.path.join(HERE, "main.c"), "part.o", "-pthread", "-o", "program",
                         expected=1)
        self.assertIn("__deadheat_check_words_1", done.stderr)


if __name__ == "__main__":
    unittest.main()

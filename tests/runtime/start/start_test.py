"""The runtime starts and reports whatever the address space looks like, and however crowded the program is.

usage: start_test.py DEADHEAT_CC
"""
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
CC = os.path.abspath(sys.argv.pop(1))
MAPPINGS = "/proc/sys/vm/mmap_rnd_bits"


class Start(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp()
        cls.programs = {}
        for compiler in ("gcc", "clang-19"):
            for name, flags in (("pie", ["-fPIE", "-pie"]), ("fixed", ["-fno-pie", "-no-pie"])):
                program = os.path.join(cls.folder, f"{compiler}-{name}")
                subprocess.run([CC, "-g", "-O1", *flags, os.path.join(HERE, "crowd.c"), "-o", program, "-pthread"],
                               check=True, env={**os.environ, "DEADHEAT_CC": compiler})
                cls.programs[f"{compiler} {name}"] = program

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def expect_race(self, *words, before=(), only=None):
        for name, program in self.programs.items():
            if only and only not in name:
                continue
            with self.subTest(name):
                done = subprocess.run([*before, program, *words], capture_output=True, text=True, check=False, timeout=120)
                self.assertEqual(done.returncode, 66, done)
                self.assertEqual(done.stdout, "done\n")
                self.assertIn("WARNING: ThreadSanitizer: data race", done.stderr)

    def test_plain(self):
        self.expect_race("2", "0", "0")

    def test_addresses_that_do_not_move(self):
        self.expect_race("2", "0", "0", before=("setarch", "-R"))

    def test_addresses_that_move_as_far_as_they_can(self):
        with open(MAPPINGS, encoding="ascii") as file:
            usual = file.read()
        try:
            with open(MAPPINGS, "w", encoding="ascii") as file:
                file.write("32")
        except OSError:
            print("skipped: only root may set vm.mmap_rnd_bits", file=sys.stderr)
            return
        try:
            for _ in range(2):
                self.expect_race("2", "0", "0")
        finally:
            with open(MAPPINGS, "w", encoding="ascii") as file:
                file.write(usual)

    def test_many_threads(self):
        self.expect_race("512", "0", "0")

    def test_many_children(self):
        self.expect_race("2", "1000", "0", only="gcc pie")

    def test_much_memory_that_is_not_touched(self):
        self.expect_race("2", "0", "20")

    def test_too_little_address_space_is_said(self):
        limit = 4 << 30
        done = subprocess.run([self.programs["gcc pie"], "2", "0", "0"], capture_output=True, text=True, check=False,
                              timeout=60, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
        self.assertEqual(done.returncode, 77, done)
        self.assertIn("ulimit -v", done.stderr)


if __name__ == "__main__":
    unittest.main()

"""Signals at other places than recorded: before an earlier call of their target, and after the call that they broke off.

usage: signal_test.py DEADHEAT
"""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.realpath(__file__))
FOUND, NOTHING = 66, 0


class Signals(unittest.TestCase):
    deadheat = ""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="deadheat-signals-")
        self.addCleanup(shutil.rmtree, self.folder, True)

    def check(self, name, *flags):
        program = os.path.join(self.folder, name)
        subprocess.run(["cc", "-O1", "-w", *flags, "-o", program, os.path.join(HERE, "signals", name + ".c")], check=True)
        done = subprocess.run([self.deadheat, "proc", "check", "--keep", os.path.join(self.folder, "recording"), "--", program],
                              capture_output=True, text=True, errors="replace", cwd=self.folder, stdin=subprocess.DEVNULL, timeout=300, check=False)
        if done.returncode == 77:
            self.skipTest(done.stderr.strip())
        return done

    def test_a_signal_before_an_earlier_call_finds_no_file(self):
        done = self.check("early")
        self.assertEqual(FOUND, done.returncode, done.stdout + done.stderr)
        self.assertIn("SIGUSR1", done.stdout)
        self.assertIn("Exit status 9 instead of 0", done.stdout)

    def test_with_the_file_made_first_it_does_no_harm(self):
        done = self.check("early", "-DSAFE")
        self.assertEqual(NOTHING, done.returncode, done.stdout + done.stderr)

    def test_a_signal_after_the_call_that_it_broke_off_is_missed(self):
        done = self.check("later")
        self.assertEqual(FOUND, done.returncode, done.stdout + done.stderr)
        self.assertIn("Exit status 3 instead of 0", done.stdout)

    def test_what_the_handler_noted_counts(self):
        done = self.check("later", "-DSAFE")
        self.assertEqual(NOTHING, done.returncode, done.stdout + done.stderr)


if __name__ == "__main__":
    Signals.deadheat = os.path.abspath(sys.argv.pop(1))
    unittest.main()

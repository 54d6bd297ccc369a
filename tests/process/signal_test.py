"""Signals at other places than recorded: before an earlier call of their target, and after the call that they broke off.

usage: signal_test.py DEADHEAT
"""
import os
import subprocess

from process_case import ProcessCase, main

HERE = os.path.dirname(os.path.realpath(__file__))
FOUND, NOTHING = 66, 0

# The first one's end breaks off the shell's read of what the second one says; where it ends later, the read just goes on.
READ_WHILE_ANOTHER_ENDS = """
sh -c 'echo 1 > made' &
name=$(sh -c 'i=0; while [ $i -lt 40000 ]; do i=$((i+1)); done; echo alice')
wait
[ "$name" = alice ] || exit 3
"""


class Signals(ProcessCase):
    def check(self, name, *flags):
        program = self.path(name)
        subprocess.run(["cc", "-O1", "-w", *flags, "-o", program, os.path.join(HERE, "signals", name + ".c")], check=True)
        return self.or_skip(self.proc("check", "--keep", self.path("recording"), "--", program))

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

    def check_pair(self, name, broken):
        done = self.check(name)
        self.assertEqual(FOUND, done.returncode, done.stdout + done.stderr)
        self.assertIn("SIGUSR1", done.stdout)
        self.assertRegex(done.stdout, broken)
        os.rename(self.path("recording"), self.path("first"))
        done = self.check(name, "-DSAFE")
        self.assertEqual(NOTHING, done.returncode, done.stdout + done.stderr)
        self.assertIn(" 0 harmful", done.stderr)

    def test_a_signal_before_its_handler_is_there(self):
        self.check_pair("handler", r"Exit status 1 instead of 0")

    def test_a_signal_before_it_is_blocked(self):
        self.check_pair("mask", r"Exit status 9 instead of 0")

    def test_a_signal_before_a_call_far_back(self):
        self.check_pair("far", r"Exit status 9 instead of 0")

    def test_no_call_is_broken_off_by_a_signal_that_comes_later(self):
        done = self.or_skip(self.proc("check", "--verbose", "--", "sh", "-c", READ_WHILE_ANOTHER_ENDS))
        self.assertEqual(NOTHING, done.returncode, done.stdout + done.stderr)
        self.assertIn("sh exit(process", done.stderr)  # that order was tried


if __name__ == "__main__":
    main()

"""Signals at other places than recorded: before an earlier call of their target, and after the call that they broke off.

usage: signal_test.py DEADHEAT
"""
import os
import subprocess

from process_case import ProcessCase, main

HERE = os.path.dirname(os.path.realpath(__file__))
FOUND, NOTHING = 66, 0


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


if __name__ == "__main__":
    main()

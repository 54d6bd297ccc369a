"""The ten process races of RacePro's Table 4, found and made to fail; their repaired twins silent.

A recording in which the bug struck by itself proves nothing, so it is made again (a bounded number of times) until one is
clean; then the verdict on that recording is final, also where some of its undisturbed runs fail.

usage: scenario_test.py DEADHEAT SCENARIO...
"""
import os
import sys

from process_case import ProcessCase, main

HERE = os.path.dirname(os.path.realpath(__file__))
MOST_RECORDINGS = 8  # the likeliest of them fails in 1 plain run of 8: none clean in 8 is 6e-8


class Scenarios(ProcessCase):
    names = []

    def record(self, name, variant):
        script = os.path.join(HERE, "scenarios", name, variant + ".sh")
        for attempt in range(MOST_RECORDINGS):
            recording = os.path.join(self.folder, f"{name}-{variant}-{attempt}")
            done = self.proc("record", "-o", recording, "--", "sh", script)
            if done.returncode == 77:
                self.skipTest(done.stderr.strip())
            with open(os.path.join(recording, "err"), encoding="utf-8", errors="replace") as file:
                if done.returncode == 0 and not file.read():
                    return recording
        self.fail(f"{name}: no clean recording in {MOST_RECORDINGS}: {done.stderr}")

    def test_racy(self):
        for name in self.names:
            with self.subTest(name):
                recording = self.record(name, "racy")
                done = self.proc("validate", "--verbose", "--time", "250", recording)
                self.assertEqual(done.returncode, 66, done.stderr + done.stdout)
                self.assertIn("HARMFUL", done.stdout)
                self.assertRegex(done.stdout, r"\n  order +recorded +failed\n")  # the story of both orders, not only one
                self.assertRegex(done.stdout, r"\n {16}[AB] > .* [ABC] {1,3}|\n {16}.* [AB] > ")
                self.assertIn("\n  what broke ", done.stdout)
                self.assertIn("deadheat proc replay", done.stdout.replace("\n                ", " "))

    def test_safe(self):
        for name in self.names:
            with self.subTest(name):
                done = self.proc("validate", "--verbose", "--time", "40", self.record(name, "safe"))
                self.assertEqual(done.returncode, 0, done.stderr + done.stdout)
                self.assertIn("0 harmful", done.stderr)


if __name__ == "__main__":
    Scenarios.names = sys.argv[2:]
    del sys.argv[2:]
    main()

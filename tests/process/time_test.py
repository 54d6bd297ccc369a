"""--time covers all of proc check and validate, and its end is a normal one; what was not tried is said.

usage: time_test.py DEADHEAT
"""
import json
import os
import re
import socket
import subprocess
import time

from process_case import ProcessCase, main

TIME_S = 6
MARGIN_S = 10  # on a busy machine: killing what runs, and the report; it was twice the time and more

RACY = """
mkdir w; cd w
: >log &
(i=0; while [ $i -lt 40000 ]; do i=$((i+1)); done; echo x >>log) &
wait
[ -s log ] || exit 3
"""
MANY = "mkdir w; cd w; for i in 1 2 3 4 5 6; do (echo $i >a$i; cat b$i) & (cat a$i; echo $i >b$i) & done 2>/dev/null; wait; sleep 0.5"
# Ends only if the second one comes first. Enforcing that cannot control what a clock says.
UNTIL_A_TIME = "(sleep 0.3; echo 1 >f) & i=0; while [ ! -e f ] && [ $i -lt 200 ]; do i=$((i+1)); sleep 0.01; done; wait"


class Time(ProcessCase):
    def timed(self, *words):
        begin = time.monotonic()
        done = self.or_skip(self.proc("check", "--time", str(TIME_S), *words))
        self.assertLess(time.monotonic() - begin, TIME_S + MARGIN_S, done.stderr)
        return done

    def test_a_command_that_never_ends(self):
        for end in ("sleep 1000", "while :; do sleep 0.1; done", "while :; do :; done"):
            with self.subTest(end):
                command = ("--", "sh", "-c", f"echo a >f & echo b >f; wait; {end}")
                done = self.timed(*command)
                self.assertEqual(done.returncode, 0, done.stderr + done.stdout)
                self.assertIn("was cut off after", done.stderr)
                self.assertIn("recording was cut off: no time left", done.stdout)
                done = self.timed("--fail-on", "incomplete", *command)
                self.assertEqual(done.returncode, 75, done.stderr + done.stdout)

    def test_a_storm_of_calls(self):
        """So many processes make calls that the tracer never waits for one."""
        bomb = "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass"
        begin = time.monotonic()
        done = self.or_skip(self.proc("record", "--timeout", "2", "--most-processes", "400", "-o", "rec", "--", "/usr/bin/python3", "-c", bomb))
        self.assertEqual(done.returncode, 124, done.stderr)
        took_s = float(re.search(r"events in ([0-9.]+) s", done.stderr)[1])
        self.assertLess(took_s, 7, done.stderr)
        self.assertLess(time.monotonic() - begin, 2 + MARGIN_S, done.stderr)

    def test_more_than_can_be_tried(self):
        done = self.timed("--fail-on", "incomplete", "--findings", "f.json", "--", "sh", "-c", MANY)
        self.assertEqual(done.returncode, 75, done.stderr + done.stdout)
        self.assertIn("to go on: deadheat proc validate", done.stderr)
        with open(self.path("f.json"), encoding="utf-8") as file:
            counters = {one["name"]: one["value"] for one in json.load(file)["origins"][0]["counters"]}
        self.assertGreater(counters["not_run"], 0)

    def test_short_times_come_to_an_end_together(self):
        """Each goes on where the one before it stopped, with the undisturbed runs too."""
        self.or_skip(self.proc("record", "-o", "rec", "--", "sh", "-c", RACY))
        for _ in range(60):
            done = self.proc("validate", "--time", "3", "rec")
            if "to go on" not in done.stderr:
                break
            self.assertIn(done.returncode, (0, 66), done.stderr)
        self.assertEqual(done.returncode, 66, done.stderr)

    def test_what_failed_and_was_not_compared_is_no_finding(self):
        """A slow checker makes the comparison take longer than all before it: some of these times end within it."""
        self.or_skip(self.proc("record", "-o", "rec", "--", "sh", "-c", RACY))
        seen = set()
        seconds = 3
        while seconds < 200:
            done = self.proc("validate", "--restart", "--checker", "sleep 0.5; true", "--time", str(seconds), "rec")
            seen.add((done.returncode, "failed, not compared" in done.stderr))
            if (0, True) in seen and done.returncode == 0:
                self.assertIn("so far", done.stdout)
            if done.returncode == 66:
                self.assertIn("in the recorded one in 0 of 7", " ".join(done.stdout.split()))
                break
            seconds *= 1.5
        self.assertIn((0, True), seen)
        self.assertEqual(done.returncode, 66, done.stderr)

    def test_an_order_that_was_not_controlled_was_not_tried(self):
        command = ("check", "--time", "60", "--verbose", "--", "sh", "-c", UNTIL_A_TIME)
        done = self.or_skip(self.proc(*command))
        self.assertIn("not controlled on", done.stderr.replace("not controlled  ", "not controlled "))
        self.assertIn("could not be controlled", done.stdout.splitlines()[-1])
        done = self.proc("check", "--fail-on", "incomplete", *command[1:])
        self.assertEqual(done.returncode, 75, done.stderr + done.stdout)


class Processors(ProcessCase):
    def test_one_at_a_time_runs_where_nobody_else_does(self):
        """A processor that another campaign has claimed is left to it, if another one may be used."""
        allowed = sorted(os.sched_getaffinity(0))
        if len(allowed) < 2:
            self.skipTest("one processor only")
        self.or_skip(self.proc("record", "-o", "rec", "--", "sh", "-c", "grep -h Cpus_allowed_list /proc/self/status >here"))
        for mine in allowed[:2]:
            other = [one for one in allowed[:2] if one != mine][0]
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as claim:
                try:
                    claim.bind(f"\0deadheat-processor-{other}-0")
                except OSError:
                    continue  # somebody really has it
                words = ["taskset", "-c", f"{allowed[0]},{allowed[1]}", self.deadheat, "proc", "replay", "rec"]
                done = subprocess.run(words, cwd=self.folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
            upper = self.path("rec", "replay", "upper")
            found = [self.read(folder, "here") for folder, _, names in os.walk(upper) if "here" in names]
            self.assertEqual([int(one.split()[1]) for one in found], [mine], done.stderr)


if __name__ == "__main__":
    main()

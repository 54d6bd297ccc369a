#!/usr/bin/python3
"""What a watch takes from a program: nothing from a single thread, no stop from threads that are not sampled, never more
from one thread in one second than --standstill says.

usage: cost_test.py DEADHEAT [unittest arguments]
"""
import os
import unittest

from watching import Watching, main


class Cost(Watching):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.build("one.c", "one")
        cls.build("rwrace.c", "MUTEX", "-g", "-DMUTEX")
        cls.build("sleeper.c", "sleeper", "-g")
        cls.build("sleeper.c", "safe", "-g", "-DSAFE")
        cls.build("sleeper.c", "blocked", "-g", "-DBLOCKED")

    def functions(self):
        return [{role["site"].get("function") for role in one["roles"]} for one in self.findings()["findings"]]

    def by_perf(self):
        """Else the threads are stopped to set their registers, and those asleep are left out."""
        try:
            with open("/proc/sys/kernel/perf_event_paranoid", encoding="ascii") as file:
                return os.geteuid() == 0 or int(file.read()) <= 2
        except (OSError, ValueError):
            return False

    def test_a_single_thread_pays_nothing(self):
        run = self.watch("--budget", "50%", "--findings", "f.json", "--", self.path("one"), "0")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("it had one thread", run.stderr)
        counters = self.counters()
        self.assertGreater(counters["sites"], 0)
        self.assertEqual((counters["breakpoint_hits"], counters["taken_us"]), (0, 0))

    def test_threads_asleep_are_watched(self):
        """The writer sleeps when the reader is sampled, in a call that may not be interrupted, and comes then."""
        if not self.by_perf():
            self.skipTest("perf events are not allowed here")
        for name, threads in (("sleeper", "2"), ("sleeper", "64"), ("blocked", "2")):
            with self.subTest(name=name, threads=threads):
                run = self.watch("--budget", "30%", "--findings", "f.json", "--", self.path(name), "3", threads)
                self.assertEqual((run.returncode, run.stdout), (66, "done\n"), run.stderr)
                self.assertIn({"read_value", "write_value"}, self.functions())
                self.assertEqual((self.counters()["threads_asleep"], self.counters()["threads_not_watched"]), (0, 0))

    def test_threads_asleep_and_safe(self):
        run = self.watch("--budget", "30%", "--findings", "f.json", "--", self.path("safe"), "2", "64")
        self.assertEqual((run.returncode, run.stdout), (0, "done\n"), run.stderr)
        self.assertGreater(self.counters()["samples"], 10, "nothing was watched")

    def test_no_thread_stands_longer_than_it_may(self):
        run = self.watch("--budget", "80%", "--standstill", "20", "--findings", "f.json", "--", self.path("MUTEX"), "3")
        self.assertEqual(run.returncode, 0, run.stderr)
        counters = self.counters()
        self.assertGreater(counters["samples_skipped_standstill"], 0)
        self.assertGreater(counters["samples"], 0)
        # Two threads, three seconds and a bit, 20 ms each. What a thread waits because this machine has no processor for us
        # is counted against it afterwards: so the sum of samples is bounded, whatever the load.
        self.assertLess(counters["samples"] * 250, 2 * 4 * 20_000)
        free = self.watch("--budget", "80%", "--findings", "f.json", "--", self.path("MUTEX"), "3")
        self.assertEqual(self.counters()["samples_skipped_standstill"], 0, free.stderr)

    def test_a_bound_that_lets_nobody_stand_is_refused(self):
        self.one_line(self.watch("--standstill", "0.1", "--", self.path("one"), "0"), 2, "--standstill")


if __name__ == "__main__":
    main()

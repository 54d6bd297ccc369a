#!/usr/bin/python3
"""deadheat watch on real programs without instrumentation: RWrace of the DRDDR paper is found, its safe
twins are silent, and a program that is attached to and left again goes on as if nothing had been.

usage: watch_test.py DEADHEAT [--attach N] [--safe SECONDS] [unittest arguments]
"""
import json
import os
import shutil
import signal
import subprocess
import sys
import unittest

from server_load import Load, Server
from watching import PROGRAMS, TOOL, Watching, main

ATTACHES = 5
SAFE_SECONDS = "1"
for option in ("--attach", "--safe"):
    if option in sys.argv:
        at = sys.argv.index(option)
        if option == "--attach":
            ATTACHES = int(sys.argv[at + 1])
        else:
            SAFE_SECONDS = sys.argv[at + 1]
        del sys.argv[at:at + 2]
COMPILER = os.path.join(os.path.dirname(TOOL), "deadheat-cc")
TWINS = ("MUTEX", "LOCKED", "LOCAL", "ATOMIC", "MOVES")


class Watch(Watching):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for name in ("RACE", "VOLATILE") + TWINS:
            cls.build("rwrace.c", name, "-g", "-D" + name)
        cls.build("rwrace.c", "STRIPPED", "-DRACE", "-s")
        cls.build("rwrace.c", "BARE_MOVES", "-DMOVES")
        cls.build("rwrace.c", "BARE_RACE", "-DRACE")
        cls.build("busy.c", "busy")
        cls.build("one.c", "one")
        cls.build("churn.c", "churn")
        cls.build("exec.c", "exec")
        for name in ("many", "needle", "registers", "charged"):
            cls.build(name + ".c", name, "-g")

    def check_race(self, run, symbols=True, race=True):
        """One finding; a race where debug information shows a plain access, else a collision."""
        self.assertEqual(run.returncode, 66, run.stderr)
        found = self.findings()["findings"]
        self.assertEqual(len(found), 1, run.stderr)
        self.assertEqual(found[0]["kind"], "data_race" if race else "collision")
        self.assertEqual(found[0]["verdict"]["state"], "true_race" if race else "unknown")
        self.assertEqual(sorted(role["access"] for role in found[0]["roles"]), ["read", "write"])
        self.assertIn("the same memory (mov ", found[0]["evidence"][0]["why"])
        if symbols:
            self.assertEqual({role["site"]["variable"] for role in found[0]["roles"]}, {"value"})
            functions = {access["stack"][-1]["function"] for access in found[0]["evidence"][0]["accesses"]}
            self.assertEqual(functions, {"reader", "writer"})

    def test_rwrace_is_found_in_every_run(self):
        for seed in range(1, 4):
            with self.subTest(seed=seed):
                run = self.watch("--budget", "10%", "--seed", str(seed), "--findings", "f.json", "--",
                                 self.path("RACE"), "1")
                self.check_race(run)
                self.assertEqual(run.stdout, "done\n")
                self.assertRegex(run.stderr, r"(?m)^deadheat: after 0\.\d s: race: .* rwrace\.c:\d+ and .* rwrace\.c:\d+$")

    def test_rwrace_is_found_without_symbols(self):
        self.check_race(self.watch("--budget", "10%", "--findings", "f.json", "--", self.path("STRIPPED"), "1"),
                        symbols=False, race=False)

    def test_without_proof_it_stays_a_collision(self):
        for name in ("VOLATILE", "BARE_MOVES"):
            with self.subTest(name=name):
                self.check_race(self.watch("--budget", "10%", "--findings", "f.json", "--", self.path(name), "1"),
                                race=False)

    @unittest.skipUnless(os.path.exists(COMPILER), "no deadheat-cc beside the tool")
    def test_the_scheduler_confirms_what_a_watch_found(self):
        """Found in the plain build, with other lines, made to happen in the instrumented one."""
        self.watch("--budget", "10%", "--findings", "f.json", "--", self.path("BARE_RACE"), "2")
        subprocess.run([COMPILER, "-O1", "-g", "-pthread", "-DRACE", os.path.join(PROGRAMS, "rwrace.c"), "-o",
                        self.path("hooked")], check=True)
        run = subprocess.run([TOOL, "confirm", "f.json", "--", self.path("hooked"), "0"], capture_output=True,
                             text=True, check=False, timeout=120, cwd=self.folder)
        self.assertEqual(run.returncode, 66, run.stderr)
        found = self.findings()["findings"]
        self.assertEqual([one["verdict"]["state"] for one in found], ["true_race"], run.stdout)
        self.assertIn("co_enabled", {piece.get("proof") for piece in found[0]["evidence"]})

    @unittest.skipUnless(os.path.exists(COMPILER), "no deadheat-cc beside the tool")
    def test_one_pair_is_one_row_whoever_saw_it(self):
        """A collision that proves nothing, the run's race and the scheduler's are one finding."""
        subprocess.run([COMPILER, "-O1", "-g1", "-pthread", "-DRACE", os.path.join(PROGRAMS, "rwrace.c"), "-o",
                        self.path("hooked")], check=True)
        self.watch("--budget", "10%", "--findings", "w.json", "--", self.path("hooked"), "2")
        with open(self.path("w.json"), encoding="utf-8") as file:  # lines, but no types: either side may be atomic
            self.assertEqual({one["kind"] for one in json.load(file)["findings"]}, {"collision"})

        def tool(*words):
            return subprocess.run([TOOL, *words], capture_output=True, text=True, check=False, timeout=120, cwd=self.folder)
        tool("run", "--findings", "r.json", "--", self.path("hooked"), "1")
        shutil.copy(self.path("r.json"), self.path("c.json"))
        tool("confirm", "c.json", "--trials", "3", "--", self.path("hooked"), "0")
        tool("report", "w.json", "r.json", "c.json", "--findings", "f.json")
        rows = [one for one in self.findings()["findings"]
                if {role["site"].get("function") for role in one["roles"]} == {"read_once", "write_once"}]
        self.assertEqual(len(rows), 1)
        self.assertEqual(set(rows[0]["found_by"]), {"run", "watch"})
        self.assertLessEqual({"collision", "happens_before", "co_enabled"}, {piece.get("proof") for piece in rows[0]["evidence"]})

    def test_rwrace_is_found_by_attaching(self):
        process = self.start("RACE")
        self.check_race(self.watch("--time", "1", "--budget", "10%", "--findings", "f.json", "-p", str(process.pid)))
        self.end(process)

    def test_functions_choose(self):
        run = self.watch("--functions", "read*", "--budget", "10%", "--findings", "f.json", "--", self.path("RACE"),
                         "1")
        self.check_race(run)

    def test_safe_twins_are_silent(self):
        for twin in TWINS:
            with self.subTest(twin=twin):
                run = self.watch("--budget", "50%", "--findings", "f.json", "--", self.path(twin), SAFE_SECONDS)
                self.assertEqual(run.returncode, 0, run.stderr)
                self.assertGreater(self.counters()["samples"], 20, "nothing was watched")
                if twin == "MOVES":
                    self.assertGreater(self.counters()["not_reported_both_atomic"], 0)

    def test_a_touch_is_charged_to_its_own_sample(self):
        """Also where it is told of when its sample has ended and the register is another's."""
        run = self.watch("--budget", "80%", "--findings", "f.json", "--", self.path("charged"), "3")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertGreater(self.counters()["samples"], 20, "nothing was watched")

    def test_budget_is_kept(self):
        run = self.watch("--budget", "2%", "--findings", "f.json", "--", self.path("MUTEX"), "2")
        self.assertGreater(self.counters()["samples"], 0)
        # Four samples more than the budget at most: some milliseconds.
        self.assertLess(self.counters()["taken_us"], 2e6 * 0.02 + 30e3, run.stderr)

    def test_a_started_program_is_left_while_threads_come_and_go(self):
        """Whoever is still traced when the tracer ends is killed: also threads that just begin or just end."""
        for seed in range(8):
            run = self.watch("--time", "0.2", "--budget", "30%", "--seed", str(seed), "--", self.path("churn"), "400")
            self.assertEqual(run.returncode, 0, run.stderr)
            self.assertEqual(run.stdout, "done\n")

    def test_attached_to_and_left_again(self):
        process = self.start("busy")
        self.assertEqual(process.stdout.readline(), "ready\n")
        for number in range(ATTACHES):
            run = self.watch("--time", "0.3", "--budget", "30%", "--seed", str(number), "-p", str(process.pid))
            self.assertEqual(run.returncode, 0, run.stderr)
            self.assertIsNone(process.poll(), f"it died after {number} attaches")
        self.assertIn(" 0 failures", self.end(process))

    @unittest.skipUnless(Server.installed("memcached"), "no memcached")
    def test_a_server_under_load(self):
        """bench/watch/server does it a hundred times."""
        server = Server("memcached", self.folder)
        self.addCleanup(server.process.kill)
        load = Load(server)
        try:
            for number in range(5):
                run = self.watch("--time", "0.3", "--budget", "20%", "--seed", str(number), "-p",
                                 str(server.process.pid))
                self.assertIn(run.returncode, (0, 66), run.stderr)
                self.assertTrue(server.alive(), f"it died after {number} attaches")
        finally:
            requests = load.stop()
        self.assertEqual(load.failures, [])
        self.assertGreater(requests, 1000)
        self.assertEqual(server.stop(), 0)

    def test_asked_to_end_it_leaves_the_target_alone(self):
        process = self.start("RACE")
        for ask in (signal.SIGINT, signal.SIGTERM):
            tool = subprocess.Popen([TOOL, "watch", "--budget", "30%", "-p",
                                     str(process.pid), "--findings", self.path("f.json")],
                                    stderr=subprocess.PIPE, text=True)
            while self.tracer(process.pid) == 0 and tool.poll() is None:
                pass
            tool.send_signal(ask)
            _, errors = tool.communicate(timeout=30)
            self.assertIn(tool.returncode, (0, 66), errors)
            self.assertIn("deadheat: watched", errors)
            self.assertIsNone(process.poll())
        self.end(process)

    def test_killed_it_leaves_the_target_alone(self):
        """SIGKILL cannot be handled: a child that traces notices, and cleans up."""
        for _ in range(2):
            process = self.start("RACE")
            tool = subprocess.Popen([TOOL, "watch", "--budget", "50%", "-p", str(process.pid), "--findings",
                                     self.path("f.json")], stderr=subprocess.DEVNULL)
            while not self.breakpoints(process.pid) and tool.poll() is None:
                pass
            tool.kill()
            tool.wait(timeout=30)
            while self.tracer(process.pid) != 0:
                self.assertIsNone(process.poll())
            self.assertEqual(self.breakpoints(process.pid), 0)
            self.end(process)

    @staticmethod
    def breakpoints(pid):
        """Bytes of the program's code that differ from its file."""
        with open(f"/proc/{pid}/maps", encoding="ascii") as file:
            words = next(line.split() for line in file if " r-xp " in line and "/" in line)
        begin, end = (int(word, 16) for word in words[0].split("-"))
        with open(f"/proc/{pid}/mem", "rb") as memory, open(words[5], "rb") as image:
            memory.seek(begin)
            image.seek(int(words[2], 16))
            here = memory.read(end - begin)
            there = image.read(end - begin)
        return sum(a != b for a, b in zip(here, there))

    @staticmethod
    def tracer(pid):
        with open(f"/proc/{pid}/status", encoding="ascii") as file:
            return int(next(line for line in file if line.startswith("TracerPid")).split()[1])

    def test_two_to_256_threads_that_come_and_go(self):
        for count, seconds in ((2, "1"), (4, "1"), (256, "2")):
            with self.subTest(threads=count):
                run = self.watch("--budget", "30%", "--findings", "f.json", "--", self.path("many"), str(count),
                                 seconds)
                self.assertEqual((run.returncode, run.stdout), (66, "done\n"), run.stderr)
                found = [{role["site"].get("function") for role in one["roles"]} for one in self.findings()["findings"]]
                self.assertIn({"read_value", "write_value"}, found)
                self.assertEqual(self.counters()["sites_refused"], 0, "no breakpoint could be placed")

    def test_registers_of_others_are_one_line(self):
        if subprocess.run([self.path("registers"), "0"], check=False).returncode == 77:
            self.skipTest("perf events are not allowed here")
        run = self.watch("--budget", "30%", "--findings", "f.json", "--", self.path("registers"), "1")
        self.assertIn(run.returncode, (66, 77), run.stderr)
        self.assertEqual(run.stderr.count("somebody else has the debug registers"), 1, run.stderr)
        self.assertEqual(run.stdout, "done\n")

    def test_candidates_are_looked_at_first(self):
        """One racy pair among 1,100 busy instructions: found where it is suspected, by address in the same build or by
        line in another; not (twice in a row: less than once in a hundred) where it is not."""
        self.watch("--budget", "30%", "--functions", "needle_*", "--findings", "f.json", "--", self.path("needle"), "1")
        suspects = self.findings()
        self.assertEqual(len(suspects["findings"]), 1)
        with open(self.path("same.json"), "w", encoding="utf-8") as file:
            json.dump(suspects, file)
        for role in suspects["findings"][0]["roles"]:
            role["site"].update(build_id="00", pcs=[])
        with open(self.path("other.json"), "w", encoding="utf-8") as file:
            json.dump(suspects, file)
        blind = 0
        for seed, name in enumerate(("same.json", "other.json")):
            words = ("--budget", "10%", "--seed", str(seed), "--findings", "f.json")
            run = self.watch(*words, "--candidates", name, "--", self.path("needle"), "2")
            self.assertEqual(run.returncode, 66, run.stderr)
            self.assertGreater(self.counters()["sites_suspected"], 0)
            blind += self.watch(*words, "--", self.path("needle"), "1").returncode == 66
        self.assertLess(blind, 2)

    def test_exec_is_followed(self):
        run = self.watch("--budget", "10%", "--findings", "f.json", "--", self.path("exec"), self.path("RACE"), "1")
        self.check_race(run)

    def test_exit_codes_are_the_programs(self):
        self.assertEqual(self.watch("--", self.path("one"), "3").returncode, 3)
        self.assertEqual(self.watch("--", self.path("one"), "kill").returncode, 128 + signal.SIGSEGV)

    def test_what_cannot_be_watched_is_one_line(self):
        self.one_line(self.watch("-p", "4194303"), 77, "does not exist")
        self.one_line(self.watch("--", self.path("none")), 127, "cannot run")
        self.one_line(self.watch(), 2, "watch what?")
        self.one_line(self.watch("--budget", "many", "--", "true"), 2, "--budget")
        for name, text in (("x.out", "cannot tell the format"), ("none/x.html", "there is no folder")):
            run = self.watch("-o", name, "--", self.path("one"), "3")
            self.one_line(run, 2, text)  # before the program was started, which ends with 3
            self.assertNotIn("watched", run.stderr)
        self.one_line(self.watch("--functions", "none_such", "--", self.path("one"), "0"), 77,
                      "nothing to watch")

    def test_a_traced_process_is_refused(self):
        process = self.start("RACE")
        other = subprocess.Popen([TOOL, "watch", "-p", str(process.pid)], stderr=subprocess.DEVNULL)
        while self.tracer(process.pid) == 0 and other.poll() is None:
            pass
        self.one_line(self.watch("-p", str(process.pid)), 77, "is traced already")
        other.terminate()
        other.wait(timeout=30)
        self.end(process)

    @unittest.skipUnless(os.geteuid() == 0 and shutil.which("setpriv"), "needs root and setpriv")
    def test_no_permission(self):
        process = self.start("RACE")
        run = subprocess.run(["setpriv", "--reuid=65534", "--clear-groups", "--inh-caps=-all", TOOL, "watch", "-p",
                              str(process.pid)], capture_output=True, text=True, check=False, timeout=280)
        if run.returncode == 126 or "cannot execute" in run.stderr.lower():
            self.skipTest("another user cannot run the tool from where it lies")
        self.one_line(run, 77, "no permission")
        self.end(process)


if __name__ == "__main__":
    main()

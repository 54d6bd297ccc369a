#!/usr/bin/python3
"""Validation of programs that serve, fork, load libraries, have many threads, or a hostile page.

usage: robust_test.py DEADHEAT DEADHEAT_CC PROGRAMS
"""
import json
import mmap
import os
import shutil
import signal
import struct
import subprocess
import sys
import time
import unittest

from bench import Validation, candidate, lines_of

STATES_OFFSET = 44  # of struct dhv_page: abi/validate_page.h
JOBS_OFFSET = 264
COUNTERS_OFFSET = 128
COUNTERS = ("watches", "ended_ordered", "ended_bound", "ended_memory", "waits", "waited_ns", "no_credit", "common_lock", "slow_ns")


class Serving(Validation):
    def start(self, *words):
        environment = {key: value for key, value in os.environ.items() if key != "DEADHEAT_OPTIONS"}
        server = subprocess.Popen([self.path("program"), *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                  env=environment)
        self.addCleanup(server.stdout.close)
        self.addCleanup(server.stdin.close)
        self.addCleanup(server.wait)
        self.addCleanup(server.kill)
        return server, int(server.stdout.readline())

    def stop(self, server):
        server.stdin.write("\n")
        server.stdin.flush()
        self.assertEqual(server.stdout.readline(), "right\n")
        self.assertEqual(server.wait(timeout=60), 0)

    def attach(self, process, *options):
        done = self.run_in(self.deadheat, "validate", self.path("candidates.json"), "--findings", self.path("out.json"),
                           "--attach", str(process), *options)
        with open(self.path("out.json"), encoding="utf-8") as file:
            return done.returncode, json.load(file)["findings"], done.stdout + done.stderr

    def page_of(self, process):
        folder = f"/proc/{process}/fd"
        return next(os.path.join(folder, name) for name in os.listdir(folder)
                    if "deadheat-validate" in os.readlink(os.path.join(folder, name)))


class Server(Serving):
    def setUp(self):
        super().setUp()
        path = self.source("server.c")
        plain, locked = lines_of(path, r"plain = plain \+ 1")[0], lines_of(path, r"locked = locked \+ 1")[0]
        self.write_candidates(candidate(path, ("serve", plain, "write"), ("serve", plain, "read")),
                              candidate(path, ("serve", locked, "write"), ("serve", locked, "read")))
        self.build("server.c")

    def check(self, *words):
        server, process = self.start(*words)
        status, findings, text = self.attach(process, "--time", "60", "--budget", "0", "--tau-most", "51")
        self.assertEqual(status, 66, text)
        self.assertEqual(self.state(findings[0]), "true_race", text)
        self.assertNotEqual(self.state(findings[1]), "true_race", text)
        self.stop(server)

    def test_attached_while_it_serves(self):
        self.check("4")

    def test_256_threads(self):
        self.check("256")

    def test_two_validators_and_many_attachments(self):
        server, process = self.start("4")
        both = [subprocess.Popen([self.deadheat, "validate", self.path("candidates.json"), "--findings",
                                  self.path(f"{i}.json"), "--attach", str(process), "--runs", "10", "--time", "20"],
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for i in range(2)]
        for one in both:
            self.assertIn(one.wait(timeout=120), (0, 66))
            self.assertIsNone(server.poll())
        for i in range(2):
            with open(self.path(f"{i}.json"), encoding="utf-8") as file:
                self.assertNotEqual(self.state(json.load(file)["findings"][1]), "true_race")
        for _ in range(5):
            self.attach(process, "--runs", "1", "--time", "10")
        self.stop(server)

    def test_a_validator_that_is_killed_leaves_the_program_alone(self):
        server, process = self.start("4")
        validator = subprocess.Popen([self.deadheat, "validate", self.path("candidates.json"), "--attach", str(process)],
                                     stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        validator.stderr.readline()
        validator.kill()
        validator.wait()
        validator.stderr.close()
        with open(self.page_of(process), "r+b") as file, mmap.mmap(file.fileno(), 0) as memory:
            states = struct.unpack_from("<I", memory, STATES_OFFSET)[0]
            deadline = time.monotonic() + 120
            while any(state & 2 for state in memory[states:]) and time.monotonic() < deadline:
                time.sleep(0.1)
            self.assertFalse(any(state & 2 for state in memory[states:]), "its jobs end with their lease")
        self.stop(server)

    def test_a_thread_is_created_without_a_wait(self):
        if shutil.which("strace") is None:
            self.skipTest("no strace")
        done = self.run_in("strace", "-f", "-e", "trace=futex", self.path("program"), "4", input="\n")
        self.assertIn("right", done.stdout)
        self.assertNotIn("tv_nsec=2000000", done.stderr)

    def test_a_hostile_page(self):
        """Whatever is written into it, the program goes on and is right; it cannot be truncated."""
        server, process = self.start("4")
        page = self.page_of(process)
        with open(page, "r+b") as file:
            with self.assertRaises(OSError):
                os.ftruncate(file.fileno(), 0)
            size = os.fstat(file.fileno()).st_size
            with mmap.mmap(file.fileno(), size) as memory:
                for slot in range(16):  # candidates that there are not, orders and taus beyond reason
                    struct.pack_into("<6I", memory, JOBS_OFFSET + 128 * slot, slot + 7, 0xffffffff, 99, 0xffffffff, 0xffffffff, 3)
                states, = struct.unpack_from("<I", memory, STATES_OFFSET)
                memory[states:] = b"\xff" * (size - states)
                for value in (b"\xff", b"\x00", b"\x5a"):
                    memory[8:states] = value * (states - 8)
                struct.pack_into("<I", memory, 8, 2)
        status = self.run_in(self.deadheat, "validate", self.path("candidates.json"), "--attach", str(process))
        self.assertEqual(status.returncode, 77, status.stderr)
        self.assertIn("version", status.stderr)
        self.stop(server)

    def test_no_page_is_one_line(self):
        done = self.run_in(self.deadheat, "validate", self.path("candidates.json"), "--attach", str(os.getpid()))
        self.assertEqual(done.returncode, 77)
        self.assertIn("has no page", done.stderr)

    def test_killed_in_the_middle_what_it_said_stays(self):
        """The page outlives the program: SIGKILL loses no answer."""
        self.write_candidates(*[candidate(self.source("server.c"), ("serve", line, "write"), ("serve", line, "read"))
                                for line in lines_of(self.source("server.c"), r"plain = plain \+ 1")])
        self.build("server.c")
        status, findings, text = self.validate(self.path("program"), "4", "2000", options=("--tau-most", "51"))
        self.assertEqual((status, self.state(self.only(findings, text))), (66, "true_race"), text)
        self.assertNotIn("crash", json.dumps(findings[0]["verdict"]))  # it always ends so



class Budget(Serving):
    """The two numbers are promises: share of the time, and the longest standstill of a thread in a second."""

    def setUp(self):
        super().setUp()
        path = self.source("hot.c")
        apart = [(function, lines_of(path, pattern)[0], "write") for function, pattern in
                 (("first", r"at\[0\] \+ 1"), ("second", r"at\[0\] \+ 2"))]
        same = ("second", lines_of(path, r"same \+ 1")[0], "write")
        self.apart, self.same = candidate(path, *apart), candidate(path, same, same)
        self.write_candidates(self.apart, self.same)
        self.build("hot.c")

    def spent(self, *options):
        """Counters of the page, and the nanoseconds that the program ran, after a validator with these options."""
        begun = time.monotonic_ns()
        server, process = self.start()
        _, _, text = self.attach(process, "--time", "4", *options)
        with open(self.page_of(process), "r+b") as file, mmap.mmap(file.fileno(), 0) as memory:
            counters = dict(zip(COUNTERS, struct.unpack_from(f"<{len(COUNTERS)}Q", memory, COUNTERS_OFFSET)))
        took = time.monotonic_ns() - begun
        self.stop(server)
        return counters, took, text

    def test_the_share_of_the_time(self):
        self.write_candidates(self.apart, name="apart.json")
        counters, took, text = self.spent("--budget", "2")
        # A thread may lose the processor in a slow path: it is charged for that, once, before it rests.
        allowed = 0.02 * took + 4 * 40e6
        self.assertLess(counters["slow_ns"] + counters["waited_ns"], allowed, text)
        self.assertGreater(counters["no_credit"], 0, text)
        counters, took, text = self.spent("--budget", "0")
        self.assertGreater(counters["slow_ns"] + counters["waited_ns"], allowed, "the test can fail: " + text)

    def test_a_wait_is_charged_first(self):
        """Two million times tau is allowed in no run of ours: no thread is held back, and that is counted."""
        counters, _, text = self.spent("--budget", "0", "--standstill", "1", "--tau", "5", "--tau-most", "5")
        self.assertEqual(counters["waits"], 0, text)
        self.assertGreater(counters["no_credit"], 0, text)
        counters, _, text = self.spent("--budget", "0.001", "--standstill", "0", "--tau", "500", "--tau-most", "500")
        self.assertEqual(counters["waits"], 0, text)
        self.assertGreater(counters["no_credit"], 0, text)
        counters, _, text = self.spent("--budget", "0", "--standstill", "0", "--tau", "5", "--tau-most", "5")
        self.assertGreater(counters["waits"], 0, text)


class Processes(Validation):
    def test_a_race_in_a_child(self):
        path = self.source("forks.c")
        line = lines_of(path, r"total \+= 1")[0]
        self.write_candidates(candidate(path, ("add", line, "write"), ("add", line, "read")))
        for safe in (False, True):
            self.build("forks.c", *(["-DSAFE"] if safe else []))
            status, findings, text = self.validate(self.path("program"), options=("--tau-most", "51"))
            self.assertEqual(status, 0 if safe else 66, text)
            self.assertEqual(self.state(findings[0]) == "true_race", not safe, text)
            self.assertNotIn("crash", json.dumps(findings[0]["verdict"]), text)

    def test_a_program_that_replaces_itself(self):
        path = self.source("execs.c")
        self.write_candidates(candidate(path, ("put", lines_of(path, r"data = 1;")[0], "write"), ("take", lines_of(path, r"data = 2;")[0], "write")))
        self.build("execs.c")
        for way in ("safe", "racy"):
            status, findings, text = self.validate(self.path("program"), way, options=("--tau-most", "51") if way == "safe" else
                                                   ("--tau", "1", "--tau-step", "1000", "--tau-most", "3000"))
            self.assertEqual((status, self.state(self.only(findings, text)) == "true_race"), (66 if way == "racy" else 0, way == "racy"), text)
            os.remove(self.path("out.json"))

    def test_a_library_that_is_loaded_twice(self):
        path = self.source("library.c")
        line = lines_of(path, r"total = total")[0]
        self.write_candidates(candidate(path, ("work", line, "write"), ("work", line, "read")))
        self.build("library.c", "-shared", "-fPIC", output="library.so")
        self.build("loads.c", "-ldl")
        status, findings, text = self.validate(self.path("program"), self.path("library.so"),
                                               options=("--tau-most", "51", "--library", self.path("library.so")))
        self.assertEqual((status, self.state(self.only(findings, text))), (66, "true_race"), text)

    def test_set_user_id_programs_have_no_page(self):
        path = self.source("forks.c")
        line = lines_of(path, r"total \+= 1")[0]
        self.write_candidates(candidate(path, ("add", line, "write"), ("add", line, "read")))
        self.build("forks.c")
        if os.geteuid() != 0 or shutil.which("setpriv") is None:
            self.skipTest("needs root and setpriv")
        program = self.path("program")
        os.chmod(self.folder, 0o755)
        os.chown(program, 65534, 65534)
        os.chmod(program, 0o4755)
        done = self.run_in("strace", "-f", "-e", "trace=memfd_create", program) if shutil.which("strace") else self.run_in(program)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("deadheat-validate", done.stderr)


if __name__ == "__main__":
    Validation.deadheat, Validation.compiler, Validation.programs = sys.argv[1:4]
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    if shutil.which("clang-19") is None:
        print("validate: skipped: no clang-19 (install the package of that name)")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1] + sys.argv[4:])

#!/usr/bin/python3
"""deadheat watch on programs that are out of the ordinary: they go on as if nothing had been, and what is reported of
them is true.

usage: odd_test.py DEADHEAT [unittest arguments]
"""
import os
import shutil
import subprocess
import unittest

from watching import Watching, main


def has_namespaces():
    return subprocess.run(["unshare", "-rm", "true"], capture_output=True, check=False).returncode == 0


class Odd(Watching):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.build("odd.c", "odd", "-g")
        cls.build("base.c", "base")
        cls.build("calls.c", "calls", "-g")
        cls.build("rwrace.c", "RACE", "-g", "-DRACE")
        cls.build("rwrace.c", "STATIC_RACE", "-g", "-static", "-DRACE")
        cls.build("rwrace.c", "STATIC_MUTEX", "-g", "-static", "-DMUTEX")
        for name, *flags in (("string",), ("string_race", "-DRACE"), ("static_string", "-static")):
            cls.build("string.c", name, "-g", *flags)

    def attach(self, process, *words):
        return self.watch("--time", "1", "--budget", "20%", "--findings", "f.json", *words, "-p", str(process.pid))

    def check_undisturbed(self, mode):
        process = self.start("odd", mode)
        self.assertEqual(process.stdout.readline(), "ready\n")
        run = self.attach(process)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertGreater(self.counters()["samples"], 0, run.stderr)
        self.assertEqual(self.end(process), "done\n")

    def test_a_handler_of_sigtrap_stays(self):
        self.check_undisturbed("trap")

    def test_children_may_share_the_memory(self):
        self.check_undisturbed("clone")

    def test_a_pipe_as_its_debug_file(self):
        """Nobody writes to it: who opens it to unwind a stack waits for ever, and the program with him."""
        self.build("rwrace.c", "piped", "-g", "-DRACE", "-fno-asynchronous-unwind-tables")
        with open(self.path("piped.debug"), "w", encoding="ascii"):
            pass
        subprocess.run(["objcopy", "--strip-debug", "--add-gnu-debuglink=piped.debug", "piped"], cwd=self.folder, check=True)
        os.remove(self.path("piped.debug"))
        os.mkfifo(self.path("piped.debug"))
        run = self.watch("--budget", "20%", "--findings", "f.json", "--", self.path("piped"), "1")
        self.assertEqual(run.returncode, 66, run.stderr)
        self.assertGreater(self.counters()["samples"], 0)

    def test_a_file_that_was_replaced(self):
        """The path leads to another program by now."""
        shutil.copy(self.path("RACE"), self.path("server"))
        process = self.start("server")
        os.remove(self.path("server"))
        shutil.copy(self.path("odd"), self.path("server"))
        self.check_found(self.attach(process))
        self.end(process)

    @unittest.skipUnless(has_namespaces(), "no user and mount namespaces here")
    def test_a_file_of_another_mount_namespace(self):
        """A container: for us the path is another program."""
        shutil.copy(self.path("odd"), self.path("here"))
        process = subprocess.Popen(["unshare", "-rm", "sh", "-c", 'mount --bind "$0" "$1" && exec "$1"', self.path("RACE"),
                                    self.path("here")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(process.kill)
        while os.path.basename(os.readlink(f"/proc/{process.pid}/exe")) != "here" and process.poll() is None:
            pass
        self.check_found(self.attach(process))
        self.end(process)

    def check_found(self, run):
        self.assertEqual(run.returncode, 66, run.stderr)
        for one in self.findings()["findings"]:
            self.assertEqual(one["kind"], "data_race", run.stderr)
            self.assertEqual({role["site"]["function"] for role in one["roles"]}, {"read_once", "write_once"})

    def test_the_c_library_in_a_static_program(self):
        """Its locks are words that are made to be raced for."""
        run = self.watch("--budget", "50%", "--findings", "f.json", "--", self.path("STATIC_MUTEX"), "1")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertGreater(self.counters()["samples"], 0, run.stderr)
        self.check_found(self.watch("--budget", "20%", "--findings", "f.json", "--", self.path("STATIC_RACE"), "1"))

    def test_vectors_read_behind_a_string(self):
        for name in ("string", "static_string"):
            with self.subTest(name=name):
                run = self.watch("--budget", "50%", "--findings", "f.json", "--", self.path(name), "1")
                self.assertEqual(run.returncode, 0, run.stderr)
                self.assertGreater(self.counters()["samples"], 0, run.stderr)
        run = self.watch("--budget", "50%", "--findings", "f.json", "--", self.path("string_race"), "1")
        self.assertEqual(run.returncode, 66, run.stderr)

    def test_rbp_may_be_any_pointer(self):
        run = self.watch("--budget", "20%", "--findings", "f.json", "--", self.path("base"), "1")
        self.assertEqual(run.returncode, 66, run.stderr)
        for one in self.findings()["findings"]:
            self.assertEqual({role["site"]["function"] for role in one["roles"]}, {"bump"})

    def test_a_call_through_memory(self):
        run = self.watch("--functions", "write_once", "--budget", "20%", "--findings", "f.json", "--", self.path("calls"), "1")
        self.assertEqual(run.returncode, 66, run.stderr)
        functions = {role["site"].get("function") for one in self.findings()["findings"] for role in one["roles"]}
        self.assertEqual(functions, {"write_once", "call_once"}, run.stderr)

    def test_what_is_no_process_of_ours(self):
        ended = subprocess.Popen(["true"])
        os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)
        self.one_line(self.watch("-p", str(ended.pid)), 77, "has ended")
        ended.wait()
        with open("/proc/2/status", encoding="utf-8") as file:
            if "VmSize" not in file.read():  # in a container 2 is like any other
                self.one_line(self.watch("-p", "2"), 77, "is a thread of the kernel")

    def test_one_thread_is_said(self):
        run = self.watch("--budget", "50%", "--", "sh", "-c", "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("it had one thread whenever it was looked at", run.stderr)


if __name__ == "__main__":
    main()

#!/usr/bin/python3
"""run, record and symbolize as people meet them, with a runtime that only pretends: exit codes,
streams, signals, reports. (tests/programs has the real one.)

usage: cli_test.py DEADHEAT [unittest arguments]
"""
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

TOOL = os.path.abspath(sys.argv.pop(1))
HERE = os.path.dirname(os.path.realpath(__file__))
START = '{"t":"process","v":1,"pid":5,"ppid":1,"command":["./p"],"compiler":"gcc"}\n'
MODULE = ('{"t":"module","pid":5,"id":1,"path":"/none/p","build_id":"aa","base":0,"begin":0,"end":9,'
          '"instrumented":"yes"}\n')
RACE = ('{"t":"race","pid":5,"n":1,"address":64,"size":4,"accesses":[{"kind":"write","size":4,"address":64,'
        '"thread":1,"stack":[[1,16]],"locks":[]},{"kind":"read","size":4,"address":64,"thread":2,'
        '"stack":[[1,32]],"locks":[]}],"location":{"kind":"stack","thread":2},"threads":[],'
        '"near_region":false,"count":1}\n')
END = '{"t":"end","pid":5,"races":1,"counters":[],"exit":"exit"}\n'


class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp()
        for name in ("bin", "lib/deadheat/detect", "lib/deadheat/record"):
            os.makedirs(os.path.join(cls.folder, name))
        cls.tool = os.path.join(cls.folder, "bin/deadheat")
        shutil.copy(TOOL, cls.tool)
        library = os.path.join(cls.folder, "lib/deadheat/detect/libdeadheat.so.1")
        subprocess.run(["cc", "-shared", "-fPIC", "-Wl,-soname,libdeadheat.so.1",
                        os.path.join(HERE, "fake_runtime.c"), "-o", library], check=True)
        shutil.copy(library, os.path.join(cls.folder, "lib/deadheat/record"))
        source = os.path.join(cls.folder, "p.c")
        with open(source, "w", encoding="utf-8") as file:
            file.write("#include <signal.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <unistd.h>\n"
                       "void __tsan_init(void);\nint main(int n, char** a) {\n __tsan_init();\n"
                       " puts(n > 1 ? a[1] : \"-\"); fflush(stdout);\n"
                       " if (n > 2 && a[2][0] == 'k') raise(SIGSEGV);\n if (n > 2 && a[2][0] == 'p') pause();\n"
                       " return n > 2 ? atoi(a[2]) : 0; }\n")
        cls.program = os.path.join(cls.folder, "p")
        subprocess.run(["cc", source, library, "-o", cls.program], check=True)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def environment(self, raw):
        clean = {k: v for k, v in os.environ.items() if k not in ("DEADHEAT_OPTIONS", "LD_LIBRARY_PATH")}
        return {**clean, "FAKE_RAW": raw, "TMPDIR": self.folder}

    def run_tool(self, *words, raw=START + MODULE + END, **more):
        return subprocess.run([self.tool, *words], capture_output=True, text=True, check=False, timeout=280,
                              env=self.environment(raw), cwd=self.folder, **more)


class Run(Case):
    def test_clean(self):
        done = self.run_tool("run", "--", self.program, "hello")
        self.assertEqual((done.returncode, done.stdout), (0, "hello\n"), done)
        self.assertIn("No races found", done.stderr)

    def test_options_after_the_program_are_its_own(self):
        done = self.run_tool("run", self.program, "--help")
        self.assertEqual((done.returncode, done.stdout), (0, "--help\n"), done)

    def test_a_race(self):
        done = self.run_tool("run", "--findings", "f.json", "--", self.program, "x y",
                             raw=START + MODULE + RACE + END)
        self.assertEqual((done.returncode, done.stdout), (66, "x y\n"), done)
        self.assertIn("deadheat: race: read in p+0x20 and write in p+0x10\n", done.stderr)
        self.assertIn(f"repeat        deadheat run -- {self.program} 'x y'\n", done.stderr)
        self.assertIn("/none/p", done.stderr)  # why there are no names
        with open(os.path.join(self.folder, "f.json"), encoding="utf-8") as file:
            self.assertEqual(len(json.load(file)["findings"]), 1)
        known = self.run_tool("run", "--baseline", "f.json", "--", self.program, raw=START + MODULE + RACE + END)
        self.assertEqual(known.returncode, 0, known)

    def test_suppressions_that_tsan_options_name(self):
        path = os.path.join(self.folder, "known.supp")
        with open(path, "w", encoding="utf-8") as file:
            file.write("race:/none/p\n")
        environment = {**self.environment(START + MODULE + RACE + END), "TSAN_OPTIONS": f"verbosity=0:suppressions={path}"}
        done = subprocess.run([self.tool, "run", "--", self.program], capture_output=True, text=True, check=False,
                              timeout=280, env=environment, cwd=self.folder)
        self.assertEqual(done.returncode, 0, done)
        self.assertIn("1 suppressed", done.stderr)

    def test_suppressions_that_the_program_brings_along(self):
        start = START.replace('"compiler"', '"suppressions":"race:/none/p\\n","compiler"')
        self.assertNotEqual(start, START)
        done = self.run_tool("run", "--", self.program, raw=start + MODULE + RACE + END)
        self.assertEqual(done.returncode, 0, done)
        self.assertIn("1 suppressed", done.stderr)

    def test_codes_of_the_program(self):
        self.assertEqual(self.run_tool("run", self.program, "x", "3").returncode, 3)
        self.assertEqual(self.run_tool("run", self.program, "x", "kill").returncode, 128 + signal.SIGSEGV)
        found = self.run_tool("run", self.program, "x", "3", raw=START + MODULE + RACE + END)
        self.assertEqual(found.returncode, 66)

    def test_not_checked_is_no_pass(self):
        done = self.run_tool("run", "/bin/true")
        self.assertEqual(done.returncode, 77, done)
        self.assertIn("/bin/true is not instrumented", done.stderr)
        self.assertIn("CC=deadheat-cc", done.stderr)
        self.assertEqual(self.run_tool("run", "/bin/false").returncode, 1)
        silent = self.run_tool("run", self.program, raw="")
        self.assertEqual(silent.returncode, 77)
        self.assertIn("the runtime did not start", silent.stderr)

    def test_a_script_that_starts_one(self):
        done = self.run_tool("run", "sh", "-c", f"{self.program} inner")
        self.assertEqual((done.returncode, done.stdout), (0, "inner\n"), done)

    def test_what_cannot_be_run(self):
        for program, code in (("./absent", 127), ("no-such-program", 127), ("/etc/passwd", 126)):
            done = self.run_tool("run", program)
            self.assertEqual(done.returncode, code, done)
            self.assertTrue(done.stderr.startswith("deadheat: cannot "), done.stderr)

    def test_a_process_without_an_end_is_named(self):
        done = self.run_tool("run", self.program, raw=START)
        self.assertIn("process 5 (./p) ended without its last report", done.stderr)

    def test_timeout(self):
        done = self.run_tool("run", "--timeout", "0.5", self.program, "x", "pause")
        self.assertEqual(done.returncode, 124, done)

    def test_interrupt_still_reports(self):
        child = subprocess.Popen([self.tool, "run", self.program, "x", "pause"], stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, text=True, cwd=self.folder,
                                 env=self.environment(START + MODULE + RACE + END))
        self.assertEqual(child.stdout.readline(), "x\n")  # it runs
        child.send_signal(signal.SIGINT)
        _, errors = child.communicate(timeout=280)
        self.assertEqual(child.returncode, 66, errors)
        self.assertIn("1 race", errors)

    def test_options(self):
        wrong = self.run_tool("run", "--option", "histroy_size=3", self.program)
        self.assertEqual(wrong.returncode, 2)
        self.assertIn("did you mean 'history_size'?", wrong.stderr)
        self.assertEqual([n for n in os.listdir(self.folder) if n.startswith("deadheat-")], [])


class Record(Case):
    def test_nothing_recorded(self):
        done = self.run_tool("record", "-o", "t.dht", "--", "/bin/true")
        self.assertEqual(done.returncode, 77)
        self.assertIn("is not instrumented: nothing was recorded", done.stderr)

    def test_other_files_are_not_replaced(self):
        done = self.run_tool("record", "-o", "p.c", "--", self.program)
        self.assertEqual(done.returncode, 2)
        self.assertIn("exists and is not a trace", done.stderr)


class Symbolize(Case):
    def test_names_are_filled_in(self):
        done = self.run_tool("symbolize", input="one\n    #0 <null> <null> (/none+0x1)\n")
        self.assertEqual((done.returncode, done.stdout), (0, "one\n    #0 <null> <null> (/none+0x1)\n"))
        self.assertEqual(self.run_tool("symbolize", "absent.log").returncode, 2)


class Keys(unittest.TestCase):
    def test_the_host_knows_the_runtimes_options(self):
        root = os.path.join(HERE, "../..")
        with open(os.path.join(root, "runtime/common/options.def"), encoding="utf-8") as file:
            ours = {line.split("(")[1].split(",")[0] for line in file if line.startswith("DEADHEAT_")}
        with open(os.path.join(root, "lib/pipeline/runtime_environment.cc"), encoding="utf-8") as file:
            text = file.read().split("kKeys = {")[1].split("}")[0]
        self.assertEqual({word.strip().strip('"') for word in text.split(",")}, ours)


if __name__ == "__main__":
    unittest.main()

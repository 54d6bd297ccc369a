#!/usr/bin/python3
"""The functions that the compilers' sanitizer headers declare: all are there, in every mode, and do what they say.

usage: interface_test.py DEADHEAT_CC
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.realpath(__file__))
COMPILERS = ("gcc", "clang-19")
HEADERS = ("common_interface_defs", "allocator_interface", "coverage_interface", "linux_syscall_hooks",
           "tsan_interface", "tsan_interface_atomic")
MODES = ("detect", "record", "schedule")
DECLARED = re.compile(r"\b(__(?:sanitizer|tsan)_\w+)\s*\(")
WRAPPER = None


class Interface(unittest.TestCase):
    compiler = "gcc"

    def setUp(self):
        if not shutil.which(self.compiler):
            self.skipTest(f"no {self.compiler}")
        self.work = tempfile.mkdtemp(prefix="interface.")
        self.addCleanup(shutil.rmtree, self.work)
        self.env = {**os.environ, "DEADHEAT_CC": self.compiler}
        self.env.pop("DEADHEAT_OPTIONS", None)

    def run_in(self, command, **kwargs):
        return subprocess.run(command, cwd=self.work, env={**self.env, **kwargs.pop("env", {})}, capture_output=True,
                              text=True, timeout=280, **kwargs)

    def ok(self, *command, **kwargs):
        done = self.run_in(command, **kwargs)
        self.assertEqual(done.returncode, 0, f"{command}\n{done.stdout}{done.stderr}")
        return done

    def declared(self):
        """In the headers of all compilers; those that one lacks are left out."""
        names = set()
        for compiler in filter(shutil.which, COMPILERS):
            for header in HEADERS:
                source = f"#if __has_include(<sanitizer/{header}.h>)\n#include <sanitizer/{header}.h>\n#endif\n"
                names |= set(DECLARED.findall(self.ok(compiler, "-E", "-P", "-x", "c", "-", input=source).stdout))
        return sorted(names)

    def modes(self):
        """name, environment"""
        library = os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(WRAPPER))), "lib/deadheat")
        for mode in MODES:
            if os.path.isdir(f"{library}/{mode}"):
                yield mode, {"LD_LIBRARY_PATH": f"{library}/{mode}"}

    def test_every_declared_function_is_there(self):
        names = self.declared()
        self.assertGreater(len(names), 50)
        with open(f"{self.work}/all.c", "w", encoding="utf-8") as file:
            for name in names:
                file.write(f"extern char {name}[];\n")
            file.write("const void* const all[] = {" + ", ".join(names) + "};\n")
            file.write("int main(void) { for (unsigned i = 0; i < sizeof all / sizeof *all; ++i) "
                       "if (!all[i]) return 1; return 0; }\n")
        self.ok(WRAPPER, "-w", "all.c", "-o", "all")
        for mode, env in self.modes():
            with self.subTest(mode):
                done = self.run_in(["./all"], env={"LD_BIND_NOW": "1", **env})
                # Without a trial the scheduler ends the program, but only when all symbols are bound.
                self.assertEqual(done.returncode, 77 if mode == "schedule" else 0, done.stderr)
                self.assertNotIn("symbol", done.stderr)

    def test_they_do_what_they_say(self):
        self.ok(WRAPPER, "-g", "-O1", f"{HERE}/calls.c", "-o", "calls", "-rdynamic", "-pthread")
        done = self.run_in(["./calls"], env={"DEADHEAT_OPTIONS": "exitcode=7"})
        self.assertEqual((done.returncode, done.stdout), (7, "finalized 1\ndied\n"), done.stderr)
        for mode, env in self.modes():
            if mode == "record":  # nothing is reported there
                with self.subTest(mode):
                    self.ok("./calls", "quiet", env=env)


class InterfaceClang(Interface):
    compiler = "clang-19"


if __name__ == "__main__":
    WRAPPER = os.path.abspath(sys.argv.pop(1))
    unittest.main()

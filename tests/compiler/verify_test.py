#!/usr/bin/python3
"""deadheat verify over binaries that are well built, badly built and not built for it at all.

usage: verify_test.py DEADHEAT DEADHEAT_CC
"""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

TOOL, WRAPPER = (os.path.abspath(path) for path in sys.argv[1:3])
del sys.argv[1:3]
MAIN = """#include <pthread.h>
int cell;
static void* writer(void* unused) { cell = 1; return unused; }
int main(void) { pthread_t t; pthread_create(&t, 0, writer, 0); cell = 2; pthread_join(t, 0); return 0; }
"""


class Verify(unittest.TestCase):
    def setUp(self):
        self.work = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.work)
        with open(f"{self.work}/main.c", "w", encoding="utf-8") as file:
            file.write(MAIN)

    def build(self, *command, compiler="gcc"):
        subprocess.run([*command, "main.c", "-o", "main"], cwd=self.work, check=True,
                       env={**os.environ, "DEADHEAT_CC": compiler})

    def verify(self, binary="./main"):
        done = subprocess.run([TOOL, "verify", binary], cwd=self.work, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    def test_gcc(self):
        self.build(WRAPPER)
        code, text = self.verify()
        self.assertEqual(code, 0, text)
        plugin = os.path.exists(os.path.join(os.path.dirname(WRAPPER), "../lib/deadheat/gcc-12/deadheat_gcc.so"))
        marked = "are marked" if plugin else "are not marked"
        self.assertRegex(text, rf"\./main +instrumented \(.*gcc \d.*\); calls into other code {marked}")
        self.assertIn("detection is alive", text)

    def test_clang_with_the_pass(self):
        folder = os.path.join(os.path.dirname(WRAPPER), "../lib/deadheat/deadheat_pass.so")
        if shutil.which("clang-19") is None or not os.path.exists(folder):
            self.skipTest("no clang 19, or no pass")
        self.build(WRAPPER, compiler="clang-19")
        code, text = self.verify()
        self.assertEqual(code, 0, text)
        self.assertRegex(text, r"\./main +instrumented \(.*clang 19.*\); calls into other code are marked")

    def test_not_instrumented(self):
        self.build("gcc")
        code, text = self.verify()
        self.assertEqual(code, 77)
        self.assertIn("nothing in it is instrumented", text)
        self.assertIn("to do: build it with CC=deadheat-cc", text)

    def test_thread_sanitizers_runtime(self):
        self.build("gcc", "-fsanitize=thread")
        code, text = self.verify()
        self.assertEqual(code, 77)
        self.assertIn("libtsan", text)

    def test_static(self):
        self.build("gcc", "-static")
        code, text = self.verify()
        self.assertEqual(code, 77)
        self.assertIn("linked statically", text)

    def test_runtime_not_first(self):
        library = os.path.join(os.path.dirname(WRAPPER), "../lib/deadheat")
        subprocess.run(["gcc", "-fsanitize=thread", "-c", "main.c"], cwd=self.work, check=True)
        subprocess.run(["gcc", "main.o", "-Wl,--no-as-needed", "-lm", f"-L{library}", "-ldeadheat",
                        f"-Wl,-rpath,{library}/detect", "-o", "main"], cwd=self.work, check=True)
        code, text = self.verify()
        self.assertEqual(code, 77)
        self.assertIn("not the first library", text)

    def test_dead_runtime(self):
        """A library with the hooks and no detector behind them."""
        self.build(WRAPPER)
        here = os.path.dirname(os.path.realpath(__file__))
        subprocess.run(["gcc", "-fPIC", "-shared", "-I", os.path.join(here, "../.."), "-Wl,-soname,libdeadheat.so.1",
                        os.path.join(here, "witness.c"), "-o", f"{self.work}/libdeadheat.so.1"], check=True)
        done = subprocess.run([TOOL, "verify", "./main"], cwd=self.work, capture_output=True, text=True, check=False,
                              env={**os.environ, "LD_LIBRARY_PATH": self.work})
        self.assertEqual(done.returncode, 77, done.stdout)
        self.assertIn("the planted race was not found", done.stdout)

    def test_nonsense(self):
        self.assertEqual(self.verify("./missing")[0], 2)
        self.assertEqual(self.verify("./main.c")[0], 2)


if __name__ == "__main__":
    unittest.main()

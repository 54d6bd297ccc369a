"""What the tests of `deadheat scan` have in common: a folder, the tools, and a program of two files."""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

DEADHEAT, COMPILER, EXAMPLES = sys.argv[1:4]
COUNTER = "int total; void count(int n) { total += n; } int peek(void) { return 1; }"
THREADS = """#include <pthread.h>
void count(int n);
static void* work(void* unused) { count(1); return unused; }
int main(void) {
  pthread_t one, other;
  pthread_create(&one, 0, work, 0);
  pthread_create(&other, 0, work, 0);
  pthread_join(one, 0);
  pthread_join(other, 0);
  return 0;
}
"""


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        return self.path(name)

    def run_in(self, *words, compiler="clang-19"):
        environment = {**os.environ, "DEADHEAT_CC": compiler, "XDG_CACHE_HOME": self.path("caches")}
        return subprocess.run(words, cwd=self.folder, env=environment, capture_output=True, text=True, timeout=120, check=False)

    def build(self, source, *options, compiler="clang-19"):
        done = self.run_in(COMPILER, *options, "-g", "-O1", "-pthread", source, "-o", self.path("program"), compiler=compiler)
        self.assertEqual(done.returncode, 0, done.stderr)

    def scan(self, *options):
        return self.run_in(DEADHEAT, "scan", self.path("program"), "--findings", self.path("f.json"), *options)


def main():
    """DEADHEAT, DEADHEAT_CC and EXAMPLES are the first arguments of every test."""
    if shutil.which("clang-19") is None:
        print("skipped: no clang-19 (Debian package of that name)")
        sys.exit(77)
    unittest.main(module="__main__", argv=[sys.argv[0], *sys.argv[4:]])

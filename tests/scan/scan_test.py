#!/usr/bin/python3
"""deadheat-cc --scan and deadheat scan, end to end: what is found, what is not, and what cannot be scanned.

usage: scan_test.py DEADHEAT DEADHEAT_CC EXAMPLES
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

DEADHEAT, COMPILER, EXAMPLES = sys.argv[1:4]
SAFE = """#include <pthread.h>
static int total;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void* add(void* unused) { pthread_mutex_lock(&lock); total++; pthread_mutex_unlock(&lock); return unused; }
int main(void) {
  pthread_t one, other;
  pthread_create(&one, 0, add, 0);
  pthread_create(&other, 0, add, 0);
  pthread_join(one, 0);
  pthread_join(other, 0);
  return total != 2;
}
"""


class Scan(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def run_in(self, *words):
        environment = {**os.environ, "DEADHEAT_CC": "clang-19"}
        return subprocess.run(words, cwd=self.folder, env=environment, capture_output=True, text=True, timeout=120, check=False)

    def build(self, source, *options):
        done = self.run_in(COMPILER, *options, "-g", "-O1", "-pthread", source, "-o", self.path("program"))
        self.assertEqual(done.returncode, 0, done.stderr)

    def scan(self, *options):
        return self.run_in(DEADHEAT, "scan", self.path("program"), "--findings", self.path("f.json"), *options)

    def test_the_bank_has_two_candidates_and_no_alarm(self):
        self.build(os.path.join(EXAMPLES, "bank.c"), "--scan")
        done = self.scan()
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(self.path("f.json"), encoding="utf-8") as file:
            findings = json.load(file)["findings"]
        self.assertEqual(len(findings), 2)
        self.assertIn("DH-498a5e64", done.stdout)  # the id that check has for the same race (README)
        self.assertEqual(self.scan("--fail-on", "candidate").returncode, 66)

    def test_its_safe_twin(self):
        with open(self.path("safe.c"), "w", encoding="utf-8") as file:
            file.write(SAFE)
        self.build(self.path("safe.c"), "--scan")
        done = self.scan("--fail-on", "candidate")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_what_has_no_bitcode_cannot_be_scanned(self):
        self.build(os.path.join(EXAMPLES, "bank.c"))
        done = self.scan()
        self.assertEqual(done.returncode, 77)
        self.assertIn("--scan", done.stderr)


if __name__ == "__main__":
    if shutil.which("clang-19") is None:
        print("skipped: no clang-19 (Debian package of that name)")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])

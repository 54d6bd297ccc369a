#!/usr/bin/python3
"""What `cmake --install` installs works by itself, also after the prefix was moved: docs/guides/installing.md.

usage: install_test.py BUILD
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.realpath(__file__))
ROOT = os.path.realpath(os.path.join(HERE, "../.."))
BUILD = os.path.abspath(sys.argv.pop(1))


class Install(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="install.")
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        first = os.path.join(cls.folder, "first")
        subprocess.run(["cmake", "--install", BUILD, "--prefix", first], check=True, stdout=subprocess.DEVNULL)
        cls.prefix = os.path.join(cls.folder, "prefix")
        os.rename(first, cls.prefix)
        cls.tool = os.path.join(cls.prefix, "bin/deadheat")
        cls.environment = {**os.environ, "PATH": f"{cls.prefix}/bin:{os.environ['PATH']}", "HOME": cls.folder,
                           "XDG_STATE_HOME": cls.folder, "XDG_DATA_HOME": cls.folder}

    def run_in(self, *command, timeout=200):
        return subprocess.run(command, cwd=self.folder, env=self.environment, capture_output=True, text=True, check=False,
                              stdin=subprocess.DEVNULL, timeout=timeout)

    def test_everything_that_the_page_lists_is_there(self):
        with open(os.path.join(ROOT, "docs/guides/installing.md"), encoding="utf-8") as file:
            listed = [name for row in re.findall(r"^\| (`.*?) \|", file.read(), re.M) for name in re.findall(r"`([^`]+)`", row)]
        self.assertGreater(len(listed), 6)
        for name in listed:
            if name == "bin/deadheat-scan" and not os.path.exists(os.path.join(BUILD, "apps/deadheat-scan")):
                continue  # built without LLVM 19
            with self.subTest(name=name):
                self.assertTrue(os.path.exists(os.path.join(self.prefix, name)))
        named = "\n".join(listed)
        for folder in ("bin", "lib", "share"):
            for entry in os.listdir(os.path.join(self.prefix, folder)):
                self.assertIn(f"{folder}/{entry}", named, "not on the page")

    def test_nothing_knows_where_it_was_built(self):
        for folder, _, files in os.walk(self.prefix):
            for name in files:
                if name.endswith((".pc", ".cmake", ".specs")):
                    with open(os.path.join(folder, name), encoding="utf-8") as file:
                        text = file.read()
                    self.assertNotIn(BUILD, text, name)
                    self.assertNotIn(os.path.join(self.folder, "first"), text, name)

    def test_the_main_job(self):
        shutil.copy(os.path.join(ROOT, "examples/bank.c"), self.folder)
        built = self.run_in("deadheat-cc", "-g", "-O1", "-pthread", "bank.c", "-o", "bank")
        self.assertEqual(built.returncode, 0, built.stderr)
        found = self.run_in("deadheat", "check", "--time", "60", "--", "./bank")
        self.assertEqual(found.returncode, 66, found.stderr)
        self.assertIn("bank.checking", found.stdout)

    def test_one_pair_seen_by_watch_run_and_confirm_is_one_row(self):
        done = self.run_in("/usr/bin/python3", os.path.join(ROOT, "tests/watch/watch_test.py"), self.tool,
                           "Watch.test_one_pair_is_one_row_whoever_saw_it")
        self.assertIn(done.returncode, (0, 77), done.stderr)


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/python3
"""docs/man holds exactly what `deadheat man` writes, and every page and completion is well formed.

usage: man_test.py DEADHEAT
To bring the pages up to date: ./deadheat man --directory docs/man
"""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

TOOL = os.path.abspath(sys.argv.pop(1))
COMMITTED = os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../docs/man")


def pages(folder):
    found = {}
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            found[name] = file.read()
    return found


class Man(unittest.TestCase):
    maxDiff = None

    def test_committed_pages_are_current(self):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([TOOL, "man", "--directory", folder], check=True)
            written = pages(folder)
        self.assertIn("deadheat-doctor.1", written)
        self.assertEqual(pages(COMMITTED), written, "run: ./deadheat man --directory docs/man")

    def test_pages_have_no_roff_warnings(self):
        if shutil.which("groff") is None:
            self.skipTest("no groff")
        for name in os.listdir(COMMITTED):
            done = subprocess.run(["groff", "-man", "-ww", "-z", "-Tutf8", os.path.join(COMMITTED, name)],
                                  capture_output=True, text=True, check=False)
            self.assertEqual(done.stderr, "", name)


class Completion(unittest.TestCase):
    def complete(self, *words):
        script = ('source <("$0" completion bash); COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); '
                  '_deadheat; printf "%s\\n" "${COMPREPLY[@]}"')
        done = subprocess.run(["bash", "-c", script, TOOL, "deadheat", *words], capture_output=True,
                              text=True, check=True)
        self.assertEqual(done.stderr, "")
        return done.stdout.split()

    def test_verbs_options_and_values(self):
        self.assertEqual(self.complete("doc"), ["doctor"])
        self.assertEqual(self.complete("doctor", "--j"), ["--json"])
        self.assertIn("help", self.complete(""))

    def test_zsh_script_parses(self):
        script = subprocess.run([TOOL, "completion", "zsh"], capture_output=True, text=True, check=True)
        self.assertTrue(script.stdout.startswith("#compdef deadheat\n"))
        if shutil.which("zsh") is None:
            self.skipTest("no zsh")
        subprocess.run(["zsh", "-n"], input=script.stdout, text=True, check=True)


if __name__ == "__main__":
    unittest.main()

"""What the tests of `deadheat proc` have in common: a folder that goes away, the tool, and a recording."""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest


class ProcessCase(unittest.TestCase):
    deadheat = ""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="deadheat-process-")
        self.addCleanup(shutil.rmtree, self.folder, True)

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        return self.path(name)

    def read(self, *names):
        with open(self.path(*names), encoding="utf-8", errors="replace") as file:
            return file.read()

    def command(self, *words):
        return [self.deadheat, "proc", *words]

    def proc(self, *words, text=None, timeout=300, cwd=None):
        source = {"stdin": subprocess.DEVNULL} if text is None else {"input": text}
        return subprocess.run(self.command(*words), capture_output=True, text=True, errors="replace", cwd=cwd or self.folder, timeout=timeout, check=False,
                              **source)

    def or_skip(self, done):
        """What was done, unless this machine cannot do it at all."""
        if done.returncode == 77:
            self.skipTest(done.stderr.strip())
        return done


def main():
    """DEADHEAT is the first argument of every test."""
    ProcessCase.deadheat = os.path.realpath(sys.argv.pop(1))
    unittest.main(module="__main__")

#!/usr/bin/python3
"""A full folder is named: whatever verb cannot go on for want of space says what is full, and never looks like a pass.

usage: full_folder_test.py DEADHEAT DEADHEAT_CC PROGRAM.c [unittest arguments]
"""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

TOOL, COMPILER, SOURCE = (os.path.abspath(sys.argv.pop(1)) for _ in range(3))
PATIENCE_S = 120
# A small file system of its own, of which $1 KB are taken; invisible outside.
SMALL = 'mount -t tmpfs -o size=256k none "$0" && { [ "$1" = 0 ] || head -c "$1"k /dev/zero > "$0/fill"; }; shift; exec "$@"'
PRIVATE = ["unshare", "-m", "sh", "-c"]


@unittest.skipUnless(os.geteuid() == 0 and subprocess.run([*PRIVATE, "mount -t tmpfs none /mnt"], capture_output=True, check=False).returncode == 0,
                     "needs root, to mount a small file system")
class FullFolder(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="deadheat-full-")
        cls.addClassCleanup(shutil.rmtree, cls.folder, True)
        cls.program = os.path.join(cls.folder, "bank")
        subprocess.run([COMPILER, "-g", "-pthread", SOURCE, "-o", cls.program], check=True, timeout=PATIENCE_S)
        cls.small = os.path.join(cls.folder, "small")
        os.mkdir(cls.small)

    def run_tool(self, *words, taken=256):
        return subprocess.run([*PRIVATE, SMALL, self.small, str(taken), TOOL, *words], capture_output=True, text=True, cwd=self.folder,
                              env=dict(os.environ, TMPDIR=self.small), stdin=subprocess.DEVNULL, timeout=PATIENCE_S, check=False)

    def says_full(self, *words, taken=256):
        done = self.run_tool(*words, taken=taken)
        self.assertEqual(done.returncode, 77, done.stderr)
        self.assertRegex(done.stderr, f"({self.small}|small)[^ ]*( is full: |: No space left on device)", words)
        self.assertRegex(done.stderr, "hint: .*(free some|TMPDIR)", words)
        return done

    def test_run(self):
        self.says_full("run", "--", self.program)

    def test_check(self):
        self.says_full("check", "--", self.program)

    def test_record(self):
        done = self.says_full("record", "-o", self.small + "/t.dht", "--", self.program)
        self.assertIn("is full: 0 of 262,144 bytes", done.stderr)

    def test_proc(self):
        for verb, where in (("record", "-o"), ("check", "--keep")):
            done = self.run_tool("proc", verb, where, self.small + "/rec", "--", "ls", "/")
            if "needs" in done.stderr and "namespaces" in done.stderr:
                self.skipTest(done.stderr.strip())
            self.says_full("proc", verb, where, self.small + "/rec", "--", "ls", "/")

    def test_reports_that_found_no_room_are_said_to_be_missing(self):
        """Room for the start, not for the end: the races that were told are reported, and what is full is named."""
        done = self.run_tool("run", "--", self.program, taken=252)
        self.assertIn(done.returncode, (66, 77), done.stderr)
        self.assertIn("is full: ", done.stderr)

    def test_what_check_found_before_is_reported(self):
        done = self.says_full("check", "--", self.program, taken=252)
        if "confirming" in done.stderr:
            self.assertRegex(done.stdout + done.stderr, "DH-[0-9a-f]+")

    def test_the_same_with_room_is_fine(self):
        done = subprocess.run([TOOL, "run", "--", self.program], capture_output=True, text=True, cwd=self.folder, stdin=subprocess.DEVNULL,
                              timeout=PATIENCE_S, check=False)
        self.assertIn(done.returncode, (0, 66, 134), done.stderr)
        self.assertNotIn("is full", done.stderr)


if __name__ == "__main__":
    unittest.main()

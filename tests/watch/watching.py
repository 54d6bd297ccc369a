"""What the tests of deadheat watch have in common: programs built into a folder, and the tool run on them."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

TOOL = os.path.abspath(sys.argv.pop(1))
PROGRAMS = os.path.join(os.path.dirname(os.path.realpath(__file__)), "programs")


def can_trace():
    """Whether a child can be traced at all here; in some sandboxes it cannot."""
    with tempfile.TemporaryDirectory() as folder:
        source = os.path.join(folder, "t.c")
        with open(source, "w", encoding="utf-8") as file:
            file.write("#include <sys/ptrace.h>\nint main(void) { return ptrace(PTRACE_TRACEME, 0, 0, 0) != 0; }\n")
        subprocess.run(["cc", source, "-o", source + ".out"], check=True)
        return subprocess.run([source + ".out"], check=False).returncode == 0


class Watching(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp()

    @classmethod
    def build(cls, source, name, *flags):
        subprocess.run(["cc", "-O2", "-pthread", os.path.join(PROGRAMS, source), *flags, "-o",
                        os.path.join(cls.folder, name)], check=True)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def path(self, name):
        return os.path.join(self.folder, name)

    def watch(self, *words, **more):
        environment = {k: v for k, v in os.environ.items() if k != "DEADHEAT_OPTIONS"}
        # Attached to, a program is spared by default; most tests are about what is found within a second.
        if "-p" in words and "--standstill" not in words:
            words = ("--standstill", "0", *words)
        return subprocess.run([TOOL, "watch", *words], capture_output=True, text=True, check=False,
                              timeout=120, env=environment, cwd=self.folder, stdin=subprocess.DEVNULL, **more)

    def start(self, name, *words):
        process = subprocess.Popen([self.path(name), *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   text=True)
        self.addCleanup(process.kill)
        return process

    def end(self, process):
        """Closing its input ends it; it must say that all went well."""
        output, _ = process.communicate(timeout=280)
        self.assertEqual(process.returncode, 0, output)
        return output

    def findings(self):
        with open(self.path("f.json"), encoding="utf-8") as file:
            return json.load(file)

    def counters(self):
        return {c["name"]: c["value"] for c in self.findings()["origins"][0]["counters"]}

    def one_line(self, run, code, text):
        self.assertEqual(run.returncode, code, run.stderr)
        first = [line for line in run.stderr.splitlines() if "watched" not in line][0]
        self.assertTrue(first.startswith("deadheat: "), run.stderr)
        self.assertIn(text, first)


def main():
    if not can_trace():
        print("skipped: ptrace is not allowed here")
        sys.exit(77)
    unittest.main()

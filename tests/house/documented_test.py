#!/usr/bin/python3
"""Every command that README.md and docs/guides show works as it stands there.

usage: documented_test.py DEADHEAT

The commands of a page's `sh` blocks run one after the other in a folder that holds stand-ins for what pages name
(./program, findings.json, trace.std, ...). A line that cannot run here is listed in NOT_HERE with its reason; a listed line that
no page has any more fails too. Of what `console` blocks show, the
lines that no run can change are compared, numbers masked, and the fields of each finding.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

TOOL = os.path.abspath(sys.argv.pop(1))
BIN = os.path.dirname(TOOL)
ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.realpath(__file__)), "../.."))
PAGES = ["README.md", "CONTRIBUTING.md"] + sorted(f"docs/guides/{name}" for name in os.listdir(f"{ROOT}/docs/guides") if name.endswith(".md"))

# Beginning of a line: why it does not run here. Other tests run what it does.
NOT_HERE = {
    "./test": "this is part of it",
    "CC=deadheat-cc CXX=deadheat-c++ ./configure": "compiler.builds",
    "CC=\"deadheat-cc --scan\" ./configure": "scan.cli",
    "cmake -B build": "compiler.builds",
    "cmake --preset release": "./deadheat makes the same build",
    "cmake --install build/release": "house.install",
    "make -C /lib/modules/": "kernel.watch, in a machine of its own",
    "./load & deadheat watch --kernel": "kernel.watch",
    "deadheat watch --kernel": "kernel.watch",
    "deadheat report --format sarif -o races.sarif f.json": "f.json comes from the line before, in kernel.watch",
    "deadheat validate candidates.json --findings verdicts.json --attach": "validate.robust",
    "tools/bootstrap": "./deadheat and ./test begin with it",
    "tools/vm": "kernel.watch uses it",
    "sudo ": "root and systemd; hive.deploy reads the units",
    "printf 'HIVE=": "the same",
    "curl --cacert": "the same",
    "export DEADHEAT_HIVE_DATABASE='postgresql": "hive.postgres",
    "deadheat hive serve": "hive.api",
    "deadheat hive push --hive": "hive.api",
    "deadheat hive revoke": "hive.api: ids are random",
    "deadheat hive fetch": "hive.team: ids are made by the linker",
    "deadheat agent run": "hive.fleet",
    "deadheat replay f.json DH-498a5e64 --gdb": "needs gdb and a terminal",
}
# A finding is no mistake, nor is the stand-in's own status.
GOOD = (0, 66)

SERVER = """
#include <pthread.h>
static int turns, shared;
static void* work(void* unused) { (void)unused; for (int i = 0; i < 1000; i++) shared++; return 0; }
int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, work, 0); pthread_create(&b, 0, work, 0);
  pthread_join(a, 0); pthread_join(b, 0);
  return turns;
}
"""


def blocks(page, language):
    with open(os.path.join(ROOT, page), encoding="utf-8") as file:
        return re.findall(rf"^```{language}\n(.*?)^```", file.read(), re.M | re.S)


def commands(page):
    """The lines of a page's sh blocks; a `case` belongs to the line before it, whose status it looks at."""
    found = []
    for block in blocks(page, "sh"):
        inside = False
        for line in block.splitlines():
            line = line.split("  #")[0].strip()
            inside = inside or line.startswith("case ")
            if inside:
                found[-1] += "\n" + line
                inside = line != "esac"
            elif line:
                found.append(line)
    return found


def reason_not_here(line):
    return next((why for start, why in NOT_HERE.items() if line.startswith(start)), None)


class Documented(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.above = tempfile.mkdtemp()
        cls.folder = os.path.join(cls.above, "project")
        os.mkdir(cls.folder)
        cls.environment = dict(os.environ, PATH=f"{BIN}:{os.environ['PATH']}", NO_COLOR="1", XDG_DATA_HOME=cls.above,
                               XDG_STATE_HOME=cls.above)
        cls.environment["DEADHEAT_OPTIONS"] = "time=120"  # a busy machine must not make a campaign endless

        def put(name, text):
            with open(os.path.join(cls.folder, name), "w", encoding="utf-8") as file:
                file.write(text)

        shutil.copytree(os.path.join(ROOT, "examples"), os.path.join(cls.folder, "examples"))
        os.symlink(TOOL, os.path.join(cls.folder, "deadheat"))
        put("server.c", SERVER)
        put("Makefile", "all: a b\na:\n\techo a > a\nb:\n\techo b > b\n")
        put("suite.sh", "#!/bin/sh\nexit 0\n")
        os.chmod(os.path.join(cls.folder, "suite.sh"), 0o755)
        put("CODEOWNERS", "* @all\n")
        put("races.supp", "race:^nobody$\n")
        shutil.copy(os.path.join(cls.folder, "examples/bank.std"), os.path.join(cls.folder, "trace.std"))
        cls.sh("deadheat-cc --scan -g -pthread server.c -o program && cp program server && cp program tests")
        cls.sh("deadheat trace convert trace.std trace.dht && cp trace.dht bank.dht && cp races.supp ../shared.supp")
        cls.sh("deadheat analyze trace.std --findings findings.json; cp findings.json known.json; cp findings.json main.json;"
               "cp findings.json monday.json; cp findings.json tuesday.json")

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.above, ignore_errors=True)

    @classmethod
    def sh(cls, line, timeout=200):
        return subprocess.run(["bash", "-c", line], cwd=cls.folder, env=cls.environment, timeout=timeout, check=False,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def prepared(self, line):
        """The line with the numbers of this run in place of the page's examples."""
        if " -p 4711" in line:
            line = "sleep 2 & " + line.replace("4711", "$!").replace("--time 60", "--time 1")
        if "DH-498a5e64" in line:
            shown = self.sh("deadheat report f.json --format json" if " f.json" in line else line.split(" --explain")[0]).stdout
            line = line.replace("DH-498a5e64", re.search(r"DH-[0-9a-f]{8}", shown).group())
        return line

    def test_commands(self):
        for page in PAGES:
            for line in commands(page):
                if reason_not_here(line):
                    continue
                with self.subTest(page=page, line=line):
                    done = self.sh(self.prepared(line))
                    self.assertIn(done.returncode, GOOD, done.stderr[-2000:])

    def test_exceptions_are_needed(self):
        lines = [line for page in PAGES for line in commands(page)]
        for start in NOT_HERE:
            self.assertTrue(any(line.startswith(start) for line in lines), f"no page shows: {start}")

    def test_shown_output(self):
        for block in blocks("README.md", "console"):
            command = block.splitlines()[0].removeprefix("$ ")
            with self.subTest(command=command):
                done = self.sh(command)
                self.assertIn(done.returncode, GOOD, done.stderr[-2000:])
                shown = masked(done.stderr + done.stdout)
                for line in masked(block):
                    self.assertIn(line, shown)
                real = fields(done.stdout)
                for title, labels in fields(block).items():
                    rest = iter(next((own for one, own in real.items() if masked(one) == masked(title)), []))
                    self.assertTrue(all(label in rest for label in labels), f"{title}: {labels}, not {real}")


def masked(text):
    """The lines that are the same in every run but for numbers: what races with what, where, how to repeat and to silence it, and the sums."""
    kept = []
    for line in text.splitlines():
        if re.match(r"(HARMFUL|RACE|OBSERVED|MADE TO HAPPEN) |  (first|second|silence|object) ", line):
            line = re.sub(r"^  (first |second) ", "  access ", line)  # either thread may be named first
            line = re.sub(r"race:(\S+) <-> (\S+)", lambda sides: "race:" + " <-> ".join(sorted(sides.groups())), line)
            line = re.sub(r"(Process race on \S+) .*", r"\1", line)  # of the orders with one cause, the recording decides which is shown
            kept.append(re.sub(r"/tmp/tmp\.\S+?/", "/tmp/*/", re.sub(r"\bT\d+\b", "T*", line)))
        elif re.match(r"  repeat |deadheat: (recorded|\d+ branches:)|\d+ races? \(", line):
            line = re.sub(r"DH-[0-9a-f]+", "DH-*", line)
            line = re.sub(r"^(deadheat: \d+ branches): .*|^(\d+ races?) \(.*\)", r"\1\2", line)  # which there are is up to the runs
            kept.append(re.sub(r"races\b", "race", re.sub(r"(-N)+", "-N", re.sub(r"[\d,.]*\d", "N", line))))
    return kept


def fields(text):
    """The labels of each finding, by its title."""
    found, own = {}, []
    for line in text.splitlines():
        if re.match(r"[A-Z][A-Z ]+  \S.* DH-[0-9a-f]{8}", line):
            own = found.setdefault(line, [])
        elif label := re.match(r"  ([a-z][a-z ]*?)  +\S", line):
            own.append(label.group(1))
    return found


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/python3
"""Campaigns on a real Slurm of two nodes: the same verdicts as here with the same seeds, also when a node dies meanwhile.

usage: slurm_test.py DEADHEAT [unittest arguments]
"""
import glob
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import unittest

from slurm import Slurm, missing

TOOL = os.path.abspath(sys.argv.pop(1))
TRIALS = "200"

PROGRAM = r"""
#include <pthread.h>
#include <stdlib.h>
static int ready, value;
static void* writer(void* unused) { value = 42; ready = 1; return unused; }
static void* reader(void* unused) { if (ready && value != 42) abort(); if (!ready && value == 42) exit(3); return unused; }
int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, writer, 0);
  pthread_create(&b, 0, reader, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
"""


class OnSlurm(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.slurm = Slurm()
        cls.folder = tempfile.mkdtemp(prefix="dh-cluster-")
        source = cls.folder + "/flags.c"
        with open(source, "w", encoding="utf-8") as file:
            file.write(PROGRAM)
        wrapper = os.path.join(os.path.dirname(TOOL), "deadheat-cc")
        subprocess.run([wrapper, "-g", "-O1", "-pthread", source, "-o", cls.folder + "/flags"], check=True)
        found = cls.run_tool("check", "--trials", "1", "--undisturbed", "1", "-o", cls.folder + "/found.json",
                             "--", "./flags")
        cls.found = os.path.join(cls.folder, "deadheat-check/findings.json")
        assert os.path.exists(cls.found), found.stderr

    @classmethod
    def tearDownClass(cls):
        cls.slurm.stop()
        shutil.rmtree(cls.folder)

    @classmethod
    def run_tool(cls, *words):
        clean = {k: v for k, v in cls.slurm.environment.items() if k not in ("DEADHEAT_OPTIONS", "LD_LIBRARY_PATH")}
        return subprocess.run([TOOL, *words], capture_output=True, text=True, check=False, timeout=300, env=clean,
                              cwd=cls.folder, stdin=subprocess.DEVNULL)

    def confirm(self, name, *options):
        """What each seed showed, and the exit status."""
        findings = os.path.join(self.folder, name + ".json")
        shutil.copy(self.found, findings)
        done = self.run_tool("confirm", findings, "--trials", TRIALS, "--seed", "1000", "--undisturbed", "2", "--jobs", "2",
                             *options, "--", "./flags")
        with open(findings, encoding="utf-8") as file:
            self.file = json.load(file)
        shown = {}
        for finding in self.file["findings"]:
            for evidence in finding["evidence"]:
                how = evidence.get("trial", {}).get("reproducer", {})
                if how.get("seed", 0) >= 1000:
                    shown[(how["candidate"], how["seed"])] = (evidence["outcome"], evidence.get("order"),
                                                              evidence.get("consequence", {}).get("kind"))
        return done, shown

    def kill_in_the_middle(self, ended):
        """Node 2 dies while its worker runs something. Node 1 is halted meanwhile, so that the campaign cannot end without node 2;
        what node 1 holds does not change then, so whatever is newly taken is node 2's."""
        def names(kind):
            return set(glob.glob(f"{self.folder}/deadheat-cluster-*/jobs/{kind}/*"))

        before, done = set(), 0
        while not ended.wait(0.02):
            self.slurm.signal_all("SLURMD_NODENAME=1", signal.SIGSTOP)  # its worker may start late
            if len(names("done")) < done + 3:
                continue
            self.slurm.signal_all("SLURMD_NODENAME=2", signal.SIGSTOP)
            held = names("taken")
            if done and held - before:
                self.slurm.kill("slurmd2")
                self.slurm.signal_all("SLURMD_NODENAME=1", signal.SIGCONT)
                return
            before, done = held, len(names("done"))
            self.slurm.signal_all("SLURMD_NODENAME=2", signal.SIGCONT)

    def test_the_same_verdicts_as_here_also_when_a_node_dies(self):
        here, local = self.confirm("here")
        self.assertGreater(len(local), 30, here)
        there, remote = self.confirm("there", "--on", "slurm:all")
        self.assertEqual(there.returncode, here.returncode, there)
        # Candidates are decided after enough trials; which ones were in flight then differs.
        both = set(local) & set(remote)
        self.assertGreater(len(both), 0.8 * len(local))
        self.assertEqual({key: local[key] for key in both}, {key: remote[key] for key in both})
        self.assertEqual([name for name in os.listdir(self.folder) if name.startswith("deadheat-cluster-")], [])

        ended = threading.Event()
        killer = threading.Thread(target=self.kill_in_the_middle, args=[ended])
        killer.start()
        survived, again = self.confirm("survived", "--on", "slurm")
        ended.set()
        killer.join()
        self.assertNotIn("slurmd2", self.slurm.daemons, "the campaign was over before a node could die")
        self.assertEqual(survived.returncode, here.returncode, survived)
        self.assertIn("run again: their worker was lost", str(self.file["origins"]), survived)
        both = set(local) & set(again)
        self.assertGreater(len(both), 0.8 * len(local))
        self.assertEqual({key: local[key] for key in both}, {key: again[key] for key in both})

    def branches(self, recording, *options):
        """What each order of a recording showed, and what broke."""
        done = self.run_tool("proc", "validate", recording, "--undisturbed", "1", "--branches", "2", "--jobs", "2", "--findings", recording + ".json", *options)
        with open(f"{self.folder}/{recording}.json", encoding="utf-8") as file:
            found = json.load(file)["findings"]
        return done, sorted((one["id"], evidence["outcome"], evidence.get("consequence", {}).get("kind"))
                            for one in found for evidence in one["evidence"])

    def test_branches_of_a_recording(self):
        with open(self.folder + "/racy.sh", "w", encoding="utf-8") as file:
            file.write("mkdir made\n(echo data > made/file) &\nsleep 0.2\ncat made/file\nwait\n")
        self.assertEqual(self.run_tool("proc", "record", "-o", "rec", "--", "/bin/sh", "racy.sh").returncode, 0)
        shutil.copytree(self.folder + "/rec", self.folder + "/there", symlinks=True)
        here, local = self.branches("rec")
        there, remote = self.branches("there", "--on", "slurm:all")
        self.assertEqual((here.returncode, there.returncode), (66, 66), there)
        self.assertEqual(local, remote)
        left = [name for name in os.listdir(self.folder + "/there/branches") if name.endswith((".order", ".job"))]
        self.assertEqual(left, [])
        again = self.run_tool("proc", "replay", "there.json")
        self.assertEqual(again.returncode, 66, again)

    def test_what_cannot_be_submitted_is_said(self):
        done = self.run_tool("confirm", self.found, "--on", "slurm:nowhere", "--", "./flags")
        self.assertEqual(done.returncode, 77, done)
        self.assertIn("sbatch failed", done.stderr)
        done = self.run_tool("confirm", self.found, "--on", "mars", "--", "./flags")
        self.assertIn("--on slurm[:PARTITION]", done.stderr)


if __name__ == "__main__":
    why = missing()
    if why:
        print("skipped: " + why)
        sys.exit(77)
    unittest.main()

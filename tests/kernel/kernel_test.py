#!/usr/bin/python3
"""deadheat watch --kernel in a machine of its own: RWrace of the DRDDR paper and the two bugs of its section 4.1
are found, their safe twins and fixed versions are silent, and the module comes and goes under load.

usage: kernel_test.py DEADHEAT FOLDER [unittest arguments]; FOLDER keeps compiled modules between runs.
$DEADHEAT_TEST_KERNEL is another kernel's package, as in tools/vm --kernel.
"""
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

TOOL = os.path.abspath(sys.argv.pop(1))
FOLDER = os.path.abspath(sys.argv.pop(1))
HERE = os.path.dirname(os.path.realpath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
VM = [os.path.join(ROOT, "tools", "vm")]
if "DEADHEAT_TEST_KERNEL" in os.environ:
    VM += ["--kernel", os.environ["DEADHEAT_TEST_KERNEL"]]
MODULES = ("rwrace", "inode_size", "nlink", "registers", "halves")
CANNOT_RUN = 77


def build(source, name, *flags):
    folder = os.path.join(FOLDER, name)
    made = subprocess.run([*VM, "--build", source, folder, *flags], capture_output=True, text=True, check=False)
    if made.returncode != 0:
        print("skipped: " + made.stderr.strip() if "does not compile" not in made.stderr else made.stderr)
        sys.exit(CANNOT_RUN if "does not compile" not in made.stderr else 1)
    return folder


class Kernel(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        ours = build(os.path.join(ROOT, "kernel", "kmod"), "kmod", "--flag", "DEADHEAT_ROOT=" + ROOT)
        tests = build(os.path.join(HERE, "modules"), "tests")
        cls.temporary = tempfile.TemporaryDirectory()
        cls.out = cls.temporary.name
        cls.pairs = os.path.join(FOLDER, "pair_watched")
        subprocess.run(["cc", "-O1", "-static", os.path.join(HERE, "pair_watched.c"), "-o", cls.pairs], check=True)
        words = [*VM, "--timeout", "550", "--out", cls.out, "--program", TOOL, "--file", cls.pairs,
                 "--file", os.path.join(ours, "deadheat.ko"), "--file", os.path.join(HERE, "in_machine.sh")]
        for name in MODULES:
            words += ["--file", os.path.join(tests, name + ".ko")]
        run = subprocess.run([*words, "--", "sh", "in_machine.sh"], capture_output=True, text=True, check=False,
                             stdin=subprocess.DEVNULL)
        cls.said = run.stdout + run.stderr
        if run.returncode == CANNOT_RUN:
            print("skipped: " + run.stderr.strip())
            sys.exit(CANNOT_RUN)
        cls.code = run.returncode

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def read(self, name):
        path = os.path.join(self.out, name)
        self.assertTrue(os.path.exists(path), f"the machine did not get to {name}:\n{self.said[-3000:]}")
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()

    def ran(self, case, code):
        self.assertEqual(int(self.read(case + ".code")), code, self.read(case + ".txt"))
        return self.read(case + ".txt")

    def findings(self, case, code):
        self.ran(case, code)
        content = json.loads(self.read(case + ".json"))
        self.counters = {c["name"]: c["value"] for c in content["origins"][0]["counters"]}
        self.assertGreater(self.counters["kernel_samples"], 0, "nothing was watched")
        return content["findings"]

    def functions(self, finding):
        return sorted(role["site"].get("function", "nobody seen") for role in finding["roles"])

    def callers(self, finding):
        return {frame["function"] for access in finding["evidence"][0]["accesses"] for frame in access["stack"]}

    def test_rwrace_is_found_in_every_run(self):
        for seed in (1, 2):
            with self.subTest(seed=seed):
                found = self.findings(f"race{seed}", 66)
                self.assertEqual([self.functions(one) for one in found], [["rwrace_read_race", "rwrace_write_race"]])
                self.assertEqual({role["site"]["variable"] for role in found[0]["roles"]}, {"word"})
                self.assertEqual({role["site"]["module"] for role in found[0]["roles"]}, {"rwrace"})
                self.assertTrue({"reader", "writer", "kthread"} <= self.callers(found[0]), self.callers(found[0]))

    def test_candidates_of_another_run_come_first(self):
        found = self.findings("suspected", 66)
        self.assertIn(["rwrace_read_race", "rwrace_write_race"], [self.functions(one) for one in found])
        self.assertGreater(self.counters["sites_suspected"], 0)
        self.assertEqual(self.findings("suspected_twin", 0), [])

    def test_a_collision_is_never_called_a_race(self):
        for case in ("race1", "once"):
            for one in self.findings(case, 66):
                self.assertEqual(one["kind"], "collision")
                self.assertNotEqual(one["verdict"]["state"], "true_race")

    def test_safe_twins_are_silent(self):
        for twin in ("spinlock", "locked", "percpu", "irqs_off"):
            with self.subTest(twin=twin):
                self.assertEqual(self.findings(twin, 0), [])

    def test_silence_was_not_for_want_of_looking(self):
        # The same budget finds the racy twin in tens of samples.
        for twin in ("spinlock", "locked", "percpu", "irqs_off", "inode_size1", "nlink1", "nlink2"):
            with self.subTest(twin=twin):
                self.findings(twin, 0)
                self.assertGreater(self.counters["sites_sampled"], 1)
                self.assertGreater(self.counters["kernel_samples"], 50)
                self.assertGreater(self.counters["kernel_armed_fully"], 0)

    def test_the_cost_of_a_hit_was_measured(self):
        self.findings("race1", 66)
        self.assertGreater(self.counters["hit_ns"], 100)

    def test_locked_pairs_are_seen_and_not_reported(self):
        self.findings("locked", 0)
        # Who came is known where the watchpoint was there in time; else only that the value changed.
        self.assertGreater(self.counters["not_reported_both_locked"] + self.counters["not_reported_locked_changed"], 0)

    def test_without_a_register_values_are_compared(self):
        for one in self.findings("values_race", 66):
            self.assertIn("unknown origin", one["evidence"][0]["why"])
        self.assertEqual(self.counters["kernel_armed_fully"], 0)
        self.assertEqual(self.findings("values_spinlock", 0), [])
        self.assertGreater(self.counters["kernel_samples"], 50)

    def test_inode_size_after_unlock(self):
        found = self.findings("inode_size0", 66)
        self.assertIn(["inode_size_get", "inode_size_set"], [self.functions(one) for one in found])
        self.assertEqual(self.findings("inode_size1", 0), [])

    def test_link_count_without_lock(self):
        found = self.findings("nlink0", 66)
        for one in found:
            self.assertTrue(set(self.functions(one)) <= {"inc_nlink", "drop_nlink"}, self.functions(one))
            self.assertIn("nlink_rename", self.callers(one))
        for fixed in (1, 2):
            self.assertEqual(self.findings(f"nlink{fixed}", 0), [])

    def test_both_halves_of_a_pair_are_replaced_at_once(self):
        """An emulator that begins a watched instruction again must not do half of it twice."""
        for locked in (0, 1):
            with self.subTest(locked=locked):
                self.findings(f"halves{locked}", 66)
                self.assertGreater(self.counters["kernel_samples"], 20)
                self.assertEqual(self.read(f"lost{locked}.txt"), "0\n")

    def test_what_the_emulator_does_to_a_pair(self):
        """The cause, without the module: only what the module never asks of an emulator may go wrong there, and nothing on
        a processor."""
        told = [line.split() for line in self.ran("pairs", 0).splitlines()]
        self.assertEqual(len(told), 8)
        wrong = [line[:3] for line in told if line[4] != "0"]
        self.assertTrue(all(line[1:] == ["second", "writes"] for line in wrong), told)
        here = subprocess.run([self.pairs], capture_output=True, text=True, check=False)
        if here.returncode == 77:
            return  # perf is not allowed
        self.assertEqual([line.split()[3:] for line in here.stdout.splitlines()], [["100", "0", "0"]] * 8)

    def test_findings_become_sarif(self):
        with open(os.path.join(self.out, "race1.json"), encoding="utf-8") as file:
            self.assertIn("rwrace_write_race", file.read())
        made = subprocess.run([TOOL, "report", "--format", "sarif", os.path.join(self.out, "race1.json")],
                              capture_output=True, text=True, check=False)
        self.assertEqual(made.returncode, 66, made.stderr)
        (result,) = json.loads(made.stdout)["runs"][0]["results"]
        self.assertEqual(result["ruleId"], "deadheat/collision")
        names = [place["fullyQualifiedName"] for location in result["locations"] + result.get("relatedLocations", [])
                 for place in location.get("logicalLocations", [])]
        self.assertTrue({"rwrace_read_race", "rwrace_write_race"} <= set(names), names)

    def test_what_cannot_be_watched_is_one_line(self):
        for case, text in (("no_module", "the kernel module is not loaded"), ("no_root", "only root"),
                           ("no_function", "nothing to watch"), ("busy", "being watched already")):
            with self.subTest(case=case):
                said = self.ran(case, CANNOT_RUN)
                lines = [line for line in said.splitlines() if "watched the kernel for" not in line]
                self.assertTrue(lines[0].startswith("deadheat: ") and text in lines[0], said)

    def test_it_unloads_under_load(self):
        for number in (1, 2):
            self.ran(f"unload{number}", 0)
            self.assertEqual(self.read(f"left{number}.txt"), "")
        self.assertEqual(self.code, 0, self.said[-3000:])

    def test_the_kernel_does_not_complain(self):
        complaints = re.findall(r".*(?:WARNING:|BUG:|Oops|detected stalls|NMI received for unknown).*", self.read("dmesg"))
        self.assertEqual(complaints, [])


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/python3
"""confirm and replay as people meet them, with a scheduler that only pretends: outcomes, budgets,
resumption, reports. (real_test.py has the real one.)

usage: fake_test.py DEADHEAT [unittest arguments]
"""
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

TOOL = os.path.abspath(sys.argv.pop(1))
HERE = os.path.dirname(os.path.realpath(__file__))
PROGRAM = """#include <stdio.h>
void __tsan_init(void);
void __tsan_write4(void*);
void __tsan_read4(void*);
int g;
__attribute__((noinline)) void deposit(void) { __tsan_write4(&g); g = 1; }
__attribute__((noinline)) int audit(void) { __tsan_read4(&g); return g; }
int main(void) { __tsan_init(); deposit(); puts("balance 100"); return audit() != 1; }
"""


class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = os.path.realpath(tempfile.mkdtemp())
        for name in ("bin", "lib/deadheat/detect", "lib/deadheat/schedule"):
            os.makedirs(os.path.join(cls.folder, name))
        cls.tool = os.path.join(cls.folder, "bin/deadheat")
        shutil.copy(TOOL, cls.tool)
        library = os.path.join(cls.folder, "lib/deadheat/detect/libdeadheat.so.1")
        subprocess.run(["cc", "-shared", "-fPIC", "-Wl,-soname,libdeadheat.so.1",
                        os.path.join(HERE, "fake_schedule.c"), "-o", library], check=True)
        shutil.copy(library, os.path.join(cls.folder, "lib/deadheat/schedule"))
        cls.build(PROGRAM)

    @classmethod
    def build(cls, text):
        source = os.path.join(cls.folder, "p.c")
        with open(source, "w", encoding="utf-8") as file:
            file.write(text)
        cls.program = os.path.join(cls.folder, "p")
        library = os.path.join(cls.folder, "lib/deadheat/detect/libdeadheat.so.1")
        subprocess.run(["cc", "-g", "-O1", source, library, "-o", cls.program], check=True)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def setUp(self):
        self.findings = os.path.join(self.folder, "f.json")
        shutil.rmtree(self.findings + ".schedules", ignore_errors=True)
        self.write_findings()

    def build_id(self):
        text = subprocess.run(["readelf", "-n", self.program], capture_output=True, text=True, check=True).stdout
        return text.split("Build ID: ")[1].split()[0]

    def site(self, function, line, text):
        return {"kind": "code", "module": self.program, "build_id": self.build_id(), "pcs": [], "function": function,
                "file": os.path.join(self.folder, "p.c"), "line": line, "function_line": line, "source_text": text}

    def write_findings(self, line=6):
        source = PROGRAM.splitlines()
        roles = [{"name": "first", "access": "write", "site": self.site("deposit", line, source[5])},
                 {"name": "second", "access": "read", "site": self.site("audit", line + 1, source[6])}]
        document = {"format": "deadheat-findings", "version": 1, "origins": [],
                    "findings": [{"kind": "data_race", "roles": roles, "found_by": ["hybrid"], "evidence": []}]}
        with open(self.findings, "w", encoding="utf-8") as file:
            json.dump(document, file)

    def environment(self, mode):
        clean = {k: v for k, v in os.environ.items() if k not in ("DEADHEAT_OPTIONS", "LD_LIBRARY_PATH")}
        return {**clean, "FAKE_MODE": mode, "TMPDIR": self.folder}

    def run_tool(self, *words, mode="race"):
        return subprocess.run([self.tool, *words], capture_output=True, text=True, check=False, timeout=280,
                              env=self.environment(mode), cwd=self.folder)

    def confirm(self, *words, mode="race"):
        return self.run_tool("confirm", self.findings, *words, "--", self.program, mode=mode)

    def read(self):
        with open(self.findings, encoding="utf-8") as file:
            return json.load(file)

    def evidence(self):
        return self.read()["findings"][0]["evidence"]


class Confirm(Case):
    def test_a_race_is_confirmed_in_both_orders_and_then_it_is_enough(self):
        done = self.confirm("--jobs", "2")
        self.assertEqual(done.returncode, 66, done)
        # Two trials run side by side: whichever ends first says it, once.
        self.assertRegex(done.stderr, r"^deadheat: made to happen: write in deposit\(\) p\.c:6 and read in audit\(\) p\.c:7 \(seed [12]\)\n")
        self.assertEqual(done.stderr.count("made to happen: "), 1, done.stderr)
        self.assertIn("MADE TO HAPPEN", done.stdout)
        self.assertIn("1 of 1 candidates decided, 1 true race, 0 harmful", done.stderr)
        self.assertNotIn("confirmed", done.stdout + done.stderr)  # it had two meanings
        self.assertIn("probability 1.00", done.stdout.replace("\n                ", " "))
        orders = [one["order"] for one in self.evidence()]
        self.assertGreaterEqual(min(orders.count("primary"), orders.count("alternate")), 10)
        self.assertLess(len(orders), 30)
        self.assertEqual(sum("repeat" in one for one in self.evidence()), 2)
        self.assertEqual(self.evidence()[0]["proof"], "co_enabled")
        self.assertEqual(os.listdir(self.folder).count("f.json"), 1)
        self.assertEqual([n for n in os.listdir(self.folder) if n.startswith("deadheat-")], [])

    def test_every_consequence(self):
        for mode, kind, detail in (("crash", "crash", "SIGSEGV"), ("status", "exit_status", "3 instead of 0"),
                                   ("output", "output_differs", "balance 90"), ("deadlock", "deadlock", "T1 waits"),
                                   ("stuck", "hang", "did not end: T1 waits")):
            with self.subTest(mode):
                self.write_findings()
                done = self.confirm("--trials", "4", "--timeout", "2", mode=mode)
                self.assertEqual(done.returncode, 66, done)
                self.assertIn("HARMFUL", done.stdout)
                bad = [one for one in self.evidence() if "consequence" in one]
                self.assertEqual([(one["consequence"]["kind"], one["order"]) for one in bad], [(kind, "primary")] * 2)
                self.assertIn(detail, bad[0]["consequence"]["detail"])

    def test_a_trial_that_we_ended_shows_no_harm(self):
        """The scheduler did not say that the program hangs: it may only have stood there."""
        done = self.confirm("--trials", "2", "--timeout", "1", mode="hang")
        self.assertEqual([one for one in self.evidence() if "consequence" in one], [], done)
        with open(os.path.join(self.folder, "f.json"), encoding="utf-8") as file:
            counters = {one["name"]: one["value"] for one in json.load(file)["origins"][-1]["counters"]}
        self.assertEqual(counters["trials_unresolved"], 1, done)

    def test_what_a_hanging_trial_left_behind_is_ended(self):
        self.confirm("--trials", "1", "--timeout", "1", mode="hang")
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/environ", "rb") as file:
                    self.assertNotIn(f"DEADHEAT_TRIAL_FOLDER={self.folder}/".encode(), file.read())
            except OSError:
                pass

    def test_a_candidate_that_never_happens_fails_only_when_strict(self):
        done = self.confirm("--trials", "5", mode="never")
        self.assertEqual(done.returncode, 0, done)
        self.assertIn("The scheduler did not make it happen in 5 trials (race_directed)",
                      done.stdout.replace("\n                ", " "))
        self.assertEqual([one["outcome"] for one in self.evidence()], ["not_seen"] * 5)
        self.assertEqual(self.confirm("--trials", "5", "--strict", mode="never").returncode, 66)

    def test_what_was_not_tried_is_said_and_can_fail(self):
        words = ("--trials", "1000000", "--time", "0.5")
        done = self.confirm(*words, mode="never")
        self.assertEqual(done.returncode, 0, done)
        last = "Incomplete: 1 candidate was not tried to the end: no time left\n"
        self.assertTrue(done.stdout.endswith(last), done.stdout)
        self.assertEqual(self.confirm(*words, "--fail-on", "incomplete", mode="never").returncode, 75)
        # A race counts before what was not tried. A campaign without a time limit makes it: on a busy machine half a second may pass
        # before the first trial ends.
        self.confirm("--seed", "50", "--trials", "1", mode="race")
        self.assertEqual(self.confirm(*words, "--fail-on", "incomplete", mode="race").returncode, 66)
        self.assertEqual(self.confirm(*words, "--fail-on", "harm", mode="race").returncode, 0)

    def test_the_same_command_goes_on(self):
        self.confirm("--trials", "3", mode="never")
        first = {one["id"] for one in self.evidence()}
        done = self.confirm("--trials", "5", mode="never")
        self.assertIn("; 2 trials", done.stderr)
        how = sorted((one["trial"]["reproducer"] for one in self.evidence()), key=lambda one: one["seed"])
        self.assertEqual([(one["kind"], one["strategy"], one["seed"]) for one in how], [("seed", "race_directed", n) for n in range(1, 6)])
        self.assertTrue(first < {one["id"] for one in self.evidence()})
        self.assertEqual(len([o for o in self.read()["origins"] if o["verb"] == "confirm"]), 1)

    def test_another_first_seed_is_another_campaign(self):
        self.confirm("--trials", "3", mode="never")
        self.confirm("--trials", "3", "--seed", "50", mode="never")
        self.assertEqual(len(self.evidence()), 6)
        self.assertEqual(len([o for o in self.read()["origins"] if o["verb"] == "confirm"]), 2)

    def interrupted(self, how, code):
        with subprocess.Popen([self.tool, "confirm", self.findings, "--trials", "100000", "--", self.program],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=self.folder,
                              env=self.environment("never")) as process:
            deadline = time.monotonic() + 60
            while not self.evidence() and time.monotonic() < deadline:
                time.sleep(0.05)
            process.send_signal(how)
            self.assertEqual(process.wait(60), code)
        kept = len(self.evidence())
        self.assertGreater(kept, 0)
        self.confirm("--trials", str(kept + 3), mode="never")
        self.assertEqual(len(self.evidence()), kept + 3)

    def test_interrupted(self):
        self.interrupted(signal.SIGINT, 130)

    def test_killed(self):
        self.interrupted(signal.SIGKILL, -signal.SIGKILL)
        for name in os.listdir(self.folder):
            if name.startswith("deadheat-"):
                shutil.rmtree(os.path.join(self.folder, name))

    def test_a_checker_judges(self):
        checker = os.path.join(self.folder, "checker")
        with open(checker, "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\ngrep -q 'balance 100' \"$1\" && [ \"$3\" = 0 ] && [ -e \"$2\" ] || exit 2\n"
                       "echo the audit is wrong\nexit 1\n")
        os.chmod(checker, 0o755)
        self.assertEqual(self.confirm("--trials", "2", "--checker", checker).returncode, 66)
        self.assertEqual([one["consequence"] for one in self.evidence()],
                         [{"kind": "checker_failed", "detail": "the audit is wrong"}] * 2)

    def test_a_site_that_is_gone_is_a_clear_outcome(self):
        self.write_findings(line=60)
        document = self.read()
        for role in document["findings"][0]["roles"]:
            role["site"].update(build_id="00", function="elsewhere", source_text="x")
        with open(self.findings, "w", encoding="utf-8") as file:
            json.dump(document, file)
        done = self.confirm()
        self.assertEqual(done.returncode, 0, done)
        self.assertIn("site is gone", done.stderr)
        self.assertIn("Not tried: site is gone", done.stdout.replace("\n                ", " "))

    def test_a_rebuilt_program_is_found_again(self):
        try:
            self.build("// one line more\n" + PROGRAM)
            self.assertEqual(self.confirm("--trials", "2").returncode, 66)
        finally:
            self.build(PROGRAM)

    def test_out_of_time(self):
        done = self.confirm("--trials", "100000", "--time", "2", mode="never")
        self.assertEqual(done.returncode, 0, done)
        self.assertIn("out of time", done.stderr)

    def test_replay_compares(self):
        self.confirm("--trials", "2", mode="crash")
        done = self.run_tool("replay", self.findings, mode="crash")
        self.assertEqual(done.returncode, 66, done)
        self.assertIn("the race, first access first, crash (SIGSEGV): the same", done.stderr)
        self.assertIn(f"cd {self.folder}; {self.program}", done.stderr)
        done = self.run_tool("replay", self.findings, "--", self.program, mode="never")
        self.assertEqual(done.returncode, 0, done)
        self.assertIn("now:  no race: not the same", done.stderr)
        for words in (("DH-00000000",), ("--seed", "99")):
            done = self.run_tool("replay", self.findings, *words)
            self.assertEqual(done.returncode, 2, done)
            self.assertIn("holds no trial", done.stderr)

    def test_the_program_runs_where_it_is_told(self):
        place = os.path.join(self.folder, "place")
        os.makedirs(place, exist_ok=True)
        done = self.run_tool("confirm", self.findings, "--trials", "1", "--directory", "place", "--", "./p")
        self.assertEqual(done.returncode, 66, done)
        done = self.run_tool("replay", self.findings)
        self.assertEqual(done.returncode, 66, done)
        self.assertIn(f"cd {place}; {self.program}", done.stderr)

    def test_not_instrumented(self):
        done = self.run_tool("confirm", self.findings, "--", "/bin/true")
        self.assertEqual(done.returncode, 77, done)
        self.assertIn("/bin/true is not instrumented: nothing can be tried", done.stderr)


if __name__ == "__main__":
    unittest.main()

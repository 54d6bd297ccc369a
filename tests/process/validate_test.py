"""deadheat proc validate and what follows from it: findings that are replayed, campaigns that go on, checkers of the user's,
two flips in a row.

usage: validate_test.py DEADHEAT
"""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

# The second command reads what the first one makes; only that it has much to do before makes that come out well.
RACY = """
mkdir w; cd w
sh -c 'echo 1 > made' &
first=$!
sh -c 'i=0; while [ $i -lt 150000 ]; do i=$((i+1)); done; cat made' &
second=$!
wait $first; wait $second || exit 3
"""
SAFE = """
mkdir w; cd w
sh -c 'echo 1 > made' &
wait $!
sh -c 'cat made' &
wait $! || exit 3
"""


class Case(unittest.TestCase):
    deadheat = ""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="deadheat-validate-")
        self.addCleanup(shutil.rmtree, self.folder, True)

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        return self.path(name)

    def command(self, *words):
        return [self.deadheat, "proc", *words]

    def proc(self, *words, timeout=200):
        return subprocess.run(self.command(*words), capture_output=True, text=True, errors="replace", cwd=self.folder,
                              stdin=subprocess.DEVNULL, timeout=timeout, check=False)

    def record(self, script, *options, name="rec", status=0):
        done = self.proc("record", "-o", name, *options, "--", "sh", "-c", script)
        if done.returncode == 77:
            self.skipTest(done.stderr.strip())
        self.assertEqual(done.returncode, status, done.stderr)
        return name

    def found(self, done):
        """How many orders were tried, were harmful, benign, could not happen, were not controlled."""
        match = re.search(r"(\d+) branches: (\d+) harmful, (\d+) benign, (\d+) cannot happen, (\d+) not controlled", done.stderr)
        self.assertTrue(match, done.stderr)
        return [int(one) for one in match.groups()]


class Findings(Case):
    def test_a_finding_is_replayed_by_every_name(self):
        self.record(RACY)
        done = self.proc("validate", "rec", "--findings", "findings.json")
        self.assertEqual(done.returncode, 66, done.stderr)
        with open(self.path("findings.json"), encoding="utf-8") as file:
            finding = json.load(file)["findings"][0]
        folder = finding["evidence"][0]["trial"]["schedule"]
        identity = re.search(r"DH-[0-9a-f]+", done.stdout).group()
        for name in ([folder], ["findings.json"], ["findings.json", identity], ["findings.json#" + identity]):
            with self.subTest(name):
                again = self.proc("replay", *name)
                self.assertEqual(again.returncode, 66, again.stderr)
                self.assertIn("now:  exit status 3 instead of 0", again.stderr)
                self.assertIn("the failure is here again", again.stderr)
        other = self.proc("replay", "findings.json#DH-00000000")
        self.assertEqual(other.returncode, 2)
        self.assertIn("holds no failing order of DH-00000000", other.stderr)

    def test_a_finding_that_no_longer_fails_says_so(self):
        self.record(RACY)
        done = self.proc("validate", "rec", "--findings", "findings.json", "--checker", "test ! -e $PWD/strict || test -s w/made; true")
        self.assertEqual(done.returncode, 66, done.stderr)
        with open(self.path("rec", "branches", "reference.json"), encoding="utf-8") as file:
            known = json.load(file)
        # As if an undisturbed run had failed in the same way: then it is no failure.
        bad = json.loads(json.dumps(known["outcomes"][0]))
        with open(self.path("findings.json"), encoding="utf-8") as file:
            folder = json.load(file)["findings"][0]["evidence"][0]["trial"]["schedule"]
        again = self.proc("replay", folder)
        bad["status"] = 3
        bad["err"] = [line for line in again.stderr.splitlines() if not line.startswith("deadheat")]
        bad["out"] = again.stdout.splitlines()
        bad["failures"] = [{"program": "sh", "words": words, "status": 1, "signal": 0} for words in re.findall(r'"(sh[^"]*|cat[^"]*)" failed', again.stderr)]
        known["outcomes"].append(bad)
        with open(self.path("rec", "branches", "reference.json"), "w", encoding="utf-8") as file:
            json.dump(known, file)
        again = self.proc("replay", folder)
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertIn("it did not fail this time", again.stderr)

    def test_a_recording_still_ends_with_the_commands_status(self):
        self.record("exit 5", status=5)
        self.assertEqual(self.proc("replay", "rec").returncode, 5)

    def test_a_safe_twin_has_no_finding(self):
        self.record(SAFE)
        done = self.proc("validate", "rec", "--findings", "findings.json")
        self.assertEqual(done.returncode, 0, done.stderr)
        again = self.proc("replay", "findings.json")
        self.assertEqual(again.returncode, 2)
        self.assertIn("holds no failing order", again.stderr)

    def test_orders_that_break_the_same_are_counted_in_the_report(self):
        self.record("""mkdir w; cd w; echo 1 > one & echo 2 > two &
                       sh -c 'i=0; while [ $i -lt 150000 ]; do i=$((i+1)); done; cat one two > /dev/null 2>&1 || exit 3'""")
        done = self.proc("validate", "rec", "-o", "report.html", "-o", "report.txt", "--format", "html", "--format", "text")
        self.assertEqual(done.returncode, 66, done.stderr)
        for name in ("report.html", "report.txt"):
            with open(self.path(name), encoding="utf-8") as file:
                text = " ".join(file.read().split())
            self.assertTrue(re.search(r"\d other orders? breaks? the same", text), name + done.stderr)


class Usage(Case):
    def test_a_mistyped_command(self):
        done = self.proc("recrod", "--", "true")
        self.assertEqual(done.returncode, 2)
        self.assertIn("unknown command 'recrod'; did you mean 'record'?", done.stderr)

    def test_a_server_needs_a_time_to_be_recorded(self):
        done = self.proc("check", "--checker-beside", "true", "--", "true")
        self.assertEqual(done.returncode, 2)
        self.assertIn("needs --timeout", done.stderr)


class Resume(Case):
    def test_a_second_time_takes_all_from_the_first(self):
        self.record(RACY)
        first = self.proc("validate", "rec")
        second = self.proc("validate", "rec")
        tried = self.found(first)
        self.assertEqual(self.found(second), tried)
        self.assertEqual(second.returncode, 66)
        self.assertIn(f"{tried[0]} of {tried[0]} branches taken from the last time", second.stderr)
        self.assertEqual(first.stdout, second.stdout)
        self.assertEqual(self.proc("replay", re.search(r"rec/branches/run\d+", second.stdout).group()).returncode, 66)
        anew = self.proc("validate", "rec", "--restart")
        self.assertNotIn("taken from the last time", anew.stderr)
        self.assertEqual(anew.returncode, 66)

    def test_other_options_take_nothing(self):
        self.record(RACY)
        self.proc("validate", "rec")
        for options in (["--undisturbed", "3"], ["--checker", "true"]):
            done = self.proc("validate", "rec", *options)
            self.assertNotIn("taken from the last time", done.stderr, options)

    def test_a_torn_line_is_tried_again(self):
        self.record(RACY)
        tried = self.found(self.proc("validate", "rec"))
        results = self.path("rec", "branches", "results.jsonl")
        with open(results, "rb+") as file:
            file.truncate(os.path.getsize(results) - 20)
        done = self.proc("validate", "rec")
        self.assertIn(f"{tried[0] - 1} of {tried[0]} branches taken from the last time", done.stderr)
        done = self.proc("validate", "rec")
        self.assertIn(f"{tried[0]} of {tried[0]} branches taken from the last time", done.stderr)

    def stop_after_some(self, how):
        """Ends a campaign once two of its branches are done; what it printed."""
        results = self.path("rec", "branches", "results.jsonl")
        with subprocess.Popen(self.command("validate", "rec", "--jobs", "1"), cwd=self.folder, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as tool:
            deadline = time.monotonic() + 100
            while time.monotonic() < deadline and tool.poll() is None:
                if os.path.exists(results):
                    with open(results, encoding="utf-8") as file:
                        if file.read().count("\n") >= 2:
                            break
                time.sleep(0.002)  # looks again; orders nothing
            tool.send_signal(how)
            out, err = tool.communicate(timeout=60)
        return tool.returncode, out, err

    def test_a_kill_loses_nothing_that_was_done(self):
        self.record(RACY)
        self.stop_after_some(signal.SIGKILL)
        with open(self.path("rec", "branches", "results.jsonl"), encoding="utf-8") as file:
            kept = file.read().count("\n")
        self.assertGreaterEqual(kept, 2)
        done = self.proc("validate", "rec")
        self.assertIn(f"{kept} of ", done.stderr)
        self.assertIn("taken from the last time", done.stderr)
        self.assertEqual(done.returncode, 66, done.stderr)

    def test_ctrl_c_says_how_to_go_on(self):
        self.record(RACY)
        code, _, err = self.stop_after_some(signal.SIGINT)
        self.assertIn("to go on: deadheat proc validate rec", err)
        self.assertIn(code, (66, 130))
        self.assertIn("not tried", err)
        done = self.proc("validate", "rec")
        self.assertIn("taken from the last time", done.stderr)
        self.assertNotIn("to go on", done.stderr)
        self.assertEqual(done.returncode, 66, done.stderr)

    def test_spent_time_goes_on_too(self):
        self.record(RACY)
        self.proc("validate", "rec", "--branches", "1")
        done = self.proc("validate", "rec", "--time", "0.001")
        self.assertIn("to go on: deadheat proc validate rec", done.stderr)
        self.assertIn("1 of ", done.stderr)
        self.assertEqual(self.proc("validate", "rec").returncode, 66)

    def test_two_at_a_time_do_not_mix(self):
        self.record(RACY)
        self.proc("validate", "rec", "--branches", "1")
        holder = subprocess.Popen(["flock", self.path("rec", "branches", "results.jsonl"), "cat"], stdin=subprocess.PIPE)
        try:
            deadline = time.monotonic() + 20
            while time.monotonic() < deadline:
                done = self.proc("validate", "rec")
                if done.returncode == 77:
                    break
            self.assertIn("another deadheat validates this recording now", done.stderr)
        finally:
            holder.communicate()


if __name__ == "__main__":
    Case.deadheat = os.path.abspath(sys.argv.pop(1))
    unittest.main()

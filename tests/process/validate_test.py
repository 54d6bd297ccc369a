"""deadheat proc validate and what follows from it: findings that are replayed, campaigns that go on, checkers of the user's,
two flips in a row.

usage: validate_test.py DEADHEAT
"""
import fcntl
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

from process_case import ProcessCase, main

# The second command reads what the first one makes; what each has to do before decides how that comes out.
MAKE_AND_READ = """
mkdir w; cd w
sh -c 'i=0; while [ $i -lt %d ]; do i=$((i+1)); done; echo 1 > made' &
first=$!
sh -c 'i=0; while [ $i -lt %d ]; do i=$((i+1)); done; cat made' &
second=$!
wait $first; wait $second || exit 3
"""
RACY = MAKE_AND_READ % (0, 40000)  # well, unless somebody interferes
OPEN = MAKE_AND_READ % (3000, 3000)  # fails in many undisturbed runs too
SAFE = """
mkdir w; cd w
sh -c 'echo 1 > made' &
wait $!
sh -c 'cat made' &
wait $! || exit 3
"""


# Two harmless races, and a failure that has to do with neither.
CHANCE = """
mkdir w; cd w; touch made
sh -c 'echo 1 >> made' &
first=$!
sh -c 'echo 1 >> made' &
wait $first; wait $!
[ $(od -An -N1 -tu1 /dev/urandom) -lt %d ] || { echo 'error: no luck' >&2; exit 3; }
"""

# Both add a word to one file; the second has much to do before.
WORDS = """
echo start > c
up() { %s sh -c "read all < c; echo \\"\\$all $1\\" > c"; }
up one &
(sh -c 'i=0; while [ $i -lt 50000 ]; do i=$((i+1)); done'; up two) &
wait
"""


class Case(ProcessCase):
    def record(self, script, *options, name="rec", status=0):
        done = self.proc("record", "-o", name, *options, "--", "sh", "-c", script)
        if done.returncode == 77:
            self.skipTest(done.stderr.strip())
        self.assertEqual(done.returncode, status, done.stderr)
        return name

    def record_until_clean(self, script):
        """The name of a recording in which nothing went wrong."""
        for attempt in range(12):
            name = f"rec{attempt}"
            done = self.proc("record", "-o", name, "--", "sh", "-c", script)
            if done.returncode == 77:
                self.skipTest(done.stderr.strip())
            if done.returncode == 0:
                return name
        return self.fail("no clean recording in 12")

    def found(self, done):
        """How many orders were tried, were harmful, benign, could not happen, were not controlled."""
        match = re.search(r"(\d+) branches: (\d+) harmful, (\d+) benign, (\d+) cannot happen, (\d+) not controlled", done.stderr)
        self.assertTrue(match, done.stderr)
        return [int(one) for one in match.groups()]


class Chance(Case):
    """A failure counts if it comes with the order, not if it comes by chance."""

    def test_an_order_that_undisturbed_runs_have_too(self):
        name = self.record_until_clean(OPEN)
        done = self.proc("validate", name, "--findings", "findings.json")
        self.assertEqual(done.returncode, 66, done.stderr)
        self.assertRegex(re.sub(r"\s+", " ", done.stdout), r"fails in this order in [78] of 8, in the recorded one in 0 of \d runs")
        again = self.proc("replay", "findings.json")
        self.assertEqual(again.returncode, 66, again.stderr)
        self.assertIn("the failure is here again", again.stderr)

    def test_one_that_comes_by_chance(self):
        for odds in (128, 215):  # of 256
            with self.subTest(odds):
                done = self.proc("validate", "--verbose", self.record_until_clean(CHANCE % odds))
                self.assertEqual(self.found(done)[1], 0, done.stderr)
                shutil.rmtree(self.folder)
                os.mkdir(self.folder)


# cat reads again after copy_file_range found nothing: that the write comes after that one call does no harm, that it comes after both does. Reading
# when the file was just opened fails in either order of opening and reading, as no run does in which the reader waits a second.
READ_EARLY = ": >f; (exec >f; sleep 0.5; echo data) & (sleep 1; cat f >copy); wait; [ -s copy ] || exit 3"


class Unexplained(Case):
    def test_a_failure_in_both_orders_is_not_dropped(self):
        done = self.proc("validate", "--verbose", "--findings", "findings.json", self.record_until_clean(READ_EARLY))
        if done.returncode == 66:
            return  # explained
        self.assertIn("so far", done.stdout)
        self.assertRegex(" ".join(done.stdout.split()), r"exit status 3 instead of 0 in both orders .* proc replay \S+")
        with open(self.path("findings.json"), encoding="utf-8") as file:
            counters = {one["name"]: one["value"] for one in json.load(file)["origins"][0]["counters"]}
        self.assertEqual(counters["unexplained"], 1)

    def test_a_run_that_failed_by_itself_is_not_forgotten(self):
        """The first recording fails, the others do not."""
        bad = self.path("bad")
        with open(bad, "wb"):
            pass
        command = (self.deadheat, "proc", "check", "--fail-on", "incomplete", "--", "sh", "-c", "sleep 0.5; echo a >f & wait; [ ! -e bad ] || exit 3")
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=self.folder) as process:
            said = ""
            for line in process.stderr:
                said += line
                if "recorded once more" in line and os.path.exists(bad):
                    os.remove(bad)
            shown = process.stdout.read()
        if process.returncode == 77:
            self.skipTest(said)
        self.assertEqual(process.returncode, 75, said + shown)
        self.assertIn("1 run failed though undisturbed", " ".join(shown.split()))


class SerialOrders(Case):
    """What comes out when one goes after the other is no harm, in whichever order; what comes out otherwise is."""

    def test_a_lost_update(self):
        done = self.proc("validate", self.record(WORDS % ""), "--time", "60")
        self.assertEqual(done.returncode, 66, done.stderr)
        self.assertRegex(done.stdout, r"/c (is torn|has|is empty|lacks)")

    def test_with_a_lock(self):
        done = self.proc("validate", "--verbose", self.record(WORDS % "flock lock"), "--time", "20")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.found(done)[1], 0, done.stderr)


class Findings(Case):
    def failing_order(self):
        """The branch of the first that failed, from findings.json."""
        with open(self.path("findings.json"), encoding="utf-8") as file:
            all_of_them = [evidence for finding in json.load(file)["findings"] for evidence in finding["evidence"]]
        return next(one["trial"]["reproducer"]["branch"] for one in all_of_them if "reproducer" in one["trial"])

    def report(self, *words):
        return subprocess.run([self.deadheat, "report", *words], capture_output=True, text=True, cwd=self.folder, timeout=60, check=False)

    def test_orders_of_every_outcome_are_findings_and_only_harm_is_shown(self):
        self.record(RACY)
        done = self.proc("validate", "rec", "--findings", "findings.json", "--format", "json")
        self.assertEqual(done.returncode, 66, done.stderr)
        tried, harmful, benign, _, _ = self.found(done)
        with open(self.path("findings.json"), encoding="utf-8") as file:
            findings = json.load(file)["findings"]
        outcomes = [evidence["outcome"] for finding in findings for evidence in finding["evidence"]]
        self.assertGreater(benign, 0, done.stderr)
        self.assertGreaterEqual(outcomes.count("race"), 2, outcomes)  # one that failed, and one that did not
        self.assertLessEqual(len(outcomes), tried)
        true = [one for one in findings if one["verdict"]["state"] == "true_race"]
        self.assertLess(len(true), len(findings))
        self.assertLessEqual(len(true), harmful)
        self.assertEqual(json.loads(done.stdout)["report"]["new"], len(true))
        shown = self.report("findings.json")
        self.assertIn(f"{len(true)} race", shown.stdout)
        # Nothing of it is fixed when it was harmless before; harm that comes to it is new.
        with open(self.path("harmless.json"), "w", encoding="utf-8") as file:
            json.dump({"format": "deadheat-findings", "version": 3, "findings": [one for one in findings if one not in true]}, file)
        shown = self.report("--baseline", "harmless.json", "findings.json")
        self.assertEqual(shown.returncode, 66, shown.stdout)
        self.assertNotIn("fixed", shown.stdout)

    def test_a_finding_is_replayed_by_every_name(self):
        self.record(RACY)
        done = self.proc("validate", "rec", "--findings", "findings.json")
        self.assertEqual(done.returncode, 66, done.stderr)
        folder = self.failing_order()
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
        folder = self.failing_order()
        again = self.proc("replay", folder)
        bad["status"] = 3
        bad["err"] = [line for line in again.stderr.splitlines() if not line.startswith("deadheat")]
        bad["out"] = again.stdout.splitlines()
        failed = re.findall(r'"(sh[^"]*|cat[^"]*)" failed', again.stderr)
        self.assertTrue(any(f"sh -c {RACY}".startswith(words) for words in failed), again.stderr)
        failed.append(f"sh -c {RACY}")  # shown cut short
        bad["failures"] = [{"program": "sh", "words": words, "status": 1, "signal": 0} for words in failed]
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
                       sh -c 'i=0; while [ $i -lt 40000 ]; do i=$((i+1)); done; cat one two > /dev/null 2>&1 || exit 3'""")
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
        with open(results, "rb") as file:
            lines = file.read().splitlines(keepends=True)
        with open(results, "wb") as file:
            file.write(lines[0] + lines[1][:-20])
        done = self.proc("validate", "rec")
        self.assertIn(f"1 of {tried[0]} branches taken from the last time", done.stderr)
        done = self.proc("validate", "rec")
        self.assertIn(f"{tried[0]} of {tried[0]} branches taken from the last time", done.stderr)

    def kept(self):
        """How many branches are done; one that failed is written again when it has been compared."""
        results = self.path("rec", "branches", "results.jsonl")
        if not os.path.exists(results):
            return 0
        with open(results, encoding="utf-8") as file:
            return len({json.loads(line)["branch"] for line in file if line.endswith("\n")})

    def stop_after_some(self, how):
        """Ends a campaign once two of its branches are done; what it printed."""
        with subprocess.Popen(self.command("validate", "rec", "--jobs", "1"), cwd=self.folder, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as tool:
            deadline = time.monotonic() + 100
            while time.monotonic() < deadline and tool.poll() is None:
                if self.kept() >= 2:
                    break
                time.sleep(0.002)  # looks again; orders nothing
            tool.send_signal(how)
            out, err = tool.communicate(timeout=60)
        return tool.returncode, out, err

    def test_a_kill_loses_nothing_that_was_done(self):
        self.record(RACY)
        self.stop_after_some(signal.SIGKILL)
        kept = self.kept()
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
        done = self.proc("validate", "rec", "--time", "0.001")
        self.assertIn("to go on: deadheat proc validate rec", done.stderr)
        self.assertIn(" not tried", done.stderr)
        self.proc("validate", "rec", "--branches", "1")
        reference = self.path("rec", "branches", "reference.json")
        made = os.stat(reference).st_mtime_ns
        done = self.proc("validate", "rec", "--time", "0.001")
        self.assertIn("1 of ", done.stderr)
        self.assertEqual(self.proc("validate", "rec").returncode, 66)
        self.assertEqual(os.stat(reference).st_mtime_ns, made, "undisturbed runs are made once")

    def test_two_at_a_time_do_not_mix(self):
        self.record(RACY)
        self.proc("validate", "rec", "--branches", "1")
        with open(self.path("rec", "branches", "results.jsonl"), "r+", encoding="utf-8") as file:
            fcntl.lockf(file, fcntl.LOCK_EX)
            done = self.proc("validate", "rec")
        self.assertEqual(done.returncode, 77)
        self.assertIn("another deadheat validates this recording now", done.stderr)


SERVER = """
import http.server
try:
    with open("greeting") as file:
        greeting = file.read()
except FileNotFoundError:
    greeting = ""
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(greeting.encode())
    def log_message(self, *words):
        pass
http.server.HTTPServer(("127.0.0.1", 8123), Handler).serve_forever()
"""
SUITE = """
import sys, time, urllib.request
for _ in range(2000):
    try:
        said = urllib.request.urlopen("http://127.0.0.1:8123/").read()
        break
    except OSError:
        time.sleep(0.01)  # until it listens
else:
    sys.exit("nobody answers")
with open("greeting") as file:
    pass  # the server's files are here too
if said != b"hello\\n":
    print("it greets with", said)
    sys.exit(1)
"""


class Checkers(Case):
    def serve(self, start):
        self.write("server.py", SERVER)
        self.write("suite-beside-it.py", SUITE)
        self.record(start, "--timeout", "4", status=124)
        return self.proc("validate", "rec", "--verbose", "--undisturbed", "2", "--checker-beside", "/usr/bin/python3 suite-beside-it.py")

    def test_a_suite_against_a_server(self):
        done = self.serve("echo hello > greeting & exec /usr/bin/python3 -S -E server.py")
        self.assertEqual(done.returncode, 66, done.stderr)
        self.assertIn("it greets with b''", done.stdout.lower())
        folder = re.search(r"rec/branches/run\d+", done.stdout).group()
        with open(self.path(folder, "recording", "events"), "rb") as file:
            events = file.read()
        self.assertIn(b"server.py", events)
        self.assertNotIn(b"suite-beside-it", events)  # it is not part of the command
        again = self.proc("replay", folder)
        self.assertEqual(again.returncode, 66, again.stderr)
        self.assertIn("now:  it greets with b''", again.stderr)

    def test_its_safe_twin(self):
        done = self.serve("echo hello > greeting; exec /usr/bin/python3 -S -E server.py")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("warning: the checker", done.stderr)

    def test_one_that_always_fails_is_a_warning(self):
        self.record(SAFE)
        for option in ("--checker", "--checker-beside"):
            done = self.proc("validate", "rec", "--undisturbed", "2", option, "echo not good; exit 1 #")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("fails in 2 of 2 undisturbed and 3 of 3 serial runs (not good): what it says is not counted", done.stderr)

    def test_one_that_is_not_there(self):
        self.record("true")
        for option in ("--checker", "--checker-beside"):
            done = self.proc("validate", "rec", option, "/no/such/suite")
            self.assertEqual(done.returncode, 77, done.stderr)
            self.assertIn("cannot be run", done.stderr)

    def test_a_command_that_ends_by_itself_is_not_ended(self):
        self.record(RACY)
        done = self.proc("validate", "rec", "--undisturbed", "2", "--checker-beside", "true")
        self.assertEqual(done.returncode, 66, done.stderr)
        self.assertIn("exit status 3 instead of 0", done.stdout.lower())
        self.assertNotIn("warning", done.stderr)

    def test_one_that_fails_in_the_other_order_only(self):
        self.record("mkdir w; cd w; sh -c 'echo 1 > made' & sh -c '" + LOOP + "[ -e made ] && : > seen'; wait; : > seen-or-not")
        quiet = self.proc("validate", "rec", "--undisturbed", "2", "--checker", "test -e w/seen-or-not #")
        self.assertNotIn("the checker", quiet.stdout)
        done = self.proc("validate", "rec", "--undisturbed", "2", "--checker", "test -e w/seen || { echo unseen; exit 1; } #")
        self.assertEqual(done.returncode, 66, done.stderr)
        self.assertIn("unseen", done.stdout.lower())


LOOP = "i=0; while [ $i -lt 40000 ]; do i=$((i+1)); done; "
# Without the first file it looks for the second, which is there by then, unless that is flipped too.
DEEP_RACY = "mkdir w; cd w; (echo 1 > new; echo 0 > old) & sh -c '" + LOOP + "[ -e new ] && exit 0; " + LOOP + "[ -e old ] || exit 3' || exit 3; wait"
DEEP_SAFE = "mkdir w; cd w; echo 0 > old; (echo 1 > new) & sh -c '" + LOOP + "[ -e new ] && exit 0; " + LOOP + "[ -e old ] || exit 3' || exit 3; wait"


class Depth(Case):
    def test_a_failure_that_takes_two_flips(self):
        self.record(DEEP_RACY)
        once = self.proc("validate", "rec", "--verbose")
        self.assertEqual(once.returncode, 0, once.stderr)
        twice = self.proc("validate", "rec", "--verbose", "--depth", "2")
        self.assertEqual(twice.returncode, 66, twice.stderr)
        text = " ".join(twice.stdout.split())
        self.assertRegex(text, r"w/old")
        self.assertRegex(text, r"and before that, on \S*w/new, .* had come before .*: it takes both")
        folder = re.search(r"rec/branches/run\d+/recording/branches/run\d+", twice.stdout).group()
        again = self.proc("replay", folder)
        self.assertEqual(again.returncode, 66, again.stderr)
        self.assertIn("exit status 3 instead of 0", again.stderr)
        resumed = self.proc("validate", "rec", "--depth", "2")
        self.assertEqual(self.found(resumed)[1], self.found(twice)[1])
        self.assertIn("taken from the last time", resumed.stderr)

    def test_its_safe_twin(self):
        self.record(DEEP_SAFE)
        done = self.proc("validate", "rec", "--verbose", "--depth", "2")
        self.assertEqual(done.returncode, 0, done.stderr)
        kept = [name for name in os.listdir(self.path("rec", "branches")) if name.startswith("run")]
        self.assertEqual(kept, [], "executions that did no harm do not stay")


class Tighter(Case):
    def test_a_flip_that_contains_another(self):
        # Who finds no mark does not look at the data: data after mark cannot come before data before mark.
        self.record("mkdir w; cd w; sh -c 'echo 1 > data; echo 1 > mark' & sh -c '" + LOOP + "[ -e mark ] && read line < data; exit 0'; wait")
        races = self.proc("races", "rec").stdout
        numbers = re.findall(r"race (\d+)  on \S*/w/mark", races)
        done = self.proc("validate", "rec", "--verbose")
        explained = re.findall(r"cannot happen  on \S*/w/data.*\n(?:    .*\n)*?    .*; race (\d+) on \S*/w/mark explains it", done.stderr)
        self.assertTrue(explained, races + done.stderr)
        self.assertTrue(set(explained) <= set(numbers), (explained, numbers))


if __name__ == "__main__":
    main()

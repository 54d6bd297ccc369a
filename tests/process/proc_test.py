"""deadheat proc on small commands: what it records, replays, refuses and leaves behind.

usage: proc_test.py DEADHEAT
"""
import json
import os
import subprocess

from process_case import ProcessCase, main


class Case(ProcessCase):
    def record(self, script, *options, text=None):
        done = self.proc("record", "-o", self.path("rec"), *options, "--", "sh", "-c", script, text=text)
        if done.returncode == 77 and "rec" not in os.listdir(self.folder):
            self.skipTest(done.stderr.strip())
        return done


class Record(Case):
    def test_status_and_output_are_the_commands(self):
        done = self.record("echo out; echo err >&2; exit 7")
        self.assertEqual(done.returncode, 7, done.stderr)
        self.assertEqual((self.read("rec", "out"), self.read("rec", "err")), ("out\n", "err\n"))
        self.assertEqual(done.stdout, "out\n")
        self.assertIn("err\n", done.stderr)

    def test_nothing_reaches_the_machine(self):
        self.write("kept", "before\n")
        done = self.record(f"cd {self.folder} && echo after > kept && echo new > other && cat kept")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.read("rec", "out"), "after\n")
        self.assertEqual(self.read("kept"), "before\n")
        self.assertNotIn("other", os.listdir(self.folder))

    def test_in_place_does(self):
        done = self.record(f"echo new > {self.path('other')}", "--in-place")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.read("other"), "new\n")
        done = self.proc("validate", self.path("rec"))
        self.assertEqual(done.returncode, 77)
        self.assertIn("made in place", done.stderr)

    def test_standard_input_is_kept(self):
        done = self.record("cat; cat", text="line\n")
        self.assertEqual(self.read("rec", "out"), "line\n", done.stderr)
        self.assertEqual(self.proc("replay", self.path("rec")).stdout, "line\n")

    def test_a_command_that_is_not_there(self):
        done = self.proc("record", "-o", self.path("rec"), "--", "no-such-command-here")
        self.assertIn(done.returncode, (126, 127), done.stderr)  # 126: a folder of PATH that this user may not enter
        self.assertIn("cannot execute no-such-command-here", done.stderr)

    def test_a_folder_that_is_there_is_not_overwritten(self):
        os.mkdir(self.path("rec"))
        self.write("rec/mine", "text")
        done = self.proc("record", "-o", self.path("rec"), "--", "true")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("hint:", done.stderr)
        self.assertEqual(self.read("rec", "mine"), "text")

    def test_recordings_of_one_second_get_names_of_their_own(self):
        several = 4
        started = [subprocess.Popen([self.deadheat, "proc", "record", "--", "true"], cwd=self.folder, stdin=subprocess.DEVNULL,
                                    stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) for _ in range(several)]
        said = [one.communicate(timeout=280)[1] for one in started]
        if all(one.returncode == 77 for one in started):
            self.skipTest(said[0].strip())
        self.assertEqual([one.returncode for one in started], [0] * several, said)
        self.assertEqual(len(os.listdir(self.folder)), several, said)

    def test_processes_have_a_bound(self):
        """100 forks where 50 are allowed: some fail; with the default none does."""
        fork = ("import os, signal\npids = []\nfailed = 0\nfor i in range(100):\n    try: pid = os.fork()\n"
                "    except OSError: failed += 1; continue\n    if pid == 0: signal.pause()\n    pids.append(pid)\n"
                "for pid in pids: os.kill(pid, 9); os.waitpid(pid, 0)\nprint('failed', failed > 0)")
        words = ("--", "/usr/bin/python3", "-c", fork)
        done = self.proc("record", "--most-processes", "50", "-o", self.path("rec"), *words)
        self.or_skip(done)
        self.assertEqual(done.stdout, "failed True\n", done.stderr)
        done = self.proc("record", "-o", self.path("free"), *words)
        self.assertEqual(done.stdout, "failed False\n", done.stderr)

    def test_memory_has_a_bound(self):
        hog = "x = [bytes([1]) * (8 << 20) for _ in range(64)]; print('had it all')"
        done = self.proc("record", "--most-memory", "128", "-o", self.path("rec"), "--", "/usr/bin/python3", "-c", hog)
        self.or_skip(done)
        self.assertNotIn("had it all", done.stdout)
        self.assertIn(done.returncode, (1, 137), done.stderr)
        if done.returncode == 137:
            self.assertIn("it wanted more than 128 MB of memory", done.stderr)

    def test_a_time_limit_ends_it(self):
        done = self.record("sleep 60 & sleep 60", "--timeout", "1")
        self.assertEqual(done.returncode, 124, done.stderr)


class SharedFolder(Case):
    """Where another user could replace a recording, none is made that would not be run afterwards."""

    def setUp(self):
        super().setUp()
        os.mkdir(self.path("shared"))
        os.chmod(self.path("shared"), 0o777)
        os.mkdir(self.path("own"), 0o700)

    def in_shared(self, *words):
        return self.or_skip(subprocess.run(self.command(*words), cwd=self.path("shared"), env=dict(os.environ, TMPDIR=self.path("own")),
                                           stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False))

    def test_a_check_there_keeps_its_recording_elsewhere(self):
        done = self.in_shared("check", "--time", "30", "--", "true")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("where others may write", done.stderr)
        self.assertEqual(os.listdir(self.path("shared")), [])
        self.assertEqual(len(os.listdir(self.path("own"))), 1)
        done = self.in_shared("record", "--", "true")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(os.listdir(self.path("own"))), 2)

    def test_a_folder_there_is_refused_before_anything_runs(self):
        done = self.in_shared("check", "--keep", "rec", "--", "touch", "ran")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertNotIn("recorded", done.stderr)
        self.assertEqual(os.listdir(self.path("shared")), [])

    def test_that_of_another_user_counts_too(self):
        if os.geteuid() != 0:
            self.skipTest("only root can give folders away")
        os.chmod(self.path("shared"), 0o755)
        os.chown(self.path("shared"), 54321, 54321)
        done = self.in_shared("check", "--time", "30", "--", "true")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(os.listdir(self.path("own"))), 1)


class Replay(Case):
    SCRIPT = "for i in 1 2 3; do (echo $i; ls / | wc -l) > f$i & done; wait; cat f1 f2 f3"

    def test_a_child_that_wants_no_tracer_is_recorded(self):
        """CLONE_UNTRACED: such a child would be a process that no event tells of."""
        clone = ("import ctypes, os, signal\n"
                 "child = ctypes.CDLL(None).syscall(56, 0x00800000 | signal.SIGCHLD, 0, 0, 0, 0)\n"
                 "if child == 0: open('made', 'w').close(); os._exit(5)\n"
                 "assert os.waitpid(child, 0)[1] == 5 << 8\n")
        done = self.or_skip(self.proc("record", "-o", "rec", "--", "/usr/bin/python3", "-c", clone))
        self.assertEqual(done.returncode, 0, done.stderr + self.read("rec", "err"))
        self.assertTrue(any("made" in names for _, _, names in os.walk(self.path("rec", "upper"))))
        self.assertEqual(self.proc("replay", "rec").returncode, 0)

    def test_an_unchanged_recording_is_reproduced(self):
        self.record(f"mkdir {self.folder}/w; cd {self.folder}/w; {self.SCRIPT}")
        for _ in range(3):
            done = self.proc("replay", self.path("rec"))
            self.assertEqual(done.stdout, self.read("rec", "out"))
            self.assertEqual(done.returncode, 0)

    def test_the_start_state_is_the_recordings(self):
        self.write("input", "old\n")
        self.record(f"cat {self.path('input')} | cat")
        self.write("input", "changed since\n")
        done = self.proc("replay", self.path("rec"))
        self.assertEqual(done.stdout, "old\n", done.stderr)
        self.assertEqual(self.read("input"), "changed since\n")


class Races(Case):
    def test_what_was_not_looked_at_is_said(self):
        loop = "i=0; while [ $i -lt 200 ]; do i=$((i+1)); echo $i >> f; done"
        self.record(f"mkdir {self.folder}/w; cd {self.folder}/w; ({loop}) & ({loop}) & wait")
        done = self.proc("races", self.path("rec"))
        self.assertRegex(done.stdout, r"\n[0-9,]+ pairs of accesses, farther apart than others of the same calls, were not looked at\n")
        self.proc("record", "-o", self.path("few"), "--", "sh", "-c", "true | true")
        self.assertNotIn("not looked at", self.proc("races", self.path("few")).stdout)


class Damage(Case):
    def test_cut_short(self):
        self.record("true; true | true")
        events = self.path("rec", "events")
        with open(events, "rb+") as file:
            file.truncate(os.path.getsize(events) - 100)
        done = self.proc("races", self.path("rec"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("warning", done.stderr)

    def test_another_version(self):
        self.record("true")
        with open(self.path("rec", "recording.json"), encoding="utf-8") as file:
            info = json.load(file)
        info["version"] = 99
        self.write("rec/recording.json", json.dumps(info))
        done = self.proc("races", self.path("rec"))
        self.assertEqual(done.returncode, 2)
        self.assertEqual(len([line for line in done.stderr.splitlines() if line.startswith("deadheat:")]), 1, done.stderr)

    def test_no_recording(self):
        done = self.proc("races", self.path("nothing"))
        self.assertEqual(done.returncode, 2)
        self.assertIn("deadheat: ", done.stderr)

    def test_a_branch_of_another_recording(self):
        self.record("true")
        os.makedirs(self.path("rec", "branches", "run1"))
        self.write("rec/branches/run1/branch.json", '{"version": 1, "race": 0, "change": 1, "cut": [1,2,3], "order": [9999], "specific_task": 0}')
        done = self.proc("replay", self.path("rec", "branches", "run1"))
        self.assertEqual(done.returncode, 2)
        self.assertIn("another recording", done.stderr)

    SPINS = """
#include <pthread.h>
static volatile int flag;
static void* set(void* unused) { flag = 1; return unused; }
int main(void) {
  pthread_t thread;
  pthread_create(&thread, 0, set, 0);
  while (!flag) {}
  return pthread_join(thread, 0);
}
"""

    def test_threads_that_spin_on_memory_end_and_the_lost_order_is_told(self):
        self.write("spins.c", self.SPINS)
        subprocess.run(["cc", "-O1", "-o", self.path("spins"), self.path("spins.c")], check=True)
        self.record(f"exec {self.path('spins')}")
        memory = json.loads(self.read("rec", "recording.json"))["guarantees"]["memory"]
        done = self.proc("validate", "rec")
        # Whether the flag is set before the loop begins is the machine's choice: then nothing was lost.
        self.assertEqual(not memory, "in which order threads used their memory" in done.stdout + done.stderr, done.stdout + done.stderr)

    def test_threads_that_wait_for_each_other_keep_their_order(self):
        script = "import threading\nlock = threading.Lock()\nlog = []\ndef work(name):\n  for i in range(50):\n    with lock: log.append(name)\n" \
            "threads = [threading.Thread(target=work, args=(name,)) for name in 'abcd']\n[t.start() for t in threads]\n[t.join() for t in threads]\n" \
            "print(''.join(log))"
        self.write("order.py", script)
        self.record(f"exec python3 {self.path('order.py')}")
        self.assertTrue(json.loads(self.read("rec", "recording.json"))["guarantees"]["memory"])
        done = self.proc("replay", "rec")
        self.assertEqual(self.read("rec", "out"), done.stdout, done.stderr)


if __name__ == "__main__":
    main()

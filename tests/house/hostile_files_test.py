#!/usr/bin/python3
"""Files that others made or named: they have bounds, drive no terminal, and decide nothing that runs with one's own rights.

usage: hostile_files_test.py DEADHEAT [unittest arguments]
"""
import json
import os
import pty
import resource
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

TOOL = os.path.abspath(sys.argv.pop(1))
SOMEBODY = 54321
PATIENCE_S = 120  # a test that waits this long fails
IS_ROOT = os.geteuid() == 0
COMPILER = os.path.join(os.path.dirname(TOOL), "deadheat-cc")
HAS_SCAN = os.path.exists(os.path.join(os.path.dirname(TOOL), "deadheat-scan"))
HAS_VALIDATE_PASS = os.path.exists(os.path.join(os.path.dirname(TOOL), "../lib/deadheat/deadheat_validate.so"))
HAS_RUNTIME = os.path.exists(os.path.join(os.path.dirname(TOOL), "../lib/deadheat/detect/libdeadheat.so.1"))


def side(name, **more):
    return {"name": name, "access": "write", "site": {"kind": "code", "function": name, "file": "a.c", "line": 7, **more}}


def findings(program=None):
    """A findings file with one race; with a program, also a trial that says how it was run."""
    finding = {"kind": "data_race", "roles": [side("f", variable="x", column=1), side("g", variable="x", column=1)], "evidence": []}
    origins = []
    if program:
        finding["evidence"] = [{"id": "e1", "execution": "confirm:camp/cand/1", "outcome": "race",
                                "trial": {"confirmer": "schedule",
                                          "reproducer": {"kind": "seed", "campaign": "camp", "candidate": "cand", "strategy": "race", "seed": 1}}}]
        origins = [{"verb": "confirm", "engine": "schedule", "campaign": "camp", "target": {"program": program}}]
    return json.dumps({"format": "deadheat-findings", "version": 3, "origins": origins, "findings": [finding]})


def is_dead(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return file.read().rsplit(")", 1)[1].split()[0] == "Z"
    except OSError:
        return True


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = os.path.realpath(tempfile.mkdtemp(prefix="deadheat-hostile-"))
        self.addCleanup(shutil.rmtree, self.folder, True)

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def write(self, name, text, mode=0o600, owner=None):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(self.path(name), mode)
        if owner is not None:
            os.chown(self.path(name), owner, owner)
        return self.path(name)

    def run_tool(self, *words, cwd=None, **more):
        more.setdefault("stdin", subprocess.DEVNULL)
        return subprocess.run([TOOL, *words], capture_output=True, cwd=cwd or self.folder, timeout=PATIENCE_S, check=False, **more)


class Bounds(Case):
    """No input is read without end, and none takes much memory before it is refused."""

    def refused(self, *words, says):
        done = self.run_tool(*words, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30)))
        text = done.stderr.decode()
        self.assertEqual(done.returncode, 2, text)
        self.assertIn(says, text)
        self.assertNotIn("bad_alloc", text)

    def test_devices_are_refused(self):
        good = self.write("good.json", findings())
        self.refused("report", "/dev/zero", says="it is a device")
        self.refused("report", good, "--suppressions", "/dev/zero", says="it is a device")
        self.refused("report", good, "--baseline", "/dev/urandom", says="it is a device")
        self.refused("analyze", "/dev/zero", says="it is a device")
        self.refused("symbolize", "/dev/zero", says="it is a device")
        if os.path.exists("/dev/ptmx"):
            self.refused("report", "/dev/ptmx", says="it is a device")  # a new terminal: nobody would ever type
        recording = self.path("rec")
        os.mkdir(recording, 0o700)
        os.symlink("/dev/zero", self.path("rec", "events"))
        self.refused("proc", "races", recording, says="is a link")

    def test_null_is_an_empty_file(self):
        good = self.write("good.json", findings())
        done = self.run_tool("report", good, "--suppressions", "/dev/null")
        self.assertEqual(done.returncode, 66, done.stderr)

    def test_sparse_files_are_refused(self):
        good = self.write("good.json", findings())
        huge = self.path("huge")
        with open(huge, "w", encoding="utf-8") as file:
            file.truncate(50 << 30)
        self.refused("report", huge, says="the most that is read")
        self.refused("report", good, "--suppressions", huge, says="the most that is read")
        self.refused("analyze", huge, says="huge")
        os.mkdir(self.path("rec"), 0o700)
        os.rename(huge, self.path("rec", "events"))
        self.refused("proc", "races", self.path("rec"), says="the most that is read")

    def test_images_have_a_bound(self):
        with open("/bin/true", "rb") as file:
            image = file.read()
        huge = self.path("huge")
        with open(huge, "wb") as file:
            file.write(image)
            file.truncate(50 << 30)
        done = self.run_tool("verify", huge)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn(b"the most that is read", done.stderr)

    @unittest.skipUnless(HAS_SCAN, "this build has no scan")
    def test_scan_reads_regular_files(self):
        os.mkfifo(self.path("pipe"))
        self.write("evil\x1b]0;x\x07.o", "no object")
        self.write("all.json", json.dumps([{"directory": self.folder, "output": "pipe"}, {"directory": "/dev", "output": "zero"}]))
        for name, says in (("/dev/zero", "not a regular file"), ("pipe", "not a regular file"), (".", "not a regular file"),
                           ("all.json", "2 entries have no object"), ("evil\x1b]0;x\x07.o", "evil\\x1b]0;x\\x07.o")):
            done = self.run_tool("scan", name)
            self.assertEqual(done.returncode, 77, done.stderr)
            self.assertIn(says, done.stderr.decode())
            self.assertNotIn(b"\x1b", done.stderr)

    @unittest.skipUnless(HAS_VALIDATE_PASS, "this build has no pass for candidates")
    def test_the_compiler_waits_for_a_list_and_reads_no_device_as_source(self):
        self.write("a.c", '#line 1 "/dev/zero"\nint x; int f(void) { return x; }\n')
        os.mkfifo(self.path("pipe"))
        with subprocess.Popen([COMPILER, "--candidates", "pipe", "-g", "-c", "a.c"], cwd=self.folder, stderr=subprocess.PIPE) as compiler:
            ready, _, _ = select.select([compiler.stderr], [], [], PATIENCE_S)
            self.assertTrue(ready, "it waits without a word")
            self.assertIn(b"waiting for", compiler.stderr.readline())
            with open(self.path("pipe"), "w", encoding="utf-8") as pipe:
                pipe.write("zero:1 zero:1\n")
            _, err = compiler.communicate(timeout=PATIENCE_S)
            self.assertEqual(compiler.returncode, 0, err)

    def test_a_line_without_an_end_goes_through_in_pieces(self):
        with open(self.path("log"), "wb") as file:
            for _ in range(64):
                file.write(b"x" * (4 << 20))
        limit = 128 << 20
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        done = subprocess.run([TOOL, "symbolize", self.path("log")], stdout=subprocess.DEVNULL, check=False, timeout=PATIENCE_S)
        self.assertEqual(done.returncode, 0)
        after = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        self.assertTrue(after <= before or after * 1024 < limit, f"{after} KiB")

    def test_a_pipe_is_waited_for_with_a_word(self):
        os.mkfifo(self.path("pipe"))
        with subprocess.Popen([TOOL, "report", self.path("pipe")], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as tool:
            ready, _, _ = select.select([tool.stderr], [], [], PATIENCE_S)
            self.assertTrue(ready, "it waits without a word")
            line = tool.stderr.readline().decode()
            self.assertIn("waiting for " + self.path("pipe"), line)
            with open(self.path("pipe"), "w", encoding="utf-8") as pipe:
                pipe.write(findings())
            out, err = tool.communicate(timeout=PATIENCE_S)
            self.assertEqual(tool.returncode, 66, err)
            self.assertIn(b"f", out)


class Terminal(Case):
    """No escape sequence of a name or a log reaches the terminal."""

    def test_messages(self):
        name = self.path("\x1b]0;owned\x07.json")
        done = self.run_tool("report", name)
        self.assertEqual(done.returncode, 2)
        self.assertNotIn(b"\x1b", done.stderr)
        self.assertIn(b"\\x1b]0;owned\\x07", done.stderr)

    def test_options_and_verbs(self):
        for words in (["\x1b[31mreport"], ["report", "--\x1b[31m"], ["report", "--format", "\x1b[31m", "x"]):
            done = self.run_tool(*words)
            self.assertNotIn(b"\x1b", done.stderr + done.stdout, words)

    def test_symbolize(self):
        log = self.write("log", "a\x1b[31mred\x9b\tb\n")
        done = self.run_tool("symbolize", log)
        self.assertEqual(done.returncode, 0)
        self.assertEqual(done.stdout.decode(), "a\\x1b[31mred\\x9b\tb\n")

    def test_every_format_of_a_report(self):
        sequences = ("\x1b", "\x9b", "\u202e", "\x7f", "\x07")
        evil = json.loads(findings())
        evil["findings"][0]["roles"][0]["site"]["function"] = "e" + "".join(sequences)
        file = self.write("evil.json", json.dumps(evil))
        for form in ("text", "json", "sarif", "junit", "html", "tsan", "github"):
            done = self.run_tool("report", "--format", form, file)
            self.assertEqual(done.returncode, 66, done.stderr)
            for sequence in sequences:
                self.assertNotIn(sequence.encode(), done.stdout + done.stderr, form)
        done = self.run_tool("report", "--format", "json", file)
        self.assertEqual(json.loads(done.stdout)["findings"][0]["roles"][0]["site"]["function"], "e" + "".join(sequences))

    def test_names_of_a_trace(self):
        evil = "t\x9b31m\u202e\x7f"
        trace = self.write("evil.std", f"{evil}|w(x\u009b2J)|site\u009b3m\n{evil}|r(y)|z\n")
        for words in (["cat"], ["info"], ["info", "--json"]):
            done = self.run_tool("trace", *words, trace)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(b"31m", done.stdout)
            for sequence in ("\x9b", "\u202e", "\x7f", "\x1b"):
                self.assertNotIn(sequence.encode(), done.stdout + done.stderr, words)


@unittest.skipUnless(IS_ROOT, "needs root, to make files of another user")
class OthersAsRoot(Case):
    """What another user wrote decides nothing that runs with root's rights."""

    def warning(self, cwd):
        good = self.write("good.json", findings())
        done = self.run_tool("report", good, cwd=cwd)
        lines = [line for line in done.stderr.decode().splitlines() if ".deadheat" in line]
        return done, lines

    def project(self, owner=0, mode=0o600, folder_owner=0, folder_mode=0o755):
        folder = self.path("project")
        shutil.rmtree(folder, True)
        os.mkdir(folder)
        victim = self.path("victim")
        with open(victim, "w", encoding="utf-8") as file:
            file.write("precious")
        self.write("project/.deadheat", f"format = json\noutput = {victim}\n", mode, owner)
        os.chown(folder, folder_owner, folder_owner)
        os.chmod(folder, folder_mode)
        os.chmod(self.folder, 0o755)
        return folder, victim

    def test_own_settings_count(self):
        folder, victim = self.project()
        done, lines = self.warning(folder)
        self.assertEqual((done.returncode, lines), (66, []), done.stderr)
        with open(victim, encoding="utf-8") as file:
            self.assertIn("deadheat-findings", file.read())

    def test_settings_of_another_do_not(self):
        for case in ({"owner": SOMEBODY}, {"owner": SOMEBODY, "folder_owner": SOMEBODY}, {"mode": 0o666}, {"folder_owner": SOMEBODY},
                     {"folder_mode": 0o777}):
            with self.subTest(case):
                folder, victim = self.project(**case)
                done, lines = self.warning(folder)
                self.assertEqual(done.returncode, 66, done.stderr)
                self.assertEqual(len(lines), 1, lines)
                self.assertIn("is ignored: it ", lines[0])
                with open(victim, encoding="utf-8") as file:
                    self.assertEqual(file.read(), "precious")

    def test_a_sticky_folder_protects_ones_own_file(self):
        folder, _ = self.project(folder_mode=0o1777)
        _, lines = self.warning(folder)
        self.assertEqual(lines, [])

    def test_another_user_trusts_his_own_and_roots(self):
        def as_somebody():
            os.setgroups([])
            os.setgid(SOMEBODY)
            os.setuid(SOMEBODY)
        self.write("good.json", findings(), 0o644)
        for case in ({"mode": 0o644}, {"owner": SOMEBODY, "folder_owner": SOMEBODY}):
            folder, _ = self.project(**case)
            # The settings name a file that he may not write, which shows that they count.
            done = self.run_tool("report", "../good.json", cwd=folder, preexec_fn=as_somebody)
            self.assertIn("victim", done.stderr.decode(), case)

    @unittest.skipUnless(HAS_RUNTIME, "this build has no runtime")
    def test_replay_asks_before_it_runs_what_the_file_names(self):
        mark = self.path("ran")
        file = self.write("theirs.json", findings(["/usr/bin/touch", mark]), 0o644, SOMEBODY)
        done = self.run_tool("replay", file)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("-- PROGRAM ARGS", done.stderr.decode())
        self.assertFalse(os.path.exists(mark))
        self.assertEqual(self.on_terminal("replay", file, answer="n\n"), 2)
        self.assertFalse(os.path.exists(mark))
        # One's own file, a yes, and a program on the command line get past the question: touch is not instrumented (77).
        self.assertNotEqual(self.on_terminal("replay", file, answer="y\n"), 2)
        self.assertNotEqual(self.run_tool("replay", file, "--", "/usr/bin/touch", mark).returncode, 2)
        mine = self.write("mine.json", findings(["/usr/bin/touch", mark]))
        self.assertNotEqual(self.run_tool("replay", mine).returncode, 2)

    def test_a_checker_that_others_may_write_is_not_run(self):
        """And the same checker in a folder of one's own is: the program is then asked for, which is not instrumented (77)."""
        mark = self.path("ran")
        os.chmod(self.folder, 0o755)
        for name, mode, owner in (("open", 0o777, 0), ("theirs", 0o755, SOMEBODY), ("mine", 0o755, 0)):
            os.mkdir(self.path(name))
            os.chmod(self.path(name), mode)
            self.write(f"{name}/check.sh", f"#!/bin/sh\ntouch {mark}\n", 0o755)
            os.chown(self.path(name), owner, owner)
        race = self.write("race.json", findings())
        for name in ("open", "theirs"):
            checker = self.path(name, "check.sh")
            for words in (["check", "--checker", checker, "--", "/bin/true"], ["confirm", "--checker", checker, race, "--", "/bin/true"],
                          ["proc", "check", "--checker", checker, "--", "true"],
                          ["proc", "check", "--checker", f"sh {checker} 1", "--", "true"],
                          ["proc", "check", "--timeout", "1", "--checker-beside", checker, "--", "true"]):
                done = self.run_tool(*words)
                self.assertEqual(done.returncode, 2, (words, done.stderr))
                self.assertIn("is not run with your rights", done.stderr.decode())
                self.assertIn("copy it to a folder that only you may write", done.stderr.decode())
        self.assertFalse(os.path.exists(mark))
        done = self.run_tool("check", "--checker", self.path("mine", "check.sh"), "--", "/bin/true")
        self.assertNotIn("is not run with your rights", done.stderr.decode())
        self.assertNotEqual(done.returncode, 2, done.stderr)

    def on_terminal(self, *words, answer):
        master, slave = pty.openpty()
        try:
            with subprocess.Popen([TOOL, *words], stdin=slave, stdout=slave, stderr=slave, cwd=self.folder) as tool:
                os.close(slave)
                text = b""
                while b"[y/N]" not in text:
                    ready, _, _ = select.select([master], [], [], PATIENCE_S)
                    self.assertTrue(ready, text)
                    text += os.read(master, 4096)
                os.write(master, answer.encode())
                while True:  # or it would block on a full terminal
                    try:
                        if not os.read(master, 4096):
                            break
                    except OSError:
                        break
                return tool.wait(PATIENCE_S)
        finally:
            os.close(master)


@unittest.skipUnless(HAS_RUNTIME, "this build has no runtime")
class Killed(Case):
    """A killed tool takes its program with it, and the next one removes its folder."""

    def wait_for(self, what):
        end = time.monotonic() + PATIENCE_S
        while not what():
            self.assertLess(time.monotonic(), end)
            time.sleep(0.02)

    def folders(self):
        return [name for name in os.listdir(self.folder) if name.startswith("deadheat-work-")]

    def check(self, verb, *options):
        environment = dict(os.environ, TMPDIR=self.folder)
        pid_file = self.path("pid")
        script = f"echo $$ > {pid_file}.new; mv {pid_file}.new {pid_file}; while :; do read line < /dev/zero; done"
        with subprocess.Popen([TOOL, verb, *options, "--", "/bin/sh", "-c", script], env=environment, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL) as tool:
            self.wait_for(lambda: os.path.exists(pid_file))
            with open(pid_file, encoding="utf-8") as file:
                pid = int(file.read())
            tool.send_signal(signal.SIGKILL)
        self.wait_for(lambda: is_dead(pid))
        return environment

    def test_run(self):
        environment = self.check("run")
        self.assertEqual(len(self.folders()), 1)
        subprocess.run([TOOL, "run", "--", "/bin/true"], env=environment, capture_output=True, check=False, timeout=PATIENCE_S)
        self.assertEqual(self.folders(), [])

    def test_record(self):
        self.check("record", "-o", self.path("trace.dht"))

    def test_a_folder_in_use_stays(self):
        environment = dict(os.environ, TMPDIR=self.folder)
        with subprocess.Popen([TOOL, "run", "--", "/bin/cat"], env=environment, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL) as tool:
            self.wait_for(self.folders)
            before = self.folders()
            subprocess.run([TOOL, "run", "--", "/bin/true"], env=environment, capture_output=True, check=False, timeout=PATIENCE_S)
            self.assertEqual(self.folders(), before)
            tool.stdin.close()


if __name__ == "__main__":
    unittest.main()

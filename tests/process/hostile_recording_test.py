#!/usr/bin/python3
"""A recording of somebody else is hostile input: nothing outside of it is created, deleted or followed; and one's own recording is
nobody else's business.

usage: hostile_recording_test.py DEADHEAT [unittest arguments]
"""
import json
import os
import shutil
import socket
import stat
import subprocess
import unittest

from process_case import ProcessCase, main

SOMEBODY = 54321
IS_ROOT = os.geteuid() == 0
COMMAND = ("sh", "-c", "echo one > f; cat f & echo two > f; wait")


class Case(ProcessCase):
    def record(self, *options, name="rec"):
        self.or_skip(self.proc("record", "-o", self.path(name), *options, "--", *COMMAND))
        return self.path(name)

    def refused(self, done, says):
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn(says, done.stderr)


class Private(Case):
    def modes(self, folder):
        return {os.path.relpath(os.path.join(where, name), folder): stat.S_IMODE(os.lstat(os.path.join(where, name)).st_mode)
                for where, folders, names in os.walk(folder) for name in folders + names
                if not os.path.islink(os.path.join(where, name))}

    def test_nobody_else_can_read_it(self):
        recording = self.record()
        self.assertEqual(stat.S_IMODE(os.stat(recording).st_mode), 0o700)
        modes = self.modes(recording)
        for name in ("events", "recording.json", "checkpoint.json", "out", "err"):
            self.assertEqual(modes[name], 0o600, name)

    def test_the_command_cannot_open_its_output_to_others(self):
        """Its output lies outside of the sandbox, and a command with the owner's rights may change its mode."""
        script = "import os\nfor fd in (1, 2):\n    os.fchmod(fd, 0o4777)\n    if os.geteuid() == 0: os.fchown(fd, 54321, 54321)"
        recording = self.path("rec")
        self.or_skip(self.proc("record", "-o", recording, "--", "/usr/bin/python3", "-c", script))
        for name in ("out", "err"):
            about = os.stat(os.path.join(recording, name))
            self.assertEqual((oct(about.st_mode & 0o7777), about.st_uid), (oct(0o600), os.geteuid()), name)

    def test_the_command_cannot_take_the_disk_by_its_output(self):
        """One call can make a file of any size; these files are not in the sandbox. Only sparse ones here, should it get through."""
        script = ("import os\nfor fd in (1, 2):\n    for size in (64 << 20, 1 << 44):\n        try: os.ftruncate(fd, size)\n"
                  "        except OSError as e: open('said', 'a').write(f'{size}: {e.strerror};')")
        recording = self.path("rec")
        self.or_skip(self.proc("record", "-o", recording, "--most-memory", "1024", "--", "/usr/bin/python3", "-c", script))
        for name in ("out", "err"):
            self.assertEqual(os.stat(os.path.join(recording, name)).st_size, 64 << 20, name)

    def test_an_empty_folder_that_was_there_becomes_private(self):
        os.mkdir(self.path("rec"), 0o755)
        self.assertEqual(stat.S_IMODE(os.stat(self.record()).st_mode), 0o700)

    def test_variables_are_left_out(self):
        os.environ["DEADHEAT_TEST_TOKEN"] = "geheim1"
        os.environ["DEADHEAT_TEST_KEY"] = "geheim2"
        self.addCleanup(os.environ.pop, "DEADHEAT_TEST_TOKEN")
        self.addCleanup(os.environ.pop, "DEADHEAT_TEST_KEY")
        with_all = self.record(name="with")
        self.assertIn("geheim1", self.read(with_all, "recording.json"))
        done = self.proc("record", "-o", self.path("without"), "--no-env", "DEADHEAT_TEST_T*", "--no-env", "DEADHEAT_TEST_KEY", "--",
                         "env")
        self.assertEqual(done.returncode, 0, done.stderr)
        for name in ("recording.json", "out", "events"):
            self.assertNotIn("geheim", self.read(self.path("without"), name), name)
        self.assertIn("PATH=", done.stdout)
        self.assertEqual(self.proc("replay", self.path("without")).returncode, 0)


class Shape(Case):
    """What is no plain file or folder is refused before anything is read, written or deleted."""

    def setUp(self):
        super().setUp()
        self.recording = self.record()
        self.victim = self.path("victim")
        os.makedirs(os.path.join(self.victim, "run-1"))
        self.write("victim/results.jsonl", "precious\n")
        self.write("victim/run-1/precious", "")

    def untouched(self):
        self.assertEqual(self.read("victim", "results.jsonl"), "precious\n")
        self.assertEqual(sorted(os.listdir(self.victim)), ["results.jsonl", "run-1"])
        self.assertEqual(os.listdir(os.path.join(self.victim, "run-1")), ["precious"])

    def all_refuse(self, says):
        for words in (("validate", self.recording), ("validate", self.recording, "--restart"), ("replay", self.recording),
                      ("races", self.recording)):
            self.refused(self.proc(*words), says)
        self.untouched()

    def test_the_work_folder_as_a_link(self):
        os.symlink(self.victim, os.path.join(self.recording, "branches"))
        self.all_refuse("branches is a link")

    def test_the_results_as_a_link(self):
        os.mkdir(os.path.join(self.recording, "branches"))
        os.symlink(os.path.join(self.victim, "results.jsonl"), os.path.join(self.recording, "branches", "results.jsonl"))
        self.all_refuse("results.jsonl is a link")

    def test_the_replay_folder_as_a_link(self):
        os.symlink(self.victim, os.path.join(self.recording, "replay"))
        self.all_refuse("replay is a link")

    def test_a_link_like_those_of_branches_in_the_wrong_place(self):
        os.makedirs(os.path.join(self.recording, "recording"))
        os.symlink("../../../stdin", os.path.join(self.recording, "recording", "stdin"))
        self.all_refuse("stdin is a link")

    def test_events_as_a_pipe(self):
        os.remove(os.path.join(self.recording, "events"))
        os.mkfifo(os.path.join(self.recording, "events"))
        self.all_refuse("events is a pipe")

    def test_a_socket(self):
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(os.path.join(self.recording, "s"))
            self.all_refuse("is a pipe or a socket")

    def test_the_checkpoint_folder_as_a_link(self):
        shutil.move(os.path.join(self.recording, "checkpoint"), self.path("away"))
        os.symlink(self.path("away"), os.path.join(self.recording, "checkpoint"))
        self.all_refuse("checkpoint is a link")

    def test_a_program_with_rights_in_the_checkpoint(self):
        self.write("rec/checkpoint/su", "#!/bin/sh\n")
        os.chmod(os.path.join(self.recording, "checkpoint", "su"), 0o4755)
        self.all_refuse("set-user-id")

    @unittest.skipUnless(IS_ROOT, "needs root")
    def test_a_device(self):
        os.mknod(os.path.join(self.recording, "checkpoint", "disk"), 0o666 | stat.S_IFBLK, os.makedev(7, 0))
        self.all_refuse("is a device")

    def test_a_result_that_names_a_folder_elsewhere(self):
        # Such a folder would be deleted when the result is taken back.
        self.or_skip(self.proc("validate", self.recording, "--undisturbed", "1", "--time", "60"))
        kept = os.path.join(self.recording, "branches", "results.jsonl")
        with open(kept, encoding="utf-8") as file:
            lines = [json.loads(line) for line in file]
        self.assertTrue(lines)
        for line in lines:
            line.update(folder="../../victim/run-1", verdict=0)
        with open(kept, "w", encoding="utf-8") as file:
            file.writelines(json.dumps(line) + "\n" for line in lines)
        self.proc("validate", self.recording, "--undisturbed", "1", "--time", "60")
        self.proc("validate", self.recording, "--undisturbed", "1", "--time", "60", "--restart")
        self.untouched()

    def test_what_the_tool_makes_itself_passes(self):
        for _ in range(2):
            done = self.proc("validate", self.recording, "--undisturbed", "1", "--depth", "2", "--time", "60")
            self.assertNotEqual(done.returncode, 2, done.stderr)
        self.assertEqual(self.proc("races", self.recording).returncode, 0)
        self.assertEqual(self.proc("replay", self.recording).returncode, 0)
        self.untouched()


@unittest.skipUnless(IS_ROOT, "needs root, to make files of another user")
class OfAnother(Case):
    def test_it_is_read_but_not_run(self):
        recording = self.record()
        os.chmod(self.folder, 0o755)
        for where, folders, names in os.walk(recording):
            for name in folders + names:
                os.lchown(os.path.join(where, name), SOMEBODY, SOMEBODY)
        os.lchown(recording, SOMEBODY, SOMEBODY)
        self.assertEqual(self.proc("races", recording).returncode, 0)
        for words in (("validate", recording), ("replay", recording)):
            self.refused(self.proc(*words), "cp -r ")
        self.assertFalse(os.path.exists(os.path.join(recording, "branches")))
        subprocess.run(["cp", "-r", recording, self.path("copy")], check=True)
        self.assertEqual(self.proc("replay", self.path("copy")).returncode, 0)

    def test_a_findings_file_of_another_chooses_nothing_to_run(self):
        recording = self.record()
        os.chmod(self.folder, 0o755)
        branch = os.path.join(recording, "branches", "1")
        os.makedirs(branch)
        with open(os.path.join(branch, "branch.json"), "w", encoding="utf-8") as file:
            file.write("{}")
        side = {"name": "f", "access": "write", "site": {"kind": "code", "function": "f", "file": "a.c", "line": 7}}
        found = {"kind": "data_race", "roles": [side, side],
                 "evidence": [{"id": "e1", "execution": "x", "outcome": "race",
                               "trial": {"confirmer": "branch", "reproducer": {"kind": "branch", "branch": branch}}}]}
        with open(self.path("f.json"), "w", encoding="utf-8") as file:
            json.dump({"format": "deadheat-findings", "version": 3, "origins": [], "findings": [found]}, file)
        mine = self.proc("replay", self.path("f.json"))
        self.assertNotIn("belongs to user", mine.stderr)
        os.chown(self.path("f.json"), SOMEBODY, SOMEBODY)
        self.refused(self.proc("replay", self.path("f.json")), "names the recording to run")
        self.assertFalse(os.path.exists(os.path.join(recording, "replay")))

    def test_one_in_a_folder_where_others_may_write(self):
        os.mkdir(self.path("open"))
        recording = self.record(name="open/rec")
        os.chmod(self.folder, 0o755)
        os.chmod(self.path("open"), 0o777)
        self.refused(self.proc("validate", recording), "where others may write")

    def test_another_user_records_where_root_lets_everybody_write(self):
        os.chmod(self.folder, 0o777)
        os.mkdir(self.path("shared"))
        os.chmod(self.path("shared"), 0o777)
        words = ["setpriv", f"--reuid={SOMEBODY}", f"--regid={SOMEBODY}", "--clear-groups", self.deadheat, "proc", "record", "-o",
                 self.path("theirs"), "--", "sh", "-c",
                 "echo here > new && mkdir d && echo more > d/f && echo too > shared/f && cat new d/f shared/f"]
        done = subprocess.run(words, capture_output=True, text=True, cwd=self.folder, check=False, timeout=300,
                              stdin=subprocess.DEVNULL)
        self.or_skip(done)
        self.assertEqual((done.returncode, done.stdout), (0, "here\nmore\ntoo\n"), done.stderr)


if __name__ == "__main__":
    main()

"""A recording by the bpf source has what validation needs: its start state, and races whose bad order fails.

usage: bpf_recording_test.py DEADHEAT
"""
import json
import os

from process_case import ProcessCase, main

SCENARIO = os.path.join(os.path.dirname(os.path.realpath(__file__)), "scenarios", "new-4-make")
MOST_RECORDINGS = 8  # as in scenario_test.py: until the bug did not strike by itself


class BpfRecording(ProcessCase):
    def record(self, name, *command, status=0):
        recording = os.path.join(self.folder, name)
        done = self.proc("record", "--source", "bpf", "-o", recording, "--", *command)
        if done.returncode == 77:
            self.skipTest(done.stderr.strip())
        if status is not None:
            self.assertEqual(done.returncode, status, done.stderr)
        with open(os.path.join(recording, "recording.json"), encoding="utf-8") as file:
            self.assertEqual(json.load(file)["lost"], 0)
        return recording

    def test_checkpoint(self):
        """Files read by a relative name, through a link and from another folder are kept as they were; new ones are not."""
        os.mkdir(os.path.join(self.folder, "sub"))
        for name in ("one", "sub/two"):
            with open(os.path.join(self.folder, name), "w", encoding="ascii") as file:
                file.write(name)
        os.symlink("sub/two", os.path.join(self.folder, "link"))
        recording = self.record("r", "sh", "-c", "cat one link > new; cd sub; cat two > /dev/null; echo after > ../one")
        kept = recording + "/checkpoint" + self.folder
        for name in ("one", "sub/two"):
            with open(os.path.join(kept, name), encoding="ascii") as file:
                self.assertEqual(file.read(), name)
        self.assertFalse(os.path.exists(kept + "/new"))
        with open(os.path.join(self.folder, "one"), "w", encoding="ascii") as file:
            file.write("changed since")
        done = self.proc("replay", recording)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_validated(self):
        for attempt in range(MOST_RECORDINGS):
            racy = self.record(f"racy{attempt}", "sh", SCENARIO + "/racy.sh", status=None)
            if os.path.getsize(racy + "/err") == 0:
                break
        done = self.proc("validate", racy)
        self.assertEqual(done.returncode, 66, done.stdout + done.stderr)
        done = self.proc("validate", self.record("safe", "sh", SCENARIO + "/safe.sh"))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    main()

"""A recording is checked on another machine: one that has Deadheat and nothing else, no shell, no make, none of the files.

usage: elsewhere_test.py DEADHEAT
"""
import json
import os
import re
import shutil
import subprocess

from process_case import ProcessCase, main

MAKEFILE = """all: out/a out/b
out: ; mkdir out
out/a: data out ; sort data > out/a
out/b: data %s ; i=0; while [ $$i -lt 100000 ]; do i=$$((i+1)); done; cp data out/b
"""
# All of it ends with the namespace.
ENTER = 'mount --make-rprivate / && mount --bind "$0" "$0" && mount --rbind /dev "$0/dev" && mount -t proc proc "$0/proc" && exec chroot "$0" "$@"'


class Elsewhere(ProcessCase):
    def setUp(self):
        super().setUp()
        if os.geteuid() != 0:
            self.skipTest("needs root, to have another root folder")
        os.mkdir(self.path("project"))
        self.write("project/data", "two\none\n")

    def record(self, makefile):
        self.write("project/Makefile", makefile)
        done = self.or_skip(self.proc("record", "-o", self.path("rec"), "--", "make", "-j2", cwd=self.path("project")))
        self.assertEqual(done.returncode, 0, done.stderr)

    def machine(self):
        """A folder with the tool, the libraries that it is linked with, and the recording."""
        root = self.path("machine")
        for name in ("bin", "dev", "etc", "mnt", "proc", "run", "sys", "tmp", "usr", "var"):
            os.makedirs(os.path.join(root, name))
        shutil.copy(self.deadheat, os.path.join(root, "bin", "deadheat"))
        said = subprocess.run(["ldd", self.deadheat], capture_output=True, text=True, check=True).stdout
        for library in re.findall(r"(/\S+) \(0x", said):
            os.makedirs(root + os.path.dirname(library), exist_ok=True)
            shutil.copy(library, root + library)
        shutil.move(self.path("rec"), os.path.join(root, "rec"))
        return root

    def there(self, root, *words):
        return subprocess.run(["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", ENTER, root, "/bin/deadheat", "proc", *words], cwd="/",
                              capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=200, check=False)

    def test_a_race_is_found_and_replayed(self):
        self.record(MAKEFILE % "")
        root = self.machine()
        done = self.there(root, "validate", "/rec", "--findings", "/rec/findings.json")
        self.assertEqual(done.returncode, 66, done.stderr)
        self.assertIn("/b is missing", done.stdout)
        self.assertNotIn("not as when this was recorded", done.stdout + done.stderr)
        again = self.there(root, "replay", "/rec/findings.json")
        self.assertEqual(again.returncode, 66, again.stderr)
        self.assertIn("the failure is here again", again.stderr)

    def test_its_safe_twin(self):
        self.record(MAKEFILE % "out")
        done = self.there(self.machine(), "validate", "/rec")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, r"\b0 harmful, [1-9]\d* benign")

    def test_one_that_lacks_a_program(self):
        self.record(MAKEFILE % "")
        root = self.machine()
        path = os.path.join(root, "rec", "checkpoint.json")
        with open(path, encoding="utf-8") as file:
            checkpoint = json.load(file)
        for file in checkpoint["files"]:
            if file["path"].endswith("/make"):
                file["kept"] = False
                os.remove(os.path.join(root, "rec", "checkpoint") + file["path"])
        with open(path, "w", encoding="utf-8") as file:
            json.dump(checkpoint, file)
        done = self.there(root, "validate", "/rec")
        self.assertEqual(done.returncode, 77, done.stderr)
        self.assertRegex(done.stderr, r"/make is not as when this was recorded, and the command fails in all of 4 undisturbed runs\n  hint: record it again")


if __name__ == "__main__":
    main()

#!/usr/bin/python3
"""Code that is not the program's own: races between two calls of memcpy or memset are found and named by their callers;
Go's runtime is a library, so a safe program in Go is silent and a race in it is found.

usage: library_test.py DEADHEAT [unittest arguments]
"""
import os
import shutil
import subprocess
import unittest

from watching import PROGRAMS, Watching, main

# How the program reaches the C library: by stubs bound late or at once, without stubs, or by being one file with it.
WAYS = {"late": ("-Wl,-z,lazy",), "now": ("-Wl,-z,now",), "no_plt": ("-fno-plt", "-Wl,-z,now"), "static": ("-static",),
        "bare": ("-s",)}


class Library(Watching):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for way, flags in WAYS.items():
            cls.build("copies.c", "race_" + way, *([] if way == "bare" else ["-g"]), "-DRACE", *flags)
        cls.build("copies.c", "locked", "-g")
        cls.build("copies.c", "apart", "-g", "-DAPART")

    def functions(self):
        return [{role["site"].get("function") for role in one["roles"]} for one in self.findings()["findings"]]

    def test_two_calls_of_the_c_library_race(self):
        for way in WAYS:
            with self.subTest(way=way):
                run = self.watch("--budget", "30%", "--findings", "f.json", "--", self.path("race_" + way), "2")
                self.assertEqual(run.returncode, 66, run.stderr)
                if way != "bare":
                    self.assertIn({"copy_in", "fill"}, self.functions())
                found = self.findings()["findings"][0]
                self.assertEqual((found["kind"], found["verdict"]["state"]), ("data_race", "true_race"))

    def test_ordered_or_apart_they_do_not(self):
        for twin in ("locked", "apart"):
            with self.subTest(twin=twin):
                run = self.watch("--budget", "50%", "--findings", "f.json", "--", self.path(twin), "2")
                self.assertEqual(run.returncode, 0, run.stderr)
                self.assertGreater(self.counters()["samples"], 20, "nothing was watched")

    @unittest.skipUnless(shutil.which("go"), "no go")
    def test_go(self):
        environment = {**os.environ, "HOME": self.folder, "GOCACHE": self.path("cache"), "GO111MODULE": "off",
                       "GOFLAGS": "", "GOTELEMETRY": "off"}
        subprocess.run(["go", "build", "-o", self.path("go"), os.path.join(PROGRAMS, "racy.go")], check=True,
                       env=environment, cwd=self.folder)
        run = self.watch("--budget", "30%", "--findings", "f.json", "--", self.path("go"), "4")
        self.assertEqual((run.returncode, run.stdout), (0, "done 5\n"), run.stderr)
        self.assertGreater(self.counters()["samples"], 20, "nothing was watched")
        run = self.watch("--budget", "30%", "--findings", "f.json", "--", self.path("go"), "4", "race")
        self.assertEqual(run.returncode, 66, run.stderr)
        self.assertEqual(self.functions(), [{"main.raceOnce"}])


if __name__ == "__main__":
    main()

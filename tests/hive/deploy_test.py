#!/usr/bin/python3
"""The units and the container file of tools/deploy are what systemd and Debian understand.

usage: deploy_test.py DEADHEAT
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.realpath(__file__)), "../.."))
DEPLOY = os.path.join(ROOT, "tools/deploy")
UNITS = ("deadheat-hive.service", "deadheat-agent@.service")


class Deploy(unittest.TestCase):
    deadheat = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        for name in UNITS:
            with open(os.path.join(DEPLOY, name), encoding="utf-8") as file:
                text = file.read()
            # What an installation has and this machine does not: the program's place, its man page, its user.
            text = re.sub(r"^(Documentation|User|Group)=.*\n", "", text.replace("/usr/bin/deadheat", self.deadheat), flags=re.M)
            with open(os.path.join(self.folder, name), "w", encoding="utf-8") as file:
                file.write(text)

    def analyze(self, *words):
        if not shutil.which("systemd-analyze"):
            self.skipTest("no systemd-analyze (Debian package systemd)")
        return subprocess.run(["systemd-analyze", *words], capture_output=True, text=True, timeout=120, check=False)

    def test_systemd_understands_the_units(self):
        for name in UNITS:
            done = self.analyze("verify", os.path.join(self.folder, name))
            self.assertEqual((done.returncode, done.stdout + done.stderr), (0, ""), name)

    def test_the_units_are_closed(self):
        """systemd's own measure: 0 is closed, 10 open."""
        for name, most in zip(UNITS, (2.0, 4.0)):
            done = self.analyze("security", "--offline=true", os.path.join(self.folder, name))
            found = re.search(r"Overall exposure level.*: ([0-9.]+)", done.stdout)
            self.assertTrue(found, done.stderr)
            self.assertLessEqual(float(found.group(1)), most, name)

    def test_commands_of_the_units_exist(self):
        """Each option that a unit or the container file gives is one that the command has."""
        for name in UNITS + ("Containerfile",):
            with open(os.path.join(DEPLOY, name), encoding="utf-8") as file:
                text = file.read()
            for command in re.findall(r"ExecStart=/usr/bin/deadheat (\w+ \w+) (.*)", text):
                self.options(command[0].split(), re.findall(r"--[a-z-]+", command[1]))
            for command in re.findall(r"^CMD \[(.*)\]", text, re.M):
                words = re.findall(r'"(.*?)"', command)
                self.options(["hive", words[0]], [word for word in words if word.startswith("--")])

    def options(self, verb, options):
        told = subprocess.run([self.deadheat, *verb, "--help"], capture_output=True, text=True, timeout=60, check=True).stdout
        for option in options:
            self.assertIn(option, told, verb)

    def test_packages_exist(self):
        with open(os.path.join(DEPLOY, "Containerfile"), encoding="utf-8") as file:
            text = file.read().replace("\\\n", " ")
        packages = [word for line in re.findall(r"--no-install-recommends ([^&\n]*)", text) for word in line.split()]
        self.assertGreater(len(packages), 15)
        known = subprocess.run(["apt-cache", "--no-all-versions", "show", "libc6", *packages], capture_output=True, text=True, timeout=120,
                               check=False).stdout if shutil.which("apt-cache") else ""
        names = set(re.findall(r"^Package: (\S+)", known, re.M))
        if "libc6" not in names:
            self.skipTest("no list of Debian's packages")
        with open("/etc/os-release", encoding="utf-8") as file:
            if 'VERSION_ID="12"' not in file.read():
                self.skipTest("the container file is for Debian 12")
        self.assertLessEqual(set(packages), names)


if __name__ == "__main__":
    Deploy.deadheat = os.path.abspath(sys.argv.pop(1))
    unittest.main()

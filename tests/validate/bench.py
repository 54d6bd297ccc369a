"""What the tests of validation share: candidates by hand, builds, runs."""
import json
import os
import re
import subprocess
import tempfile
import unittest

def lines_of(path, wanted):
    """Numbers of the lines that match, from 1."""
    with open(path, encoding="utf-8") as file:
        return [number for number, line in enumerate(file, 1) if re.search(wanted, line)]


def candidate(path, *roles):
    """A finding without evidence: roles are (function, line, access)."""
    return {"kind": "data_race", "found_by": ["hand"], "evidence": [], "roles": [
        {"name": name, "access": access, "site": {"kind": "code", "function": function, "file": path, "line": line}}
        for name, (function, line, access) in zip(("first", "second"), roles)]}


class Validation(unittest.TestCase):
    deadheat = compiler = programs = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def source(self, name):
        return os.path.join(self.programs, name)

    def run_in(self, *words, **options):
        environment = {**os.environ, "DEADHEAT_CC": "clang-19", "DEADHEAT_CXX": "clang++-19"}
        return subprocess.run(words, cwd=self.folder, env=environment, capture_output=True, text=True, timeout=500,
                              check=False, **options)

    def write_candidates(self, *findings, name="candidates.json"):
        with open(self.path(name), "w", encoding="utf-8") as file:
            json.dump({"format": "deadheat-findings", "version": 2, "origins": [], "findings": list(findings)}, file)

    def build(self, name, *options, output="program", candidates="candidates.json"):
        done = self.run_in(self.compiler, "--candidates", self.path(candidates), "-O1", "-pthread", *options,
                           self.source(name), "-o", self.path(output))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr, "")

    def validate(self, *words, options=(), candidates="candidates.json"):
        """Exit status, findings and standard error."""
        done = self.run_in(self.deadheat, "validate", self.path(candidates), "--findings", self.path("out.json"),
                           *options, "--", *words)
        findings = []
        if os.path.exists(self.path("out.json")):
            with open(self.path("out.json"), encoding="utf-8") as file:
                findings = json.load(file)["findings"]
        return done.returncode, findings, done.stdout + done.stderr

    def only(self, findings, text):
        """The finding, or why there is none."""
        self.assertEqual(len(findings), 1, text)
        return findings[0]

    def state(self, finding):
        return finding["verdict"]["state"]

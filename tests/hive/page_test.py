#!/usr/bin/python3
"""The hive's page in a real Chromium, driven by Playwright; axe-core looks for what some people cannot use.

usage: page_test.py DEADHEAT FOLDER FINDINGS

FOLDER keeps the npm packages (by name and version) and the screenshots. Without npm, a registry or chromium the test is skipped
(77) and says so.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import unittest

from hives import Hive, finding, findings

PACKAGES = {"playwright-core": "1.65.1", "axe-core": "4.14.0"}


def skip(why):
    print(f"skipped: {why}")
    sys.exit(77)


def fetch(folder):
    if shutil.which("npm") is None or shutil.which("node") is None:
        skip("no npm and node (Debian package npm)")
    if shutil.which("chromium") is None:
        skip("no chromium (Debian package chromium)")
    for name, version in PACKAGES.items():
        target = folder / "node_modules" / name
        if (target / "package.json").exists():
            continue
        try:
            packed = subprocess.run(["npm", "pack", "--silent", f"{name}@{version}"], cwd=folder, capture_output=True, text=True,
                                    timeout=180, check=False)
        except subprocess.TimeoutExpired:
            skip(f"npm pack {name} did not answer within three minutes")
        if packed.returncode != 0:
            skip(f"npm pack {name} failed: {packed.stderr.strip().splitlines()[-1:] or 'no message'}")
        unpacked = folder / "unpacked"
        shutil.rmtree(unpacked, ignore_errors=True)
        with tarfile.open(folder / packed.stdout.split()[-1]) as archive:
            archive.extractall(unpacked)
        target.parent.mkdir(exist_ok=True)
        os.rename(unpacked / "package", target)


class Page(Hive):
    packages = None
    sample = None

    def fill(self):
        """A true race with stacks and steps, proved by CI; candidates that a fleet speaks about; text that looks like markup."""
        with open(self.sample, encoding="utf-8") as file:
            bank = json.load(file)
        for role in (role for one in bank["findings"] for role in one["roles"] if role["site"].get("line")):
            role["site"].setdefault("source_text", "balance += amount;  // <b>not markup</b>")
        self.ask("POST", "/api/v1/findings", {"format": bank["format"], "version": bank["version"], "origins": [],
                                              "findings": bank["findings"]}, self.token("developer", "--trusted"))
        self.ask("POST", "/api/v1/findings", findings(finding(7, "<img src=x onerror=alert(1)>"),
                                                      *[finding(20 + i, f"counter_{i}") for i in range(150)]))
        for i in range(6):
            agent = self.token("agent")
            for round_ in range(4):
                poll = {"instance": f"machine{i}", "version": f"2.{i % 2}", "build_id": "5d1f0c7e" * 4, "spent_ppm": 9000 + 3000 * i,
                        "budget_ppm": 20000}
                for job in self.ask("POST", "/api/v1/jobs", poll, agent)["jobs"]:
                    outcome = ("no_race", "not_seen", "race", "timeout")[(i + round_) % 4]
                    self.ask("POST", "/api/v1/results", {"instance": f"machine{i}", "results": [
                        {"id": f"{i}.{round_}", "job": job["id"], "number": job["number"], "outcome": outcome,
                         "proof": "co_enabled" if outcome == "race" else "none", "order": job["order"], "execution": str(round_)}]}, agent)
            self.ask("POST", "/api/v1/jobs", poll, agent)

    def test_page(self):
        self.serve()
        self.fill()
        program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "page_test.mjs")
        done = subprocess.run(["node", program, self.url, self.token("developer"), str(self.packages), shutil.which("chromium")],
                              env={**os.environ, "NODE_PATH": str(self.packages / "node_modules")}, capture_output=True, text=True,
                              timeout=280, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    Page.deadheat, Page.packages, Page.sample = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3]
    del sys.argv[1:4]
    Page.packages.mkdir(parents=True, exist_ok=True)
    fetch(Page.packages)
    unittest.main()

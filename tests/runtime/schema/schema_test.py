#!/usr/bin/python3
"""What the runtime writes is what abi/raw_report.h says: each line of real programs, in both modes, member by member.

usage: schema_test.py DEADHEAT_CC SCHEDULE_LIBRARY
"""
import importlib.machinery
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.realpath(__file__))
ROOT = os.path.join(HERE, "../../..")
WRAPPER = LIBRARY = None


def load(path, name):
    loader = importlib.machinery.SourceFileLoader(name, path)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    sys.dont_write_bytecode = True
    loader.exec_module(module)
    return module


TABLES = load(os.path.join(ROOT, "tools/abi_pages"), "abi_pages").tables("abi/raw_report.h")
MEMBERS = {}
for record, member, kind, meaning in TABLES["MEMBERS"]:
    MEMBERS.setdefault(record, {})[member] = (kind, meaning)


def is_number(value):
    return isinstance(value, int) and not isinstance(value, bool)


def problems(record, value):
    """What of one record the tables do not say."""
    for member, inside in value.items():
        where = f"{record}.{member}"
        if member not in MEMBERS[record]:
            yield f"{where}: not in the table"
            continue
        kind, meaning = MEMBERS[record][member]
        if kind in ("records", "record"):
            of = re.search(r"of `(\w+)`", meaning)
            for one in inside if kind == "records" else [inside]:
                yield from problems(of.group(1) if of else member, one)
        elif kind == "word":
            words = [row[0] for row in TABLES[re.match(r"\w+", meaning).group()]]
            if inside not in words:
                yield f"{where}: {inside} is none of {words}"
        else:
            good = {"number": lambda v: is_number(v) and v >= 0, "integer": lambda v: is_number(v) and v >= -1,
                    "flag": lambda v: isinstance(v, bool), "text": lambda v: isinstance(v, str),
                    "texts": lambda v: all(isinstance(one, str) for one in v),
                    "places": lambda v: all(len(one) == 2 and all(map(is_number, one)) for one in v)}[kind]
            if not good(inside):
                yield f"{where}: {inside} is no {kind}"
    if record not in ("race", "location"):  # the others are always whole
        for member in MEMBERS[record].keys() - value.keys():
            yield f"{record}.{member}: missing"


class Schema(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.work = tempfile.mkdtemp(prefix="schema.")
        cls.addClassCleanup(shutil.rmtree, cls.work)
        cls.program = os.path.join(cls.work, "ways")
        subprocess.run([WRAPPER, "-O1", "-g", os.path.join(HERE, "ways.c"), "-o", cls.program, "-lpthread"],
                       env={**os.environ, "DEADHEAT_CC": "gcc"}, check=True, timeout=280)

    def lines(self, way, *trial):
        raw, request = os.path.join(self.work, "raw"), os.path.join(self.work, "trial")
        if os.path.exists(raw):
            os.remove(raw)
        options, env = f"raw_path='{raw}':exitcode=0", dict(os.environ)
        if trial:
            with open(request, "w", encoding="utf-8") as file:
                file.write("\n".join(("deadheat-trial 1", *trial)) + "\n")
            options += f":trial_path='{request}'"
            env["LD_LIBRARY_PATH"] = os.path.dirname(LIBRARY)
        subprocess.run([self.program, way], env={**env, "DEADHEAT_OPTIONS": options}, capture_output=True, timeout=280)
        with open(raw, encoding="utf-8") as file:
            return [json.loads(line) for line in file]

    def check(self, lines, *kinds):
        for line in lines:
            kind = line.pop("t")
            self.assertIn([kind], TABLES["LINES"])
            self.assertEqual(list(problems(kind, line)), [], line)
            line["t"] = kind
        for kind in kinds:
            self.assertIn(kind, [line["t"] for line in lines])

    def test_the_detector(self):
        lines = self.lines("race")
        self.check(lines, "process", "module", "race", "end")
        locations = {line["location"]["kind"] for line in lines if line["t"] == "race"}
        self.assertTrue({"global", "heap", "stack"} <= locations, locations)

    def test_the_scheduler(self):
        self.check(self.lines("race", "strategy random", "seed 3"), "process", "module", "end")
        self.check(self.lines("crash", "strategy serial", "seed 3"), "crash")
        lines = self.lines("deadlock", "strategy serial", "seed 3")
        self.check(lines, "deadlock")
        stuck = next(line for line in lines if line["t"] == "deadlock")
        self.assertEqual({one["waits"] for one in stuck["threads"]}, {"join", "lock"})

    def test_the_page_names_the_counters_of_the_scheduler(self):
        common = {"report_lines_cut", "modules_not_kept", "descriptors_not_followed", "threads_unseen", "fibers_not_announced"}
        written = {one["name"] for one in self.lines("race", "strategy serial", "seed 3")[-1]["counters"]}
        with open(os.path.join(ROOT, "abi/trial.md"), encoding="utf-8") as file:
            text = re.search(r"The counters of its `end`: (.*?)\n\n", file.read(), re.S).group(1)
        self.assertEqual(written - common, set(re.findall(r"`(\w+)`", text)))
        self.assertLessEqual(common, written)

    def test_a_word_or_member_that_the_table_lacks_is_seen(self):
        self.assertTrue(list(problems("note", {"pid": 1, "text": "x", "more": 1})))
        self.assertTrue(list(problems("note", {"pid": "1", "text": "x"})))
        self.assertTrue(list(problems("note", {"pid": 1})))
        self.assertTrue(list(problems("location", {"kind": "spin"})))
        self.assertFalse(list(problems("note", {"pid": 1, "text": "x"})))


if __name__ == "__main__":
    WRAPPER, LIBRARY = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1])

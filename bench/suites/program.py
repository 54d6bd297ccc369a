"""What all suites are read into: a program with a label, and two shell templates that build and run it.

In the templates %cc and %cxx are the tool's compilers, %run is what the tool wants in front of a program, %t the path of
what is built; they run in a folder of the program's own. The label is the suite's, raw: labels.csv says where reading the program showed it to be wrong.
"""
import csv
import dataclasses
import os
import resource
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))

from limited import limited  # noqa: E402

MOST_PROCESSES = 4096  # of this user: a program that makes threads without end must not take the machine


@dataclasses.dataclass
class Program:
    suite: str
    name: str
    racy: bool
    build: str
    run: str


@dataclasses.dataclass
class Skipped:
    suite: str
    name: str
    reason: str


def labels_of(suite):
    """{program: truth} of the labels that are wrong."""
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "labels.csv"), encoding="utf-8", newline="") as source:
        rows = csv.DictReader(line for line in source if not line.startswith("#"))
        return {row["program"]: row["truth"] for row in rows if row["suite"] == suite}


def shell(command, folder, seconds):
    """Exit status (None: it was stopped) and what it wrote to standard error; what programs print is not kept."""
    return limited(["/bin/sh", "-c", command], seconds, cwd=folder,
                   preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NPROC, (MOST_PROCESSES, MOST_PROCESSES)))

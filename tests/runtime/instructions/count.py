#!/usr/bin/python3
"""Counts the instructions of each operation of `hooks` under callgrind, and fails where one needs more than bounds.csv allows.

  count.py HOOKS BOUNDS [--write]

Instruction counts repeat exactly where times do not, so that a hook that becomes slower is seen in the change that makes it so.
A bound is about a tenth above what was measured when it was written; --write does that again, after a change for the better.
Exit: 0; 1 if an operation is above its bound, or has none; 77 without valgrind.
"""
import csv
import os
import re
import shutil
import subprocess
import sys
import tempfile

SLACK = 1.1
OPERATIONS = re.compile(r"^operations: (\d+)$", re.M)
NAME = re.compile(r"^\((\d+)\)(?: (.*))?$")


def inclusive_counts(path):
    """{function: instructions in it and below}, of calls that were made once, as callgrind's file tells them at the caller."""
    names, counts, callee = {}, {}, None
    with open(path, encoding="utf-8", errors="replace") as file:
        lines = iter(file)
        for line in lines:
            key, _, value = line.rstrip("\n").partition("=")
            if key in ("fn", "cfn"):
                number, name = NAME.match(value).groups()
                names.setdefault(number, name)
                if key == "cfn":
                    callee = names[number]
            elif key == "calls" and callee.startswith("case_"):
                counts[callee[len("case_"):]] = counts.get(callee[len("case_"):], 0) + int(next(lines).split()[1])
    return counts


def measure(hooks):
    """{operation: instructions}."""
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "callgrind.out")
        # The program asks for no report, and a report would count.
        done = subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=" + out, hooks], check=False, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env={**os.environ, "DEADHEAT_OPTIONS": os.environ.get("COUNT_OPTIONS", ""), "TSAN_OPTIONS": ""})
        found = OPERATIONS.search(done.stdout)
        if done.returncode != 0 or found is None:
            sys.exit(f"count: {hooks} under valgrind ended with {done.returncode}\n{done.stdout[-500:]}{done.stderr[-2000:]}")
        if "WARNING" in done.stderr:
            sys.exit(f"count: the program has no race, but one was reported\n{done.stderr[-2000:]}")
        return {name: count / int(found.group(1)) for name, count in inclusive_counts(out).items()}


def main():
    if len(sys.argv) < 3:
        sys.exit("usage: count.py HOOKS BOUNDS [--write]")
    hooks, path = sys.argv[1:3]
    if shutil.which("valgrind") is None:
        print("count: skipped: no valgrind (install the package of that name)")
        return 77
    counts = measure(hooks)
    if "--write" in sys.argv[3:]:
        with open(path, "w", encoding="ascii", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(
                [("operation", "instructions"), *((name, int(count * SLACK) + 1) for name, count in counts.items())])
    with open(path, encoding="ascii", newline="") as file:
        bounds = {row["operation"]: int(row["instructions"]) for row in csv.DictReader(file)}
    wrong = 0
    for name in sorted(counts.keys() | bounds.keys()):
        count, bound = counts.get(name), bounds.get(name)
        bad = count is None or bound is None or count > bound
        wrong += bad
        shown = "not measured" if count is None else f"{count:8.1f}"
        print(f"{name:28} {shown} {'no bound' if bound is None else f'at most {bound:5}'}{'   <-- too many' if bad else ''}")
    if wrong:
        print(f"count: {wrong} of {len(counts)} wrong. Make it cheaper, or, if the work is worth it, say so and run count.py --write")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

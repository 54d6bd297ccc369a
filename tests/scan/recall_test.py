#!/usr/bin/python3
"""Every RACE! line of tests/programs is in a candidate of scan; exceptions are listed with their reason.

  recall_test.py BUILD/apps/deadheat-cc BUILD/apps/deadheat-scan [--part K/N] [--show] [PATTERN...]

Prints, beside the recall, how many candidates the safe twins have: those are false.
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.realpath(__file__))
PROGRAMS = os.path.join(os.path.dirname(HERE), "programs")
sys.path.insert(0, PROGRAMS)
sys.dont_write_bytecode = True
from harness import builders, detectors, suite  # noqa: E402

LIKELY = 50  # rank from which a candidate stands among the first


def exceptions():
    """{program: reason}"""
    found = {}
    with open(os.path.join(HERE, "exceptions.txt"), encoding="utf-8") as file:
        for line in file:
            line = line.split("#")[0].strip()
            if line:
                name, _, reason = line.partition(":")
                found[name.strip()] = reason.strip()
    return found


def compile_one(compiler, source, name, safe, output):
    language = "c++" if name.endswith(".cc") else "c"
    standard = source.header.get("std", builders.STANDARD[language]) if name == source.name else builders.STANDARD[language]
    command = [compiler[language], "--scan", "-fno-sanitize=thread", "-O1", "-w", "-c", f"-std={standard}", f"-DSAFE={int(safe)}",
               f"-I{source.top}", *source.header.get("flags", []), os.path.join(source.top, name), "-o", output]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise builders.BuildFailed(f"{' '.join(command)}\n{done.stderr}")


def scan(options, source, safe, folder):
    compiler = {"c": options.cc, "c++": options.cc.replace("deadheat-cc", "deadheat-c++")}
    objects = []
    for name in [source.name, *source.header.get("instrumented", [])]:
        objects.append(os.path.join(folder, name.replace("/", "_") + ".o"))
        compile_one(compiler, source, name, safe, objects[-1])
    findings = os.path.join(folder, "findings.json")
    command = [options.scan, *objects, "--findings", findings, "--quiet"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=20)
    if done.returncode:
        raise detectors.RunFailed(f"{' '.join(command)}\nended with {done.returncode}\n{done.stderr}")
    ranked = []
    for sites, entry in detectors.sites_of_json(findings, os.path.realpath(source.top)):
        rank = int(re.search(r"rank (\d+)", entry["evidence"][0]["why"])[1])
        ranked.append((sites, rank, entry["evidence"][0]["why"]))
    return ranked


def missed_lines(source, ranked):
    """{race: lines} that no candidate has both sides of."""
    missed = {}
    for race, lines in source.races.items():
        seen = set()
        for sites, _, _ in ranked:
            if set(sites) <= source.lines[race]:
                seen.update(sites)
        if lines - seen:
            missed[race] = lines - seen
    return missed


def words(sites):
    return " and ".join(f"{file}:{line}" for file, line in sorted(sites))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("cc")
    parser.add_argument("scan")
    parser.add_argument("patterns", nargs="*")
    parser.add_argument("--part", default="1/1")
    parser.add_argument("--show", action="store_true", help="show the candidates of the safe twins")
    options = parser.parse_args()
    os.environ["DEADHEAT_CC"], os.environ["DEADHEAT_CXX"] = "clang-19", "clang++-19"
    known, bad = exceptions(), []
    part, _, parts = options.part.partition("/")
    races = found = false = false_likely = silent = 0
    sources = suite.sources(patterns=options.patterns)[int(part) - 1::int(parts)]
    with tempfile.TemporaryDirectory() as folder:
        for source in sources:
            try:
                racy, safe = scan(options, source, False, folder), scan(options, source, True, folder)
            except (builders.BuildFailed, detectors.RunFailed, subprocess.TimeoutExpired) as failure:
                bad.append(f"{source.name}: {failure}")
                continue
            missed = missed_lines(source, racy)
            races += len(source.races)
            found += len(source.races) - len(missed)
            likely = [entry for entry in safe if entry[1] >= LIKELY]
            false, false_likely, silent = false + len(safe), false_likely + len(likely), silent + (not safe)
            print(f"{'missed' if missed else 'found':7} {len(safe):3} false, {len(likely):3} of them likely  {source.name}", flush=True)
            if options.show:
                for sites, rank, why in safe:
                    print(f"        false {rank}: {words(sites)}: {why.partition(': ')[2]}")
            for lines in missed.values():
                print(f"        missed: {words(lines)}" + (f" ({known[source.name]})" if source.name in known else ""))
            if missed and source.name not in known:
                bad.append(f"{source.name}: missed {'; '.join(words(lines) for lines in missed.values())}")
            if not missed and source.name in known:
                bad.append(f"{source.name}: found, but listed as an exception")
    print(f"{found} of {races} races are in candidates; {false} false candidates in {len(sources)} safe twins "
          f"({false_likely} likely), {silent} twins have none")
    for line in bad:
        print(f"BAD {line}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())

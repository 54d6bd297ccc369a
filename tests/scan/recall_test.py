#!/usr/bin/python3
"""Every RACE! line of tests/programs is in a candidate of scan, and safe twins have few candidates.

  recall_test.py DEADHEAT_SCAN [--write] [--show] [PATTERN...]

expected.txt says, for each program that is not perfect, how many candidates its safe twin may have (those are false) and
why scan misses a race of it. --write makes that table anew from what was found; --show shows the false candidates.
"""
import argparse
import concurrent.futures
import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.realpath(__file__))
PROGRAMS = os.path.join(os.path.dirname(HERE), "programs")
TABLE = os.path.join(HERE, "expected.txt")
sys.path.insert(0, PROGRAMS)
sys.dont_write_bytecode = True
from harness import builders, detectors, suite  # noqa: E402

LIKELY = 50  # rank from which a candidate stands among the first
LONGEST_S = 120  # for one program, on a busy machine
COMPILERS = {"c": "clang-19", "c++": "clang++-19"}
# Most of the time of a C++ program goes into these: they are read once for each standard.
CXX_HEADERS = ["algorithm", "atomic", "condition_variable", "functional", "future", "map", "memory", "mutex", "shared_mutex",
               "string", "thread", "vector"]


class Expected:
    """One row of the table."""

    def __init__(self, false=0, missed=""):
        self.false, self.missed = false, missed


def read_table():
    rows = {}
    if not os.path.exists(TABLE):
        return rows
    with open(TABLE, encoding="utf-8") as file:
        for line in file:
            if line.strip() and not line.startswith("#"):
                name, false, missed = (word.strip() for word in line.split("|"))
                rows[name] = Expected(int(false), missed)
    return rows


def write_table(rows):
    with open(TABLE, "w", encoding="utf-8") as file:
        file.write("# Where scan is not perfect on tests/programs (recall_test.py --write): the most false candidates that the safe\n"
                   "# twin may have, and why a race is missed. A program that is not here has neither.\n"
                   "# program | false | missed because\n")
        for name, row in sorted(rows.items()):
            file.write(f"{name} | {row.false} | {row.missed}".rstrip() + "\n")


class Scanner:
    """Compiles to bitcode, as the front end makes it, and scans that."""

    def __init__(self, scan, folder):
        self.scan, self.folder = scan, folder

    def run(self, command, **more):
        done = subprocess.run(command, capture_output=True, text=True, check=False, **more)
        if done.returncode:
            raise builders.BuildFailed(f"{' '.join(command)}\nended with {done.returncode}\n{done.stderr}")

    def flags(self, source, name):
        language = "c++" if name.endswith(".cc") else "c"
        standard = source.header.get("std", builders.STANDARD[language]) if name == source.name else builders.STANDARD[language]
        more = source.header.get("flags", [])
        return language, standard, ["-g", "-O1", "-w", f"-std={standard}", *more]

    def headers(self, flags):
        return os.path.join(self.folder, re.sub(r"\W", "_", " ".join(flags)) + ".pch")

    def make_headers(self, sources):
        """One precompiled header for all C++ programs with the same flags."""
        wanted = {tuple(flags) for source in sources for language, _, flags in [self.flags(source, source.name)] if language == "c++"}
        text = os.path.join(self.folder, "headers.h")
        with open(text, "w", encoding="utf-8") as file:
            file.writelines(f"#include <{name}>\n" for name in CXX_HEADERS)
        for flags in wanted:
            self.run([COMPILERS["c++"], *flags, "-x", "c++-header", text, "-o", self.headers(flags)])

    def candidates(self, source, safe):
        """([(sites, rank, why)], {(file, line)} with an access that was called safe)"""
        stem = os.path.join(self.folder, source.name.replace("/", "_") + str(int(safe)))
        modules = []
        for number, name in enumerate([source.name, *source.header.get("instrumented", [])]):
            language, _, flags = self.flags(source, name)
            modules.append(f"{stem}.{number}.bc")
            known = self.headers(flags)
            use = ["-include-pch", known] if language == "c++" and os.path.exists(known) else []
            self.run([COMPILERS[language], *flags, *use, "-Xclang", "-disable-llvm-passes", "-emit-llvm", "-c",
                      f"-DSAFE={int(safe)}", f"-I{source.top}", os.path.join(source.top, name), "-o", modules[-1]])
        coarse = self.coarse(source, modules, stem) if not safe else None
        findings, facts = stem + ".json", stem + ".facts"
        self.run([self.scan, *modules, "--findings", findings, "--facts", facts, "--quiet"], timeout=LONGEST_S)
        top = os.path.realpath(source.top)
        with open(facts, encoding="utf-8") as file:
            read = json.load(file)
        # An annotation names a line: it is called safe if all that scan has seen on it is.
        safe_lines, others = ({(os.path.relpath(one["file"], top), one["line"]) for one in read[key]} for key in ("facts", "open"))
        safe_lines -= others
        ranked = []
        for sites, entry in detectors.sites_of_json(findings, top):
            why = entry["suspicions"][0]["why"]
            ranked.append((sites, int(re.search(r"rank (\d+)", why)[1]), why))
        for path in [*modules, findings, facts]:
            os.remove(path)
        return ranked, safe_lines, coarse

    def coarse(self, source, modules, stem):
        """What is found if pointers are followed in the coarsest way from the start."""
        findings = stem + ".coarse.json"
        self.run([self.scan, *modules, "--findings", findings, "--pointer-work", "0", "--quiet"], timeout=LONGEST_S)
        ranked = [(sites, 0, "") for sites, _ in detectors.sites_of_json(findings, os.path.realpath(source.top))]
        os.remove(findings)
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


class Result:
    """What one source showed, in both its forms."""

    def __init__(self, source, racy, safe):
        self.source, self.safe = source, safe[0]
        self.missed = missed_lines(source, racy[0])
        # Places of a race that no candidate has and that the facts call safe: the worst that can happen.
        self.wrong = {place for lines in self.missed.values() for place in lines & racy[1]}
        self.missed_coarse = missed_lines(source, racy[2])
        self.likely = [entry for entry in self.safe if entry[1] >= LIKELY]

    def show(self, why_missed, details):
        print(f"{'missed' if self.missed else 'found':7} {len(self.safe):3} false, {len(self.likely):3} of them likely  {self.source.name}")
        for sites, rank, why in self.safe if details else []:
            print(f"        false {rank}: {words(sites)}: {why.partition(': ')[2]}")
        for lines in self.missed.values():
            print(f"        missed: {words(lines)} ({why_missed or 'not listed'})")
        if self.wrong:
            print(f"        called safe: {words(self.wrong)}")

    def problems(self, row):
        if self.missed and not row.missed:
            yield f"{self.source.name}: missed {'; '.join(words(lines) for lines in self.missed.values())}"
        for race, lines in self.missed_coarse.items():
            if race not in self.missed:
                yield f"{self.source.name}: coarser pointers miss {words(lines)}"
        if not self.missed and row.missed:
            yield f"{self.source.name}: found, but expected.txt says that it is missed"
        if self.wrong and "not on memory" not in row.missed:
            yield f"{self.source.name}: {words(self.wrong)} is called safe and races"
        if len(self.safe) > row.false:
            yield f"{self.source.name}: the safe twin has {len(self.safe)} candidates, expected are at most {row.false}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("scan")
    parser.add_argument("patterns", nargs="*")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--show", action="store_true", help="show the candidates of the safe twins")
    options = parser.parse_args()
    rows, bad, results = read_table(), [], []
    sources = suite.sources(patterns=options.patterns)
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        scanner = Scanner(options.scan, folder)
        scanner.make_headers(sources)
        tasks = [(source, [pool.submit(scanner.candidates, source, safe) for safe in (False, True)]) for source in sources]
        for source, (racy, safe) in tasks:
            try:
                result = Result(source, racy.result(), safe.result())
            except (builders.BuildFailed, subprocess.TimeoutExpired) as failure:
                bad.append(f"{source.name}: {failure}")
                continue
            results.append(result)
            row = rows.get(source.name, Expected())
            result.show(row.missed, options.show)
            bad += result.problems(row)
    races = sum(len(result.source.races) for result in results)
    missed = sum(len(result.missed) for result in results)
    print(f"{races - missed} of {races} races are in candidates; {sum(len(result.safe) for result in results)} false candidates in "
          f"{len(results)} safe twins ({sum(len(result.likely) for result in results)} likely), "
          f"{sum(not result.safe for result in results)} twins have none")
    if options.write:
        for result in results:
            # A little more: which of several equal ways to a pair is shown, and so its place, varies with addresses.
            count = len(result.safe)
            row = Expected(count + count // 4 + 2 if count else 0, rows.get(result.source.name, Expected()).missed if result.missed else "")
            rows[result.source.name] = row
        write_table({name: row for name, row in rows.items() if row.false or row.missed})
    for line in bad:
        print(f"BAD {line}")
    return 1 if bad else 0


if __name__ == "__main__":
    if any(subprocess.run(["which", name], capture_output=True, check=False).returncode for name in COMPILERS.values()):
        print("skipped: no clang-19 (Debian package of that name)")
        sys.exit(77)
    sys.exit(main())

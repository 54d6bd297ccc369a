"""The annotated programs: where they are, how each wants to be built, and what is true of it.

A source is two programs: compiled with -DSAFE=0 its races are the lines marked `RACE!`, with -DSAFE=1 it has none.
A first comment line `// build: key=value ...` says what is special (lists are separated by commas):

  std=c++20              language standard
  flags=-mavx            more compiler flags
  libs=-ldl              more libraries
  plain=DIR/x.c          a library that is never instrumented (libx.so)
  plain_object=DIR/x.cc  a part of the program that is not instrumented, linked in front of the rest
  instrumented=DIR/x.c   a library built like the program
  needs=regions          only a build that marks regions (the compilers' plugins) can know that the safe twin is safe
  needs=pass             only a build with a compiler's plugin knows what it needs to (the language, inline assembly)
  cpu=avx512f            a feature without which the program cannot run (it is then skipped, and counted)
  tools=deadheat,tsan    the tools that know what it calls
  both=no                run and record cannot be held equal on it; the comment says why
  both=racy              the same of its safe twin: it is safe by what a trace does not say

Marks, in comments on the exact line; an id tells several races of one program apart:

  RACE! id    one side of a true race; some finding has both its sides on lines of that id, and every such line is in one
  RACE? id    also a true side of it, but another pair may stand for it
  MISS reason a true race that is not found today
  NORACE why  tempting, but no race: a finding here is a false one
"""
import os
import re

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
MARK = re.compile(r"//\s*(RACE!|RACE\?|MISS|NORACE)\s*([^/]*)")
KEYS = {"std", "flags", "libs", "plain", "plain_object", "instrumented", "needs", "cpu", "tools", "both"}
LISTS = {"flags", "libs", "plain", "plain_object", "instrumented", "tools", "cpu"}


class SuiteError(Exception):
    """A program's header or annotations make no sense."""


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def parse_header(path, text):
    found = {}
    for line in text.splitlines():
        if not line.startswith("//"):
            break
        if "build:" in line and not line.startswith("// build:"):
            raise SuiteError(f"{path}: '// build:' must begin its line")
        if line.startswith("// build:"):
            for word in line.split(":", 1)[1].split():
                key, _, value = word.partition("=")
                if key not in KEYS or not value:
                    raise SuiteError(f"{path}: unknown build word '{word}' (there are {', '.join(sorted(KEYS))})")
                found[key] = value.split(",") if key in LISTS else value
    return found


def parse_marks(text):
    """[(line, mark, rest)] of one file."""
    return [(number, mark, rest.strip()) for number, line in enumerate(text.splitlines(), 1)
            for mark, rest in MARK.findall(line)]


class Source:
    """One file, two programs."""

    def __init__(self, name, top=HERE):
        self.name = name  # relative to the suite
        self.top = top
        text = read(os.path.join(top, name))
        self.header = parse_header(name, text)
        self.language = "c++" if name.endswith(".cc") else "c"
        self.races = {}     # id -> {(file, line)} that must be seen
        self.lines = {}     # id -> {(file, line)} that may be seen
        self.misses = {}    # id -> reason
        self._collect(name, text, ids=None)
        # A library's marks count for the programs that name their ids.
        for library in self.header.get("instrumented", []):
            self._collect(library, read(os.path.join(top, library)), ids=set(self.races))
        if not self.races and not self.misses:
            raise SuiteError(f"{name}: no line is marked RACE! or MISS")

    def _collect(self, name, text, ids):
        for line, mark, rest in parse_marks(text):
            if mark == "NORACE" or (ids is not None and rest not in ids):
                continue
            if mark == "MISS":
                if not rest:
                    raise SuiteError(f"{name}:{line}: MISS without its reason")
                self.misses.setdefault(f"miss {line}", rest)
                self.lines.setdefault("MISS", set()).add((name, line))
                continue
            self.lines.setdefault(rest, set()).add((name, line))
            self.races.setdefault(rest, set())
            if mark == "RACE!":
                self.races[rest].add((name, line))


def sources(top=HERE, patterns=()):
    libraries, names = set(), []
    for folder, _, files in os.walk(top):
        for file in files:
            if file.endswith((".c", ".cc")):
                names.append(os.path.relpath(os.path.join(folder, file), top))
    for name in names:
        header = parse_header(name, read(os.path.join(top, name)))
        libraries.update(*(header.get(key, []) for key in ("plain", "plain_object", "instrumented")))
    wanted = [name for name in sorted(names) if name not in libraries]
    if patterns:
        wanted = [name for name in wanted if any(pattern in name for pattern in patterns)]
    return [Source(name, top) for name in wanted]


def cpu_features():
    for line in read("/proc/cpuinfo").splitlines():
        if line.startswith("flags"):
            return set(line.split(":", 1)[1].split())
    return set()

"""Building a program, finding its candidates, and running trials of it (abi/trial.md), for bench/power and bench/stories.

Trials are driven by their files directly: a campaign stops at what it finds, and here every trial counts.
"""
import collections
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))

from limited import limited  # noqa: E402

DEADLOCK = 75  # exit status of a trial that proved one
REFUSED = 77

Trial = collections.namedtuple("Trial", "status timed_out races counters stderr")


class Failed(Exception):
    """A program could not be built, or a tool did not do its work."""


class Build:
    """A build of Deadheat, and what it makes of a source."""

    def __init__(self, path):
        self.path = os.path.abspath(path)
        self.deadheat = os.path.join(self.path, "apps/deadheat")
        self.modes = os.path.join(self.path, "lib/deadheat")

    def missing(self):
        for path in (self.deadheat, os.path.join(self.path, "apps/deadheat-c++"), os.path.join(self.modes, "schedule")):
            if not os.path.exists(path):
                return path
        return None

    def compile(self, source, program, flags):
        environment = dict(os.environ, DEADHEAT_CC=os.environ.get("DEADHEAT_CC", "clang-19"))
        compiled([os.path.join(self.path, "apps/deadheat-c++"), *flags, source, "-o", program], environment)


def compiled(command, environment=None):
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if done.returncode != 0:
        raise Failed(f"{' '.join(command)}\n{done.stderr}")


def clean_environment(**more):
    environment = {name: value for name, value in os.environ.items()
                   if name not in ("TSAN_OPTIONS", "DEADHEAT_OPTIONS", "LD_LIBRARY_PATH", "LD_PRELOAD")}
    return dict(environment, **more)


def tool(command, timeout=120):
    """A verb of Deadheat that writes findings: 0 or 66 are well; the program's own failure is too."""
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=timeout, env=clean_environment())
    except subprocess.TimeoutExpired as late:
        raise Failed(f"{' '.join(command)}: not done after {timeout} s") from late


def read_findings(path):
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)["findings"]
    except (OSError, ValueError, KeyError) as problem:
        raise Failed(f"{path}: {problem}") from problem


def sites(finding):
    """The candidate's sites as lines of a trial, sorted: also what makes two findings the same."""
    return tuple(sorted(f"site {role} {pc} {side['site'].get('build_id') or '-'} {side['site']['module']}"
                        for role, side in enumerate(finding["roles"]) for pc in side["site"].get("pcs", [])))


def pair(finding):
    return frozenset(frozenset(line.split(" ", 2)[2] for line in sites(finding) if line.split()[1] == role) for role in ("0", "1"))


class Finder:
    """Candidates of a program: `deadheat run`, and the engines over recordings. Several recordings see more of what can
    happen than one, since each shows only what this execution did."""

    def __init__(self, build, command, folder, recordings):
        self.build, self.command, self.folder, self.recordings = build, command, folder, recordings
        self.traces = []

    def path(self, name):
        return os.path.join(self.folder, name)

    def record(self):
        for number in range(self.recordings):
            trace = self.path(f"{number}.dht")
            if not os.path.exists(trace):
                tool([self.build.deadheat, "record", "--timeout", "60", "-o", trace, "--", *self.command])
            if not os.path.exists(trace):
                raise Failed(f"no trace of {' '.join(self.command)}")
            self.traces.append(trace)

    def run(self):
        out = self.path("run.json")
        tool([self.build.deadheat, "run", "--timeout", "60", "--findings", out, "--format", "json", "-o", os.devnull, "--",
              *self.command])
        return read_findings(out)

    def analyze(self, engine):
        found = []
        for number, trace in enumerate(self.traces):
            out = self.path(f"{engine}.{number}.json")
            tool([self.build.deadheat, "analyze", "--engine", engine, "--findings", out, "--format", "json", "-o", os.devnull, trace])
            found += read_findings(out)
        return found


def distinct(findings):
    """Each pair of sites once. What a recorder itself writes (the mark of a fresh block) is nobody's access."""
    kept = {}
    for finding in findings:
        if all(side["site"].get("pcs") for side in finding["roles"]):
            kept.setdefault(pair(finding), finding)
    return list(kept.values())


class Runner:
    """Runs trials of one program. One at a time: a folder of its own holds their files."""

    def __init__(self, build, command, timeout):
        self.build, self.command, self.timeout = build, command, timeout
        self.folder = tempfile.mkdtemp(prefix="trials", dir="/dev/shm" if os.path.isdir("/dev/shm") else None)

    def close(self):
        shutil.rmtree(self.folder, ignore_errors=True)

    def trial(self, strategy, seed, lines=(), depth=0, length=0):
        request, raw = os.path.join(self.folder, "trial"), os.path.join(self.folder, "raw")
        with open(request, "w", encoding="utf-8") as file:
            file.write(f"deadheat-trial 1\nstrategy {strategy}\nseed {seed}\n")
            if strategy == "pct":
                file.write(f"depth {depth}\nlength {length}\n")
            file.writelines(line + "\n" for line in lines)
        with open(raw, "w", encoding="ascii"):
            pass
        environment = clean_environment(LD_LIBRARY_PATH=os.path.join(self.build.modes, "schedule"),
                                        DEADHEAT_OPTIONS=f"trial_path={request}:raw_path={raw}:exitcode=0")
        status, stderr = limited(self.command, self.timeout, env=environment)
        races, counters = [], {}
        with open(raw, encoding="utf-8", errors="replace") as file:
            for line in file:
                told = json.loads(line)
                if told.get("t") == "race":
                    races.append(told)
                if told.get("t") == "end":
                    counters = {entry["name"]: entry["value"] for entry in told.get("counters", [])}
        if status == REFUSED:
            raise Failed(f"{' '.join(self.command)}: the trial was refused: {stderr[-300:]}")
        return Trial(status, status is None, races, counters, stderr)

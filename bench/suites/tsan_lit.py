"""compiler-rt, test/tsan: programs with lit's RUN lines and FileCheck's CHECK lines.

A test is taken up to its first run: what comes before builds it, the run's CHECK lines are the label. It is racy if they
expect a data race (or its RUN line a run that fails), safe if they expect no report. A test of something else (another kind of report, another system, the
instrumentation's code) is skipped, with the reason.
"""
import os
import re
import shlex

from program import Program, Skipped

SKIPPED_FOLDERS = {"Darwin": "Darwin", "libdispatch": "libdispatch", "Unit": "unit tests"}
# What a test asks for that is no question about data races on this system.
OTHER_SUBJECTS = (
    (re.compile(r"REQUIRES:.*(darwin|disabled|sunrpc)"), "needs another system"),
    (re.compile(r"__tsan_(create|switch_to)_fiber"), "fibers"),
    (re.compile(r"__tsan_java_|\"java.h\""), "Java interface"),
    (re.compile(r"__interceptor_"), "calls ThreadSanitizer's interceptors by their names"),
    (re.compile(r"detect_deadlocks=|deadlock:"), "deadlocks"),
    (re.compile(r"__tsan_(on_report|get_report|locate_address|get_alloc_stack)"), "debugging interface"),
)
REPORT = re.compile(r"ThreadSanitizer: ([a-z][a-z -]*)")
# "reported N warnings" ends a racy run.
RACES = ("data race", "race on external object", "reported")


def run_lines(text):
    """The RUN lines, continued ones joined."""
    joined, pending = [], ""
    for line in re.findall(r"RUN:(.*)", text):
        line = line.strip()
        if line.endswith("\\"):
            pending += line[:-1] + " "
            continue
        joined.append((pending + line).strip())
        pending = ""
    return joined


def expected(text, prefixes):
    """The kinds of report that FileCheck lines with these prefixes ask for."""
    kinds = set()
    for prefix in prefixes:
        pattern = re.compile(r"(?<![\w-])" + re.escape(prefix) + r"(-NEXT|-SAME|-DAG|-LABEL)?:(.*)")
        for match in pattern.finditer(text):
            found = REPORT.search(match.group(2))
            if found:
                kinds.add(found.group(1).strip())
    return kinds


def split_at_first_run(lines):
    """The steps before the first run, and that run's command with its pipe."""
    before = []
    for line in lines:
        for step in line.split("&&"):
            if "%run" in step:
                return before, step.strip()
            before.append(step.strip())
    return before, None


def substitute(step, source, includes):
    flags = f"-gline-tables-only -Wno-everything -I{includes}"
    step = step.replace("%clangxx_tsan ", f"%cxx {flags} -std=c++11 ").replace("%clang_tsan ", f"%cc {flags} ")
    step = step.replace("%env_tsan_opts=", "env TSAN_OPTIONS=atexit_sleep_ms=0:").replace("%link_libcxx_tsan", "")
    step = step.replace("-fsanitize-blacklist=", "-fsanitize-ignorelist=").replace("%deflake", "")
    return re.sub(r"%s\b", shlex.quote(source), step)


def read_test(path, name, text):
    for pattern, subject in OTHER_SUBJECTS:
        if pattern.search(text):
            return Skipped("tsan", name, subject)
    lines = run_lines(text)
    if not lines:
        return Skipped("tsan", name, "no RUN line")
    before, run = split_at_first_run(lines)
    if run is None:
        return Skipped("tsan", name, "never run by lit")
    if "llvm-objdump" in " ".join(before):
        return Skipped("tsan", name, "tests the instrumentation's code")
    command, _, check = run.partition("|")
    prefixes = [p for value in re.findall(r"-check-prefix(?:es)?[= ](\S+)", check) for p in value.split(",")] or ["CHECK"]
    kinds = expected(text, [p.replace("%os", "Linux") for p in prefixes])
    if kinds and not any(kind.startswith(RACES) for kind in kinds):
        return Skipped("tsan", name, "expects another report: " + ", ".join(sorted(kinds)))
    # deflake.bash repeats a run until it fails, and only a report makes it fail.
    racy = bool(kinds) or "%deflake" in command
    includes = shlex.quote(os.path.dirname(os.path.dirname(path))) + f" -I{shlex.quote(os.path.dirname(path))}"
    if os.path.basename(os.path.dirname(path)) in ("Linux", "libcxx"):
        includes = shlex.quote(os.path.dirname(os.path.dirname(os.path.dirname(path))))
    command = re.sub(r"2>\s*&1", "", command)
    command = re.sub(r"^\s*not\s+", "", command)
    if "env " not in command and "%env_tsan_opts" not in command:
        command = "%env_tsan_opts= " + command
    build = " && ".join(substitute(step, path, includes) for step in before if step)
    return Program("tsan", name, racy, build, substitute(command, path, includes))


def read(root):
    tests = os.path.join(root, "test", "tsan")
    for folder, _, files in sorted(os.walk(tests)):
        part = os.path.relpath(folder, tests).split(os.sep)[0]
        for file in sorted(files):
            if not file.endswith((".c", ".cpp", ".cc", ".m", ".mm")):
                continue
            path = os.path.join(folder, file)
            name = os.path.relpath(path, tests)
            if part in SKIPPED_FOLDERS or file.endswith((".m", ".mm")):
                yield Skipped("tsan", name, SKIPPED_FOLDERS.get(part, "Darwin"))
                continue
            with open(path, encoding="utf-8", errors="replace") as source:
                yield read_test(path, name, source.read())

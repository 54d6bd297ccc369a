"""Runs a program under a tool and reads what it found.

A finding is a set of sites; a site is (file relative to the suite, line): the innermost frame that lies in the suite, so
that a race inside a library function counts for the line that called it. DRD names only one side of a race.
"""
import json
import os
import re
import resource
import subprocess
import xml.etree.ElementTree as ElementTree


class RunFailed(Exception):
    """The program or the tool did not end as it should."""


def site_of(frames, top):
    """frames: [(file, line)], innermost first."""
    for file, line in frames:
        if not file or not line:
            continue
        path = os.path.normpath(os.path.join(top, file))
        for start in (os.path.realpath(top), top):
            if path.startswith(start + os.sep) and os.path.exists(path):
                return os.path.relpath(path, start), int(line)
    return None


def finding(sites):
    return tuple(sorted({site for site in sites if site is not None}) or [("unknown", 0)])


def execute(command, timeout, **environment):
    env = {key: value for key, value in os.environ.items() if not key.startswith(("DEADHEAT_", "TSAN_"))}
    env.update(environment)
    # A racy program may crash under a tool; its core would only fill the disk.
    no_core = lambda: resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        return subprocess.run(command, capture_output=True, text=True, errors="replace", check=False, env=env,
                              timeout=timeout, stdin=subprocess.DEVNULL, preexec_fn=no_core)
    except subprocess.TimeoutExpired as late:
        raise RunFailed(f"still running after {timeout} s: {' '.join(command)}") from late


def tail(text, lines=15):
    return "\n".join(text.splitlines()[-lines:])


def expect_status(done, allowed):
    if done.returncode not in allowed:
        raise RunFailed(f"ended with {done.returncode}: {' '.join(done.args)}\n{tail(done.stdout + done.stderr)}")


# --- ours

def sites_of_json(path, top):
    """[(sites, finding as in findings.json)]."""
    with open(path, encoding="utf-8") as file:
        document = json.load(file)
    result = []
    for entry in document["findings"]:
        sites = []
        for index, role in enumerate(entry["roles"]):
            frames = [(role["site"].get("file"), role["site"].get("line"))]
            for evidence in [*entry.get("evidence", []), *entry.get("suspicions", [])]:
                accesses = evidence.get("accesses", [])
                if index < len(accesses):
                    frames += [(f.get("file"), f.get("line")) for f in accesses[index].get("stack", [])]
            sites.append(site_of(frames, top) or ("unknown", 0))
        result.append((finding(sites), entry))
    return result


def run_deadheat(tool, program, folder, top, timeout):
    findings = os.path.join(folder, "findings.json")
    command = [tool.deadheat, "run", "--findings", findings, "--strip-path-prefix", top, "--", program]
    done = execute(command, timeout)
    expect_status(done, (0, 66))
    found = [sites for sites, _ in sites_of_json(findings, top)]
    if (done.returncode == 66) != bool(found):
        raise RunFailed(f"{len(found)} findings, but the exit code is {done.returncode}: {' '.join(command)}")
    return found


# --- ThreadSanitizer

TSAN_OPTIONS = ("exitcode=66 report_thread_leaks=0 report_signal_unsafe=0 report_mutex_bugs=0 detect_deadlocks=0 "
                "die_after_fork=0 history_size=7 suppress_equal_addresses=0 suppress_equal_stacks=0 atexit_sleep_ms=0")
TSAN_FRAME = re.compile(r"^\s+#\d+ .*? (\S+?):(\d+)(?::\d+)?(?: \(|$)")
TSAN_SIDE = re.compile(r"^  (?:Previous |)(?:[Aa]tomic )?(?:[Rr]ead|[Ww]rite) of size", re.M)


def parse_tsan(text, top):
    found = []
    for block in re.split(r"^=+$", text, flags=re.M):
        if not re.search(r"WARNING: ThreadSanitizer: (data race|race on|heap-use-after-free)", block):
            continue
        sides, frames = [], None
        for line in block.splitlines():
            if TSAN_SIDE.match(line):
                frames = []
                sides.append(frames)
            elif line.strip() == "" or (line.startswith("  ") and not line.startswith("    ")):
                frames = None
            elif frames is not None and (match := TSAN_FRAME.match(line)):
                frames.append((match[1], match[2]))
        found.append(finding([site_of(side, top) for side in sides]))
    return found


def run_tsan(tool, program, folder, top, timeout):
    # gcc 12's runtime does not start with this much address space randomisation.
    prefix = ["setarch", "-R"] if tool.compiler == "gcc" else []
    log = os.path.join(folder, "tsan")
    done = execute([*prefix, program], timeout,
                   TSAN_OPTIONS=f"{TSAN_OPTIONS} log_path={log} external_symbolizer_path=/usr/bin/llvm-symbolizer-19"
                   if tool.compiler == "clang" else f"{TSAN_OPTIONS} log_path={log}")
    expect_status(done, (0, 66))
    text = ""
    for name in sorted(os.listdir(folder)):
        if name.startswith("tsan."):
            with open(os.path.join(folder, name), encoding="utf-8", errors="replace") as file:
                text += file.read() + "\n=====\n"
            os.unlink(os.path.join(folder, name))
    return parse_tsan(text, top)


# --- valgrind

def frames_of(stack):
    return [(os.path.join(frame.findtext("dir") or "", frame.findtext("file") or ""), frame.findtext("line"))
            for frame in stack.findall("frame") if frame.findtext("file")]


def parse_valgrind(path, top):
    found = []
    try:
        root = ElementTree.parse(path).getroot()
    except ElementTree.ParseError:  # a process that was replaced by exec leaves half a file
        return found
    for error in root.findall("error"):
        if error.findtext("kind") not in ("Race", "ConflictingAccess"):
            continue
        stacks = error.findall("stack")
        if error.findtext("kind") == "ConflictingAccess":
            stacks = stacks[:1]  # the rest says where segments begin and end
        sites = [site_of(frames_of(stack), top) for stack in stacks[:2]]
        if any(site and site[0] == "invisible.h" for site in sites):
            continue  # peek(), by design
        found.append(finding(sites))
    return found


def run_valgrind(tool, program, folder, top, timeout):
    log = os.path.join(folder, "valgrind.%p.xml")
    done = execute(["valgrind", f"--tool={tool.tool}", "--trace-children=yes", "--xml=yes", f"--xml-file={log}",
                    "--child-silent-after-fork=no", "--fair-sched=try", program], timeout)
    expect_status(done, (0,))
    found = []
    for name in sorted(os.listdir(folder)):
        if name.startswith("valgrind.") and name.endswith(".xml"):
            found += parse_valgrind(os.path.join(folder, name), top)
            os.unlink(os.path.join(folder, name))
    return found


RUNNERS = {"deadheat": run_deadheat, "tsan": run_tsan, "helgrind": run_valgrind, "drd": run_valgrind}


def detect(tool, program, folder, top, timeout):
    return RUNNERS[tool.tool](tool, program, folder, os.path.realpath(top), timeout)

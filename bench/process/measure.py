"""Running things beside each other: variants of a command, processor time of a tree of processes, ratios with their intervals."""
import json
import math
import os
import shutil
import subprocess
import tempfile
import time

# Two-sided 95% points of Student's t, by degrees of freedom.
STUDENT = [12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23, 2.20, 2.18, 2.16, 2.14, 2.13, 2.12, 2.11, 2.10, 2.09, 2.09]

TRACED = "trace=%file,%desc,%process,%network,%ipc,%signal"


def variants(record_bpf, deadheat, work):
    """Name -> the words before a command."""
    def folder():
        for earlier in os.listdir(work):
            if earlier.startswith("run-"):
                shutil.rmtree(os.path.join(work, earlier))
        return tempfile.mkdtemp(prefix="run-", dir=work) + "/r"

    return {
        "native": lambda: [],
        "bpf": lambda: [record_bpf, folder(), "--"],
        "ptrace": lambda: [deadheat, "proc", "record", "--in-place", "--host-network", "-o", folder(), "--"],
        "strace -f": lambda: ["strace", "-f", "-qq", "-o", folder()],
        "strace --seccomp-bpf": lambda: ["strace", "-f", "-qq", "--seccomp-bpf", "-e", TRACED, "-o", folder()],
    }


def interval(ratios):
    """Geometric mean of paired ratios, and its 95% interval."""
    logs = [math.log(one) for one in ratios]
    mean = sum(logs) / len(logs)
    if len(logs) < 2:
        return math.exp(mean), float("nan"), float("nan")
    deviation = math.sqrt(sum((one - mean) ** 2 for one in logs) / (len(logs) - 1))
    half = STUDENT[min(len(logs) - 2, len(STUDENT) - 1)] * deviation / math.sqrt(len(logs))
    return math.exp(mean), math.exp(mean - half), math.exp(mean + half)


def said(path):
    """The counters that record_bpf prints last; nothing from the others."""
    with open(path, encoding="utf-8", errors="replace") as file:
        for line in reversed(file.read().splitlines()):
            if line.startswith('{"events"'):
                return json.loads(line)
    return {}


def run_command(words, directory, log):
    """Seconds on the clock, seconds of processor time of the whole tree (the recorder's too), counters."""
    with open(log, "w", encoding="utf-8") as errors:
        begin = time.monotonic()
        process = subprocess.Popen(words, cwd=directory, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=errors)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.monotonic() - begin
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        with open(log, encoding="utf-8", errors="replace") as file:
            raise RuntimeError(f"{words} ended with {process.returncode}: {file.read()[-500:]}")
    return seconds, usage.ru_utime + usage.ru_stime, said(log)


def tree(root):
    """PIDs of a process and all its descendants."""
    children = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as file:
                    parent = int(file.read().rsplit(")", 1)[1].split()[1])
            except OSError:
                continue
            children.setdefault(parent, []).append(int(name))
    found, todo = [], [root]
    while todo:
        one = todo.pop()
        found.append(one)
        todo += children.get(one, [])
    return found


def tree_seconds(root):
    """Processor time of the tree so far: what its tasks used (exact), and what their reaped children did (in ticks of 10 ms)."""
    total = 0
    for pid in tree(root):
        try:
            for task in os.listdir(f"/proc/{pid}/task"):
                with open(f"/proc/{pid}/task/{task}/schedstat", encoding="ascii") as file:
                    total += int(file.read().split()[0]) / 1e9
            with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
                fields = file.read().rsplit(")", 1)[1].split()
            total += (int(fields[13]) + int(fields[14])) / os.sysconf("SC_CLK_TCK")
        except OSError:
            continue
    return total


def stop(process):
    process.terminate()
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()

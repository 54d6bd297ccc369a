#!/usr/bin/env python3
"""deadheat analyze on events that cannot be (a lock released by a thread that does not hold it): one line each, with the exact
place in the trace, in every format, however deep.

analyze_test.py DEADHEAT FOLDER
"""
import os
import pathlib
import struct
import subprocess
import sys

deadheat, folder = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2])
folder.mkdir(parents=True, exist_ok=True)
os.chdir(folder)
failures = 0
EVENTS = 300_000  # enough for several chunks of T1
ODD = 200_000
CHUNK = struct.Struct("<IHHIIQIIIIQQIIQQQQII")  # dht_chunk_header


def run(*arguments, stdin=None):
    done = subprocess.run([deadheat, *arguments], input=stdin, capture_output=True, timeout=280)
    return done.stdout.decode() + done.stderr.decode()


def check_line(what, output, line):
    global failures
    if not any(shown.endswith(line) for shown in output.splitlines()):
        failures += 1
        print(f"FAILED: {what}\n--- expected a line that ends with\n{line}\n--- got\n{output}")


def deep_trace(name, first_line, release):
    """Writes a trace with an unmatched release; gives the release's event number and offset."""
    threads = [0, 2, 1, 1, 1, 1, 1, 1, 1, 1]
    lines = [f"T{threads[i % 10]}|{'rw'[i % 2]}(V{threads[i % 10]}{i * 7919 % 50_000})|{i * 31 % 1000}"
             for i in range(EVENTS)]
    lines[70_000] = "# 70,000 accesses"
    lines[ODD] = release
    text = "\n".join([first_line, *lines, ""])
    pathlib.Path(name).write_text(text)
    return ODD, text.index(release)


def chunk_offset(path, tid, stamp):
    """Of the chunk that holds the stamped event, by the format's description."""
    data = pathlib.Path(path).read_bytes()
    at, found, count = struct.unpack_from("<I", data, 12)[0], [], 0
    while at < len(data):
        header = CHUNK.unpack_from(data, at)
        if header[2] == 1 and header[8] == tid:
            count += 1
            if header[11] < stamp <= header[16]:
                found.append(at)
        at += header[5]
    assert len(found) == 1 and count > 1, (path, found, count)
    return found[0]


odd = "T1 releases a lock that it does not hold: L9"
for name, first_line, release in [
        ("plain.std", "T0|fork(T1)|1\nT0|fork(T2)|2", "T1|rel(L9)|77"),
        ("superset.txt", "# deadheat text 1\nT0|fork(T1)|1\nT0|fork(T2)|2", "T1|rel_shared(L9)|@/bin/x+0x10#00ab")]:
    number, offset = deep_trace(name, first_line, release)
    number += 2  # the forks; the comment in the middle is no event, and numbers start at 1
    line_number = ODD + 1 + len(first_line.split("\n"))
    line = f"event {number:,}, line {line_number} (offset {offset}): {odd}"
    check_line(name, run("analyze", name), line)
    check_line(f"{name} on one core", run("analyze", "--jobs", "1", name), line)
    check_line(f"{name}, hybrid", run("analyze", "--engine", "hybrid", name), line)
    check_line(f"{name} from a pipe", run("analyze", "-", stdin=pathlib.Path(name).read_bytes()), line)

    for packed in [], ["--zstd"]:
        run("trace", "convert", name, "total.dht", "--to", "container", *packed)
        line = f"event {number:,}, in the chunk at offset {chunk_offset('total.dht', 1, number)}: {odd}"
        check_line(f"{name} as a container {packed}", run("analyze", "total.dht"), line)
        check_line("from a pipe", run("analyze", "-", stdin=pathlib.Path("total.dht").read_bytes()), line)
        # Only synchronisation is stamped: two forks, then the release; accesses move before it.
        run("trace", "convert", name, "partial.dht", "--to", "container", "--partial", *packed)
        line = f", in the chunk at offset {chunk_offset('partial.dht', 1, 3)}: {odd}"
        check_line(f"{name} as a partial container {packed}", run("analyze", "partial.dht"), line)

print("failures:", failures)
sys.exit(1 if failures else 0)

#!/usr/bin/python3
"""All of the kernel is watched at 10% for ten minutes under four loads, in the machine of tools/vm: it must stay up, without
a word in dmesg, and every load must have been sampled. Part of ./test --full (bench/regenerate).

usage: soak_test.py DEADHEAT FOLDER [--seconds 150 of each load] [--budget 10%]; FOLDER keeps the compiled module.
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.realpath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
VM = os.path.join(ROOT, "tools", "vm")
LOADS = ("sockets", "pipes", "names", "tasks")
CANNOT_RUN = 77
COMPLAINT = re.compile(r".*(?:WARNING:|BUG|Oops|Kernel panic|detected stalls|soft lockup|NMI received for unknown|list_(?:add|del) corruption).*")


def built(folder):
    made = subprocess.run([VM, "--build", os.path.join(ROOT, "kernel", "kmod"), os.path.join(folder, "kmod"), "--flag",
                           "DEADHEAT_ROOT=" + ROOT], capture_output=True, text=True, check=False)
    if made.returncode != 0:
        print(made.stderr if "does not compile" in made.stderr else "skipped: " + made.stderr.strip())
        sys.exit(1 if "does not compile" in made.stderr else CANNOT_RUN)
    load = os.path.join(folder, "load")
    subprocess.run(["cc", "-O2", "-static", "-pthread", os.path.join(ROOT, "bench", "watch", "kernel", "load.c"), "-o", load],
                   check=True)
    return os.path.join(folder, "kmod", "deadheat.ko"), load


def soak(options, out):
    module, load = built(options.folder)
    # Decoding a whole kernel and taking the last breakpoints away is not part of the time, and slow on a busy host.
    run = subprocess.run([VM, "--timeout", str(4 * options.seconds * 2 + 240), "--out", out, "--program",
                          os.path.abspath(options.deadheat), "--file", module, "--file", load, "--file",
                          os.path.join(HERE, "soak.sh"), "--", "sh", "soak.sh", str(options.seconds), options.budget],
                         capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    if run.returncode == CANNOT_RUN:
        print("skipped: " + run.stderr.strip())
        sys.exit(CANNOT_RUN)
    return run


def problems(options, run, out):
    found = []
    if run.returncode != 0:
        found.append(f"the machine ended with {run.returncode}:\n" + (run.stdout + run.stderr)[-3000:])
    for name in LOADS:
        path = os.path.join(out, name + ".json")
        if not os.path.exists(path):
            found.append(f"the watch under {name} did not end")
            continue
        with open(path, encoding="utf-8") as file:
            counters = {c["name"]: c["value"] for c in json.load(file)["origins"][0]["counters"]}
        print(f"{name}: {counters['kernel_samples']} samples of {counters['sites_sampled']} instructions, "
              f"{counters['kernel_hits']} hits, {counters['kernel_armed_fully']} fully armed, "
              f"{counters['kernel_touches']} touches", flush=True)
        if counters["kernel_samples"] < max(10, 100 * options.seconds // 150) or counters["kernel_armed_fully"] == 0:
            found.append(f"nothing was watched under {name}")
    dmesg = os.path.join(out, "dmesg")
    if os.path.exists(dmesg):
        with open(dmesg, encoding="utf-8", errors="replace") as file:
            found += COMPLAINT.findall(file.read())
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("deadheat")
    parser.add_argument("folder")
    parser.add_argument("--seconds", type=int, default=150)
    parser.add_argument("--budget", default="10%")
    options = parser.parse_args()
    os.makedirs(options.folder, exist_ok=True)
    with tempfile.TemporaryDirectory() as out:
        run = soak(options, out)
        found = problems(options, run, out)
    for one in found:
        print(one)
    print(f"soak of {4 * options.seconds} s: " + ("failed" if found else "nothing in dmesg"))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

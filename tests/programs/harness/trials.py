"""Every program under the scheduler: whatever the strategy it ends as it does without, and its decisions repeat.

A trial is asked for by hand (abi/trial.md): what is tested is the mode library, not the campaign around it.
"""
import json
import os
import shutil

from harness import builders, detectors, suite
from harness.checks import in_parallel

STRATEGIES = ("serial", "random", "race_directed", "pct", "pos")
SEED = 7


class TrialFailed(Exception):
    pass


def run_trial(library, program, folder, strategy, timeout, follow=None):
    """Status, raw lines by kind, counters, and where the log of decisions is."""
    request, raw, log = (os.path.join(folder, f"{strategy}.{name}") for name in ("trial", "raw", "log"))
    lines = ["deadheat-trial 1", f"strategy {strategy}", f"seed {SEED}", f"decisions {log}"]
    if follow:
        lines.append(f"follow {follow}")
    with open(request, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    if os.path.exists(raw):
        os.remove(raw)
    options = f"trial_path='{request}':raw_path='{raw}':atexit_sleep_ms=0"
    done = detectors.execute([program], timeout, DEADHEAT_OPTIONS=options, LD_LIBRARY_PATH=library)
    with open(raw, encoding="utf-8") as file:
        found = [json.loads(line) for line in file]
    counters = {entry["name"]: entry["value"] for line in found if line["t"] == "end" for entry in line["counters"]}
    return done, [line["t"] for line in found], counters, log


def controlled(counters):
    """Nothing came from outside that a repetition cannot bring about, or be spared."""
    return not any(counters.get(name) for name in ("uncontrolled", "outside", "signals"))


def check(tool, source, safe, folder, timeout):
    program = tool.build(source, safe, folder)
    library = os.path.join(os.path.dirname(tool.deadheat), "../lib/deadheat/schedule")
    usual = detectors.execute([program], timeout, DEADHEAT_OPTIONS="exitcode=0:log_path=/dev/null:atexit_sleep_ms=0")
    repeated = True
    for strategy in STRATEGIES:
        done, kinds, counters, log = run_trial(library, program, folder, strategy, timeout)
        if done.returncode != usual.returncode or {"deadlock", "crash"} & set(kinds):
            raise TrialFailed(f"{strategy}: status {done.returncode} instead of {usual.returncode}, {kinds}\n{done.stderr}")
        if strategy == "random" and controlled(counters):
            again, kinds, counters, _ = run_trial(library, program, folder, "replay", timeout, follow=log)
            repeated = "diverged" not in kinds or not controlled(counters)
            if again.returncode != done.returncode:
                raise TrialFailed(f"replay: status {again.returncode} instead of {done.returncode}")
    return repeated


def schedule(options, tool, sources, work):
    def one(item):
        source, safe = item
        folder = os.path.join(work, "trials", os.path.splitext(source.name)[0], "safe" if safe else "racy")
        shutil.rmtree(folder, ignore_errors=True)
        try:
            return item, check(tool, source, safe, folder, options.timeout), ""
        except (builders.BuildFailed, detectors.RunFailed, TrialFailed, OSError, ValueError) as failure:
            return item, None, str(failure)

    features = suite.cpu_features()
    able = [(source, safe) for source in sources for safe in (False, True)
            if all(name in features for name in source.header.get("cpu", []))]
    good = diverged = 0
    for (source, safe), repeated, problem in in_parallel(options.jobs, one, able):
        good += bool(repeated)
        diverged += repeated is False
        if repeated is None or repeated is False:
            print(f"{'broken' if repeated is None else 'diverged'}  {source.name} {'safe' if safe else 'racy'}")
            if problem:
                print("    " + problem.replace("\n", "\n    "), flush=True)
    print(f"{good} of {len(able)} programs end as ever under {len(STRATEGIES)} strategies and repeat; {diverged} did not repeat")
    return good == len(able)

"""Two checks that compare our own findings with each other instead of with the annotations.

run-vs-record: `deadheat run` and `deadheat record` + `deadheat analyze --engine hb` name the same pairs of lines.
identity: the same race keeps its identity across compilers, optimisation and edits elsewhere in the file, and no two
different ones become one.
"""
import concurrent.futures
import itertools
import json
import os
import shutil

from harness import builders, detectors, judge, suite

# A build of each kind; the last is made after every source was edited.
BUILDS = (("gcc", "O0", False), ("gcc", "O2", False), ("clang", "O0", False), ("clang", "O2", False),
          ("clang", "O2", True))
SAME_AT_LEAST = 0.95  # of all programs; measured 95.1%
SAME_IN_PART = 0.90  # parts differ (a sixth had 94.9%): one with many lambdas and OpenMP regions has less


def in_parallel(jobs, function, items):
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        yield from pool.map(function, items)


# --- run against record and analyze

def hides(source):
    """Parts of it synchronise invisibly."""
    return bool({"plain", "plain_object"} & source.header.keys())


def both_ways(tool, source, safe, folder, timeout):
    """The two sets of findings of one program."""
    program = tool.build(source, safe, folder)
    top = os.path.realpath(source.top)
    live, trace, later = (os.path.join(folder, name) for name in ("live.json", "trace", "later.json"))
    # hb knows no regions; so that both know the same, neither looks at them.
    missing = ["--missing", "ignore"] if hides(source) else []
    for command in ([tool.deadheat, "run", *missing, "--findings", live, "--", program],
                    [tool.deadheat, "record", "-o", trace, "--", program],
                    [tool.deadheat, "analyze", "--engine", "hb", "--findings", later, trace]):
        detectors.expect_status(detectors.execute(command, timeout), (0, 66))
    # A line that only may stand for a race (RACE?) may do so for the one and not for the other.
    optional = set().union(*source.lines.values()) - set().union(*source.races.values())
    return [{sites for sites, _ in detectors.sites_of_json(path, top) if not optional.intersection(sites)}
            for path in (live, later)]


def run_vs_record(options, tool, sources, work):
    def compare(item):
        source, safe = item
        folder = os.path.join(work, "both", os.path.splitext(source.name)[0], "safe" if safe else "racy")
        shutil.rmtree(folder, ignore_errors=True)
        try:
            return item, both_ways(tool, source, safe, folder, options.timeout), ""
        except (builders.BuildFailed, detectors.RunFailed, OSError, ValueError) as failure:
            return item, None, str(failure)

    features = suite.cpu_features()
    # hb knows no regions: where they carry the order, what looks unordered is a matter of luck.
    variants = {"both": (False, True), "racy": (False,), "safe": (True,)}[options.variant]
    able = [(source, safe) for source in sources for safe in variants
            if source.header.get("both") != "no" and "needs" not in source.header
            and not (safe and (source.header.get("both") == "racy" or hides(source)))
            and all(name in features for name in source.header.get("cpu", []))]
    equal = 0
    for (source, safe), sets, problem in in_parallel(options.jobs, compare, able):
        name = f"{source.name} {'safe' if safe else 'racy'}"
        if sets is not None and sets[0] == sets[1]:
            equal += 1
            print(f"equal   {len(sets[0])}  {name}", flush=True)
            continue
        print(f"{'broken' if sets is None else 'unequal'}  {name}")
        for word, only in () if sets is None else (("run", sets[0] - sets[1]), ("record", sets[1] - sets[0])):
            for sites in sorted(only):
                print(f"    only {word}: {judge.words(sites)}")
        if problem:
            print("    " + problem.replace("\n", "\n    "))
        print(f"    repeat: tests/programs/run --check run-vs-record --deadheat {os.path.relpath(options.deadheat)} "
              f"--compiler {options.compiler} --opt {options.opt} --variant {'safe' if safe else 'racy'} {source.name}", flush=True)
    print(f"{equal} of {len(able)} programs: run, and record with analyze, agree")
    return equal == len(able)


# --- identity

EDIT = "\n\n\nint unrelated_edit(int value);\nint unrelated_edit(int value) { return value + 1; }\n\n"


def edit_source(path):
    """Inserts text after the last include; returns (line after which, how many lines)."""
    lines = suite.read(path).splitlines(keepends=True)
    last = max(index for index, line in enumerate(lines) if line.startswith("#include"))
    lines.insert(last + 1, EDIT)
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(lines)
    return last + 1, EDIT.count("\n")


def label_of(source, entry, sites, moved):
    """What makes two findings the same race in truth: the program, the original lines, what is done there."""
    after, count = moved.get(source.name, (0, 0))
    original = [(file, line - count if file == source.name and line > after else line) for file, line in sites]
    kinds = sorted(role.get("access", "unknown") for role in entry["roles"])
    return source.name, tuple(sorted(original)), tuple(kinds)


def collect(tool, number, source, folder, timeout, moved):
    """Runs one racy program; writes its findings with evidence ids that say where each came from.
    Returns {evidence id: label}."""
    shutil.rmtree(folder, ignore_errors=True)
    program = tool.build(source, False, folder)
    top = os.path.realpath(source.top)
    detectors.run_deadheat(tool, program, folder, top, timeout)
    path = os.path.join(folder, "findings.json")
    labels = {}
    with open(path, encoding="utf-8") as file:
        document = json.load(file)
    known = detectors.sites_of_json(path, top)
    for index, (entry, (sites, _)) in enumerate(zip(document["findings"], known)):
        mark = f"{number}|{source.name}|{index}"
        entry["evidence"] = entry["evidence"][:1]
        entry["evidence"][0]["id"] = mark
        labels[mark] = label_of(source, entry, sites, moved)
    with open(path, "w", encoding="utf-8") as file:
        json.dump(document, file)
    return path, labels


def merge(deadheat, files, output, timeout):
    detectors.expect_status(detectors.execute([deadheat, "report", *files, "--findings", output], timeout), (0, 66))
    with open(output, encoding="utf-8") as file:
        return [[evidence["id"] for evidence in entry["evidence"]] for entry in json.load(file)["findings"]]


def count_matches(groups, labels):
    """(pairs of builds that have a race in common, those that merged, [labels wrongly in one])."""
    together, wrong = {}, []
    for index, marks in enumerate(groups):
        names = {labels[mark] for mark in marks}
        if len(names) > 1:
            wrong.append(sorted(names))
        for mark in marks:
            together.setdefault(labels[mark], {})[mark.split("|")[0]] = index
    pairs = same = 0
    apart = []
    for name, where in sorted(together.items()):
        for a, b in itertools.combinations(sorted(where), 2):
            pairs += 1
            if where[a] == where[b]:
                same += 1
            else:
                apart.append((name, a, b))
    return pairs, same, wrong, apart


def identity(options, sources, work):
    tree = os.path.join(work, "tree")
    shutil.rmtree(tree, ignore_errors=True)
    shutil.copytree(suite.HERE, tree, ignore=shutil.ignore_patterns("__pycache__", "harness", "run"))
    features = suite.cpu_features()
    names = [source.name for source in sources
             if "needs" not in source.header and all(n in features for n in source.header.get("cpu", []))]
    files, labels, moved, good = [], {}, {}, True
    for number, (compiler, opt, edited) in enumerate(BUILDS):
        if edited:
            moved = {name: edit_source(os.path.join(tree, name)) for name in names}
        tool = builders.Builder("deadheat", compiler, opt, options.deadheat)

        def gather(name, tool=tool, number=number):
            folder = os.path.join(work, "identity", str(number), os.path.splitext(name)[0])
            try:
                return collect(tool, number, suite.Source(name, tree), folder, options.timeout, moved)
            except (builders.BuildFailed, detectors.RunFailed, OSError, ValueError) as failure:
                return name, str(failure)

        for path, found in in_parallel(options.jobs, gather, names):
            if isinstance(found, str):
                print(f"broken  {path} with {compiler} -{opt}\n    " + found.replace("\n", "\n    "), flush=True)
                good = False
                continue
            files.append(path)
            labels.update(found)
    groups = merge(options.deadheat, files, os.path.join(work, "merged.json"), 600)
    pairs, same, wrong, apart = count_matches(groups, labels)
    for (name, lines, kinds), a, b in apart:
        words = [" ".join(BUILDS[int(n)][:2]) + (" edited" if BUILDS[int(n)][2] else "") for n in (a, b)]
        print(f"apart   {judge.words(lines)} ({', '.join(kinds)}): {words[0]} / {words[1]}")
    for group in wrong:
        print("merged  " + "  WITH  ".join(f"{judge.words(lines)} ({', '.join(kinds)})" for _, lines, kinds in group))
    share = same / pairs if pairs else 0.0
    least = SAME_AT_LEAST if options.shard.endswith("/1") else SAME_IN_PART
    print(f"{len(labels)} findings of {len(BUILDS)} builds: {same} of {pairs} pairs of builds agree ({share:.1%}, at least "
          f"{least:.0%} wanted), {len(wrong)} wrong merges")
    return good and share >= least and not wrong

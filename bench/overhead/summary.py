"""From measured rows to the table: slowdown against native, ours against ThreadSanitizer's, geometric means.

A row is {program, threads, compiler, tool, cpu_s, wall_s, rss_mb}; tool is native, tsan or deadheat. Rows of one program,
number of threads and compiler belong together; a row with only wall or only CPU time gives only that ratio.
"""
import csv
import math

COLUMNS = ("program", "threads", "compiler", "tool", "cpu_s", "wall_s", "rss_mb", "runs")
MEASURES = ("cpu_s", "wall_s", "rss_mb")


def read_rows(path):
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


def read_real_rows(path):
    """The same of bench/real, whose column `way` is native or TOOL-COMPILER; its native build stands beside both compilers."""
    rows = []
    for row in read_rows(path):
        tool, _, compiler = row["way"].partition("-")
        for family in (compiler,) if compiler and tool != "native" else ("clang", "gcc"):
            rows.append({**row, "tool": tool, "compiler": family})
    return rows


def groups_of(rows):
    """{(program, threads, compiler): {tool: row}}, in order of appearance; only where there is something to compare."""
    groups = {}
    for row in rows:
        if row.get("tool") in ("native", "tsan", "deadheat"):
            groups.setdefault((row["program"], row.get("threads", ""), row["compiler"]), {})[row["tool"]] = row
    return {key: group for key, group in groups.items() if {"tsan", "deadheat"} <= group.keys()}


def ratio(group, measure, tool, against):
    try:
        return float(group[tool][measure]) / float(group[against][measure])
    except (KeyError, ValueError, TypeError, ZeroDivisionError):
        return None


def geometric_mean(values):
    values = [value for value in values if value]
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


def shown(value, form="{:.2f}"):
    return "" if value is None else form.format(value)


def table(rows):
    """The lines of a Markdown table, a row for each program, number of threads and compiler, then means for each compiler."""
    groups = groups_of(rows)
    lines = ["| program | threads | compiler | ThreadSanitizer, CPU | Deadheat, CPU | **ratio** | wall | memory |",
             "|---|---|---|---|---|---|---|---|"]
    for (program, threads, compiler), group in groups.items():
        ratios = [shown(ratio(group, measure, "deadheat", "tsan")) for measure in MEASURES]
        lines.append(f"| {program} | {threads} | {compiler} | {shown(ratio(group, 'cpu_s', 'tsan', 'native'), '{:.1f}')} | "
                     f"{shown(ratio(group, 'cpu_s', 'deadheat', 'native'), '{:.1f}')} | **{ratios[0]}** | {ratios[1]} | {ratios[2]} |")
    for compiler in sorted({key[2] for key in groups}):
        of = [group for key, group in groups.items() if key[2] == compiler]

        def mean(measure, tool, against, of=of):
            return geometric_mean(ratio(group, measure, tool, against) for group in of)
        ratios = [shown(mean(measure, "deadheat", "tsan")) for measure in MEASURES]
        lines.append(f"| **geometric mean** | | {compiler} | {shown(mean('cpu_s', 'tsan', 'native'), '{:.1f}')} | "
                     f"{shown(mean('cpu_s', 'deadheat', 'native'), '{:.1f}')} | **{ratios[0]}** | {ratios[1]} | {ratios[2]} |")
    return lines

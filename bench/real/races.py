"""Distinct races, ours and ThreadSanitizer's, in one form: an unordered pair of "function file:line".

A report of ThreadSanitizer counts by the innermost frame of the program in each of its two stacks: an access inside an interceptor
(memcpy, read) belongs to its caller, as it does in ours. A stack that was not kept is "?".
"""
import json
import os
import re

ACCESS = re.compile(r"^  (?:Previous )?(?:[Aa]tomic )?(?:[Rr]ead|[Ww]rite) of size \d+")
FRAME = re.compile(r"^    #\d+ (.+?) (/\S+?|[^\s<(][^\s(]*\.\w+?)(?::(\d+))?(?::\d+)? \(")  # no line: the compiler's own code
PLACE = re.compile(r"^    #\d+ ")
TOOL = re.compile(r"/(compiler-rt|libsanitizer)/|sanitizer_common")


def spell(function, path, line):
    function = re.sub(r"\(.*$|\.(isra|constprop|part|cold)\b.*$", "", function)
    return f"{function} {os.path.basename(path)}:{line or '?'}"


def of_tsan(text):
    races = {}
    for report in text.split("==================\n"):
        if "WARNING: ThreadSanitizer: data race" not in report:
            continue
        sides, inside = [], False
        for line in report.splitlines():
            if ACCESS.match(line):
                sides.append("?")
                inside = True
            elif inside and not PLACE.match(line):
                inside = False
            elif inside and sides[-1] == "?":
                frame = FRAME.match(line)
                if frame and not TOOL.search(frame.group(2)):
                    sides[-1] = spell(*frame.groups())
        races.setdefault(tuple(sorted(sides)), report)
    return races


def site_of(role):
    site = role.get("site", {})
    place = site.get("location", site)
    return spell(place.get("function", "?"), place.get("file", "?"), place.get("line", "?"))


def of_findings(path):
    """The same from a findings.json."""
    with open(path, encoding="utf-8") as source:
        document = json.load(source)
    return {tuple(sorted(site_of(role) for role in finding["roles"])): json.dumps(finding, indent=1)
            for finding in document["findings"] if finding["kind"] == "data_race"}


def stacks_of_tsan(text):
    """[reports, stacks that were not kept]."""
    return [text.count("WARNING: ThreadSanitizer: data race"), text.count("[failed to restore the stack]")]


def stacks_of_findings(path):
    """The same from a findings.json; every report has one earlier access."""
    with open(path, encoding="utf-8") as source:
        document = json.load(source)
    lost = sum(counter["value"] for origin in document["origins"] for counter in origin["counters"]
               if counter["name"] == "stacks_lost")
    return [sum(len(finding["evidence"]) for finding in document["findings"] if finding["kind"] == "data_race"), lost]

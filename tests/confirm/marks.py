"""What is true of a program, from its comments: `// RACE! name` on each side of a race, `// RACE? name` on a side that this program
may never reach. Two lines of one name race; a pair that is not marked so is no race.
"""
import os
import re

MARK = re.compile(r"//\s*(RACE!|RACE\?)\s*(\w+)")


def read(folder):
    """{(file, line): (must be found, name)} of all sources in the folder."""
    found = {}
    for file in sorted(os.listdir(folder)):
        with open(os.path.join(folder, file), encoding="utf-8") as source:
            for number, line in enumerate(source, 1):
                match = MARK.search(line)
                if match:
                    found[file, number] = (match.group(1) == "RACE!", match.group(2))
    return found


def places(finding):
    return [(os.path.basename(side["site"].get("file", "")), side["site"].get("line", 0)) for side in finding["roles"]]


def is_race(finding, truth):
    first, second = (truth.get(place, (False, None))[1] for place in places(finding))
    return first is not None and first == second

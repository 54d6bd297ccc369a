"""Compares what a tool found with what is true."""
from dataclasses import dataclass, field


@dataclass
class Result:
    source: object
    safe: bool
    outcome: str = ""       # true, missed, false, silent; skipped; broken
    found: int = 0          # races (ids) found
    missed: list = field(default_factory=list)   # what was not seen, in words
    strays: list = field(default_factory=list)   # findings that are no annotated race
    surprises: list = field(default_factory=list)  # MISS lines that were found after all
    why: str = ""
    seconds: float = 0.0

    @property
    def name(self):
        return f"{self.source.name} {'safe' if self.safe else 'racy'}"

    @property
    def good(self):
        return self.outcome in ("true", "silent", "skipped") and not self.surprises


def place(site):
    return f"{site[0]}:{site[1]}"


def words(sites):
    return " and ".join(place(site) for site in sites)


def judge(result, findings, both_sides):
    """Fills `result`. both_sides: the tool names both sites, so that every marked line can be asked for."""
    source = result.source
    seen = {race: set() for race in source.lines}
    for sites in sorted(set(findings)):
        owners = [race for race, lines in source.lines.items() if set(sites) <= lines]
        if result.safe or not owners:
            result.strays.append(words(sites))
        for race in owners:
            seen[race].update(sites)
    if not result.safe:
        for race, lines in sorted(source.races.items()):
            unseen = lines - seen[race]
            if not seen[race] or (both_sides and unseen):
                result.missed.append(f"{race or 'race'}: {words(sorted(unseen or lines))}")
            else:
                result.found += 1
        result.surprises = [words(sorted(seen[race])) for race in ("MISS",) if seen.get(race)]
    if result.strays:
        result.outcome = "false"
    elif result.safe:
        result.outcome = "silent"
    else:
        result.outcome = "missed" if result.missed else "true"
    return result

#!/usr/bin/python3
"""cli_test.py DEADHEAT REPORT_SAMPLE FOLDER: `deadheat report` from the outside: exit codes, formats, files, losses."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import xml.etree.ElementTree as tree

deadheat, sample, folder = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
failed = []


def run(*arguments, **environment):
    clean = {k: v for k, v in os.environ.items() if k not in ("GITHUB_ACTIONS", "NO_COLOR", "DEADHEAT_OPTIONS")}
    return subprocess.run([deadheat, "report", *arguments], cwd=folder, capture_output=True, text=True, timeout=280,
                          env={**clean, **environment}, check=False)


def expect(condition, what, result=None):
    if not condition:
        failed.append(what + (f" (rc {result.returncode}; {result.stdout[-300:]!r}; {result.stderr[-300:]!r})" if result else ""))


def main():
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    subprocess.run([sample, str(folder)], check=True)

    plain = run("bank.json")
    expect(plain.returncode == 66 and "HARMFUL" in plain.stdout and plain.stderr == "", "findings give 66", plain)
    expect("\x1b" not in plain.stdout and "::error" not in plain.stdout, "no colour, no annotations by default", plain)
    expect("12 events were dropped" in plain.stdout, "losses are shown", plain)
    none = run("empty.json")
    expect(none.returncode == 0 and "No races found in 1,204,331 events, 5 threads" in none.stdout, "nothing found is said", none)

    known = run("bank.json", "--baseline", "bank.json")
    expect(known.returncode == 0 and "No new races found" in known.stdout, "all known gives 0", known)
    fixed = run("empty.json", "--baseline", "bank.json")
    expect(fixed.returncode == 0 and "11 no longer seen" in fixed.stdout, "fixed ones are listed", fixed)
    (folder / "broken.json").write_text("{", encoding="utf-8")
    lost = run("bank.json", "--baseline", "broken.json", "--findings", "kept.json", "-o", "kept.html")
    expect(lost.returncode == 2 and "broken.json" in lost.stderr, "a broken baseline gives 2", lost)
    expect((folder / "kept.json").exists() and (folder / "kept.html").exists(), "nothing is lost over a broken baseline")
    expect("every finding counts as new" in (folder / "kept.html").read_text(encoding="utf-8"), "and the report says so")

    def with_findings(name, wanted, untried=0):
        document = json.loads((folder / "bank.json").read_text(encoding="utf-8"))
        document["findings"] = [one for one in document["findings"] if one["report"]["rank"] in wanted]
        document["origins"][0]["counters"] += [{"name": "not_run", "value": untried, "meaning": "orders were not tried: no time left",
                                                "is_untried": True}] if untried else []
        (folder / name).write_text(json.dumps(document), encoding="utf-8")
        return name

    candidates = with_findings("candidates.json", {"candidate"})
    observed = with_findings("observed.json", {"candidate", "observed"})
    partly = with_findings("partly.json", {"candidate"}, untried=17)
    for file, on, code in ((candidates, [], 66), (candidates, ["candidate"], 66), (candidates, ["race"], 0),
                           (candidates, ["race", "incomplete"], 0), (observed, ["race"], 66), (observed, ["harm"], 0),
                           ("bank.json", ["harm"], 66), (partly, ["race"], 0), (partly, ["race", "incomplete"], 75),
                           (partly, ["incomplete"], 66)):
        done = run(file, *[word for one in on for word in ("--fail-on", one)])
        expect(done.returncode == code, f"{file} --fail-on {on} gives {code}", done)
    done = run(partly, "--fail-on", "race")
    expect(done.stdout.endswith("\nIncomplete: 17 orders were not tried: no time left\n"), "the last line says what is missing", done)
    expect(run("bank.json", "--fail-on", "harmful").returncode == 2, "--fail-on takes four words")

    expect(run("bank.json", "--exit-code", "3").returncode == 3, "--exit-code")
    (folder / "all.supp").write_text("race:*\nfailure:*\n", encoding="utf-8")
    expect(run("bank.json", "--suppressions", "all.supp").returncode == 0, "suppressed gives 0")
    (folder / "past.supp").write_text("race:* until=2001-01-01\nrace:nobody\n", encoding="utf-8")
    past = run("bank.json", "--suppressions", "past.supp")
    expect(past.returncode == 66 and "past.supp:1: suppression expired" in past.stdout
           and "past.supp:2: suppression matched nothing" in past.stdout, "expired and unused are named", past)
    (folder / "typo.supp").write_text("\nrace_tpo:x\n", encoding="utf-8")
    typo = run("bank.json", "--suppressions", "typo.supp")
    expect(typo.returncode == 2 and "typo.supp:2" in typo.stderr and "race_top" in typo.stderr and "HARMFUL" in typo.stdout,
           "a misspelt line is explained and costs no report", typo)

    names = ["o.html", "o.sarif", "o.json", "o.xml", "o.txt", "o.log"]
    many = run("bank.json", *[part for name in names for part in ("-o", name)])
    expect(many.returncode == 66 and "races" in many.stderr and many.stdout == "", "formats by name", many)
    expect((folder / "o.html").read_text(encoding="utf-8").startswith("<!doctype html>"), "o.html")
    expect(json.loads((folder / "o.sarif").read_text(encoding="utf-8"))["version"] == "2.1.0", "o.sarif")
    expect(tree.parse(folder / "o.xml").getroot().tag == "testsuites", "o.xml")
    expect("SUMMARY: ThreadSanitizer: data race" in (folder / "o.log").read_text(encoding="utf-8"), "o.log")
    again = run("o.json", "-o", "p.json")
    expect(again.returncode == 66 and (folder / "o.json").read_bytes() == (folder / "p.json").read_bytes(), "json is a fixed point", again)
    pair = run("bank.json", "--format", "sarif", "-o", "x.out", "--format", "text")
    expect(pair.returncode == 66 and "HARMFUL" in pair.stdout and (folder / "x.out").exists(), "formats pair with outputs", pair)
    twice = run("bank.json", "--format", "json", "--format", "sarif")
    expect(twice.returncode == 2 and "standard output" in twice.stderr, "two reports on stdout", twice)
    odd = run("bank.json", "-o", "report.odd")
    expect(odd.returncode == 2 and "report.odd" in odd.stderr and "HARMFUL" in odd.stdout, "unknown ending", odd)
    dead = run("bank.json", "-o", "no/such/folder/a.html", "-o", "b.html")
    expect(dead.returncode == 2 and "no/such/folder" in dead.stderr and (folder / "b.html").exists(), "unwritable output", dead)

    hub = run("bank.json", GITHUB_ACTIONS="true")
    expect("::error " in hub.stdout and "HARMFUL" in hub.stdout, "annotations in GitHub Actions", hub)
    expect("\x1b[" in run("bank.json", "--color", "always").stdout, "--color always")

    merged = run("bank.json", "empty.json", "-o", "merged.json", "bank.json")
    expect(merged.returncode == 66, "several files", merged)
    expect(len(json.loads((folder / "merged.json").read_text(encoding="utf-8"))["findings"]) == 11, "merged by identity")
    gone = run("bank.json", "absent.json")
    expect(gone.returncode == 2 and "absent.json" in gone.stderr and "HARMFUL" in gone.stdout, "one of two unreadable", gone)
    expect(run("absent.json").returncode == 2, "none readable")
    bad = run("hostile.json")
    expect(bad.returncode == 66 and "\x1b" not in bad.stdout and "\x01" not in bad.stdout, "hostile names cannot drive a terminal", bad)

    # A findings file from elsewhere names any file; only sources below the root may be quoted.
    secret = folder.parent / "secret.cc"
    secret.write_text("s3cret\n" * 20, encoding="utf-8")
    (folder / "inside.cc").write_text("v1sible\n" * 20, encoding="utf-8")
    (folder / ".git").mkdir()
    for path, quoted in ((str(secret), False), ("../secret.cc", False), ("inside.cc", True)):
        text = (folder / "bank.json").read_text(encoding="utf-8").replace("/build/bank/src/bank.cc", path)
        (folder / "named.json").write_text(text, encoding="utf-8")
        page = run("named.json", "--format", "html")
        expect(("v1sible" in page.stdout) == quoted and "s3cret" not in page.stdout, f"source of {path}")

    print("\n".join(failed) or "report cli: ok")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()

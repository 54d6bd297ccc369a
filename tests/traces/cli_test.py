#!/usr/bin/env python3
"""deadheat trace info, cat and convert, as a user runs them: goldens, round trips, damaged files.

cli_test.py DEADHEAT FOLDER [--update]: --update rewrites the goldens.
"""
import json
import os
import pathlib
import subprocess
import sys

here = pathlib.Path(__file__).resolve().parent
deadheat, folder = sys.argv[1], pathlib.Path(sys.argv[2])
update = "--update" in sys.argv
folder.mkdir(parents=True, exist_ok=True)
os.chdir(folder)
failures = 0


def run(*arguments, stdin=None):
    done = subprocess.run([deadheat, "trace", *map(str, arguments)], input=stdin, capture_output=True, timeout=280)
    return done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")


def check(what, condition, detail=""):
    global failures
    if not condition:
        failures += 1
        print(f"FAILED: {what}\n{detail}")


def golden(name, text):
    path = here / "goldens" / name
    if update:
        path.write_text(text)
    expected = path.read_text() if path.exists() else "(no golden)"
    check(f"golden {name}", text == expected, f"--- expected\n{expected}--- got\n{text}")


sample = (here / "sample.std").read_text()
pathlib.Path("sample.std").write_text(sample)

# Text, container, text: the same, compressed or not, and from a pipe.
code, out, err = run("convert", "sample.std", "sample.dht", "--to", "container")
check("convert to container", code == 0, err)
golden("convert.txt", err)
check("cat gives the text back", run("cat", "sample.dht")[1] == sample)
check("zstd", run("convert", "--zstd", "sample.std", "packed.dht", "--to", "container")[0] == 0)
check("zstd gives the text back", run("cat", "packed.dht")[1] == sample)
check("standard input", run("cat", "-", stdin=pathlib.Path("packed.dht").read_bytes())[1] == sample)
check("partial", run("convert", "sample.std", "partial.dht", "--to", "dht", "--partial")[0] == 0)
golden("partial.txt", run("cat", "partial.dht")[1])
code, out, err = run("convert", "sample.dht", "-", "--to", "std")
golden("strict.txt", out + err)

golden("info_text.txt", run("info", "sample.std")[1])
golden("info_container.txt", run("info", "sample.dht")[1].replace(str(folder), ""))
summary = json.loads(run("info", "sample.dht", "--json")[1])
check("info --json", summary["events"] == 11 and summary["events_by_kind"]["fork"] == 2 and summary["problems"] == [], str(summary))
check("modules", summary["modules"] == [{"pid": 1, "id": 0, "path": "/usr/lib/libx.so", "build_id": "00ab12"}], str(summary["modules"]))

golden("cat_filtered.txt", run("cat", "sample.dht", "--thread", "T1", "--from", "5", "--limit", "2")[1])
check("kind", run("cat", "sample.dht", "--kind", "acquire")[1] == "# deadheat text 1\nT1|acq(L1)|20\n")
code, out, err = run("cat", "sample.dht", "--kind", "acquier")
check("mistyped kind", code == 2 and "acquire" in err, err)
code, out, err = run("convert", "sample.dht", "./sample.dht", "--to", "text")
check("output is input", code == 2 and "same file" in err, err)

# Damage: one clear line with the offset, what was readable is kept.
whole = pathlib.Path("sample.dht").read_bytes()


def damaged(name, data):
    pathlib.Path(name).write_bytes(data)
    code, out, err = run("cat", name)
    golden(name + ".txt", f"exit {code}\n{out}{err}")


damaged("cut.dht", whole[: len(whole) - 300])
damaged("flipped.dht", whole[:450] + bytes([whole[450] ^ 4]) + whole[451:])
damaged("version.dht", whole[:8] + b"\x07" + whole[9:])
damaged("header_only.dht", whole[:64])
damaged("malformed.std", b"T0|r(V1)|1\nT0|r(V1\nT0|w(V1)|2\n")
damaged("picture.png", b"\x89PNG\r\n\x1a\n" + bytes(100))
damaged("empty.dht", b"")

print("failures:", failures)
sys.exit(1 if failures else 0)

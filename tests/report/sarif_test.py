#!/usr/bin/python3
"""sarif_test.py own|schema REPORT_SAMPLE FOLDER: our SARIF against our checker, or against the official 2.1.0 schema.

The schema is not ours to ship. It comes from the npm package below, by name and version, into FOLDER; without npm, a
registry or jsonschema the schema test is skipped (77) and says so. Both tests plant defects first: a checker that
accepts them proves nothing.
"""
import copy
import json
import pathlib
import shutil
import subprocess
import sys
import tarfile

import check_sarif

PACKAGE = "@microsoft/jest-sarif@1.0.0-beta.0"
MEMBER = "package/lib/schemas/sarif-2.1.0-rtm.5.json"
SAMPLES = ("bank", "empty", "hostile")

# What a broken writer might do; each must be caught.
DEFECTS = {
    "level": lambda log: log["runs"][0]["results"][0].update(level="fatal"),
    "message": lambda log: log["runs"][0]["results"][0].pop("message"),
    "startLine": lambda log: log["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["region"].update(startLine=0),
    "driver": lambda log: log["runs"][0]["tool"]["driver"].pop("name"),
    "version": lambda log: log.update(version="2.0.0"),
    "threadFlows": lambda log: log["runs"][0]["results"][0]["codeFlows"][0].pop("threadFlows"),
    "baselineState": lambda log: log["runs"][0]["results"][0].update(baselineState="known"),
}


def skip(why):
    print(f"skipped: {why}")
    sys.exit(77)


def schema(folder):
    target = folder / "sarif-2.1.0.json"
    if target.exists():
        return json.loads(target.read_text(encoding="utf-8"))
    if shutil.which("npm") is None:
        skip(f"no npm (Debian package npm) to fetch the official schema from {PACKAGE}")
    try:
        packed = subprocess.run(["npm", "pack", "--silent", PACKAGE], cwd=folder, capture_output=True, text=True, timeout=120)
    except subprocess.TimeoutExpired:
        skip(f"npm pack {PACKAGE} did not answer within two minutes")
    if packed.returncode != 0:
        skip(f"npm pack {PACKAGE} failed: {packed.stderr.strip().splitlines()[-1:] or 'no message'}")
    with tarfile.open(folder / packed.stdout.split()[-1]) as archive:
        text = archive.extractfile(MEMBER).read().decode("utf-8")
    target.write_text(text, encoding="utf-8")
    return json.loads(text)


def main():
    mode, sample, folder = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
    folder.mkdir(parents=True, exist_ok=True)
    if mode == "schema":
        try:
            import jsonschema
        except ImportError:
            skip("no jsonschema (Debian package python3-jsonschema)")
        official = schema(folder)
        validator = jsonschema.validators.validator_for(official)(official)

        def errors(log):
            return [f"{'/'.join(map(str, e.absolute_path))}: {e.message[:200]}" for e in validator.iter_errors(log)]
    else:
        def errors(log):
            path = folder / "checked.sarif"
            path.write_text(json.dumps(log), encoding="utf-8")
            try:
                return check_sarif.check(path)
            except (KeyError, AttributeError, TypeError) as broken:
                return [f"broken beyond checking: {broken!r}"]

    subprocess.run([sample, str(folder)], check=True)
    failed = False
    for name in SAMPLES:
        log = json.loads((folder / f"{name}.sarif").read_text(encoding="utf-8"))
        for error in errors(log):
            print(f"{name}.sarif: {error}")
            failed = True
    good = json.loads((folder / "bank.sarif").read_text(encoding="utf-8"))
    for name, plant in DEFECTS.items():
        bad = copy.deepcopy(good)
        plant(bad)
        if not errors(bad):
            print(f"the planted defect '{name}' was not noticed")
            failed = True
    print(f"{mode}: {len(SAMPLES)} documents, {len(DEFECTS)} planted defects: {'FAILED' if failed else 'ok'}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()

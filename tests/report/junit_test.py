#!/usr/bin/python3
"""junit_test.py REPORT_SAMPLE FOLDER: our JUnit XML against the structure that Jenkins and the Ant tools read."""
import pathlib
import subprocess
import sys
import xml.etree.ElementTree as tree

CHILDREN = {
    "testsuites": {"testsuite"},
    "testsuite": {"properties", "testcase", "system-out", "system-err"},
    "testcase": {"skipped", "error", "failure", "system-out", "system-err"},
}


def check(path):
    root = tree.parse(path).getroot()
    errors = []
    if root.tag != "testsuites":
        errors.append("the root is not testsuites")
    for element in root.iter():
        for child in element:
            if child.tag not in CHILDREN.get(element.tag, set()):
                errors.append(f"{child.tag} inside {element.tag}")
    for suite in root.iter("testsuite"):
        cases = list(suite.iter("testcase"))
        for name, count in (("tests", len(cases)), ("failures", len(list(suite.iter("failure")))),
                            ("skipped", len(list(suite.iter("skipped")))), ("errors", 0)):
            if int(suite.get(name)) != count:
                errors.append(f"{name} says {suite.get(name)}, there are {count}")
        if not cases:
            errors.append("no testcase: some readers take that for a failure")
        names = [(case.get("classname"), case.get("name")) for case in cases]
        if None in [part for name in names for part in name] or len(set(names)) != len(names):
            errors.append("testcases without a name of their own")
        tags = [child.tag for child in suite]
        if tags != sorted(tags, key=["properties", "testcase", "system-out", "system-err"].index):
            errors.append("system-out before the last testcase")
        for failure in suite.iter("failure"):
            if not failure.get("message") or not failure.get("type") or not (failure.text or "").strip():
                errors.append("a failure without message, type or text")
    return errors, root


def main():
    sample, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run([sample, str(folder)], check=True)
    failed = []
    for name in ("bank", "empty", "hostile"):
        errors, root = check(folder / f"{name}.xml")
        failed += [f"{name}.xml: {error}" for error in errors]
        counts = {tag: len(list(root.iter(tag))) for tag in ("testcase", "failure", "skipped")}
        expected = {"bank": (11, 8, 2), "empty": (1, 0, 0), "hostile": (5, 5, 0)}[name]
        if tuple(counts.values()) != expected:
            failed.append(f"{name}.xml: {counts}, expected {expected}")
    print("\n".join(failed) or "junit: ok")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()

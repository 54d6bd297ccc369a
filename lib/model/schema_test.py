"""The published schema against the program: random files validate, mutated ones fail in both.

usage: schema_test.py SCHEMA FINDINGS_SAMPLES
"""

import copy
import json
import pathlib
import re
import subprocess
import sys
import tempfile

try:
    import jsonschema
except ImportError:
    print("SKIP: python3-jsonschema is not installed for", sys.executable)
    sys.exit(77)

FIRST_SEED, COUNT = 1, 120


def first(document, *path):
    """The first finding's value at path, or None where this sample has no such thing."""
    value = document["findings"][0] if document["findings"] else None
    for key in path:
        if isinstance(value, list):
            value = value[key] if len(value) > key else None
        elif isinstance(value, dict):
            value = value.get(key)
        if value is None:
            return None
    return value


def assign(*path, value):
    def mutate(document):
        owner = first(document, *path[:-1]) if len(path) > 1 else first(document)
        if not isinstance(owner, dict):
            return False
        owner[path[-1]] = value
        return True

    return mutate


def remove(*path):
    def mutate(document):
        owner = first(document, *path[:-1]) if len(path) > 1 else first(document)
        return isinstance(owner, dict) and owner.pop(path[-1], None) is not None

    return mutate


def at_top(key, value):
    def mutate(document):
        document[key] = value
        return True

    return mutate


def drop_at_top(key):
    return lambda document: document.pop(key, None) is not None


def both(first_change, second_change):
    return lambda document: first_change(document) and second_change(document)


ONE_ROLE = [{"site": {"kind": "label", "label": "1"}}]
MUTATIONS = {
    "format is another": at_top("format", "sarif"),
    "format is missing": drop_at_top("format"),
    "version is unknown": at_top("version", 4),
    "version is text": at_top("version", "1"),
    "version is missing": drop_at_top("version"),
    "findings is missing": drop_at_top("findings"),
    "findings is an object": at_top("findings", {}),
    "origins is text": at_top("origins", "none"),
    "origin is a number": at_top("origins", [1]),
    "counter without a value": at_top("origins", [{"counters": [{"name": "x"}]}]),
    "kind is unknown": assign("kind", value="datarace"),
    "kind is missing": remove("kind"),
    "roles are missing": remove("roles"),
    "one role": both(assign("kind", value="order"), assign("roles", value=ONE_ROLE)),
    "a failure with two roles": both(assign("kind", value="failure"), assign("roles", value=ONE_ROLE * 2)),
    "a failure without a role": both(assign("kind", value="failure"), assign("roles", value=[])),
    "role without a site": remove("roles", 0, "site"),
    "site without a kind": remove("roles", 0, "site", "kind"),
    "access is unknown": assign("roles", 1, "access", value="peek"),
    "line is negative": assign("roles", 0, "site", "line", value=-1),
    "line is too big": assign("roles", 0, "site", "line", value=2**32),
    "line is a fraction": assign("roles", 0, "site", "line", value=1.5),
    "function is null": assign("roles", 0, "site", "function", value=None),
    "pcs are numbers": assign("roles", 0, "site", "pcs", value=[4096]),
    "pc is not hexadecimal": assign("roles", 0, "site", "pcs", value=["0xg"]),
    "pc is too long": assign("roles", 0, "site", "pcs", value=["0x" + "1" * 17]),
    "found_by is text": assign("found_by", value="hb"),
    "evidence without an id": remove("evidence", 0, "id"),
    "evidence with an empty id": assign("evidence", 0, "id", value=""),
    "outcome is missing": remove("evidence", 0, "outcome"),
    "outcome is unknown": assign("evidence", 0, "outcome", value="maybe"),
    "proof is a number": assign("evidence", 0, "proof", value=1),
    "order is unknown": assign("evidence", 0, "order", value="reverse"),
    "maximum_timeout is text": assign("evidence", 0, "maximum_timeout", value="yes"),
    "consequence without a kind": assign("evidence", 0, "consequence", value={"detail": "x"}),
    "repetitions is text": assign("evidence", 0, "repetitions", value="twice"),
    "unseen is text": assign("evidence", 0, "unseen", value="libgomp.so.1"),
    "trial is text": assign("evidence", 0, "trial", value="x"),
    "step without a role": assign("evidence", 0, "steps", value=[{"what": "x"}]),
    "recorded is a list": assign("evidence", 0, "recorded", value=[]),
    "call without a process": assign("evidence", 0, "recorded", value={"processes": [{}], "calls": [{"what": "x"}]}),
    "process number is text": assign("evidence", 0, "failed", value={"processes": [{"number": "9"}]}),
    "edge without an end": assign("evidence", 0, "failed", value={"processes": [{}], "calls": [{"process": 0}], "edges": [{"from": 0}]}),
    "edge kind is unknown": assign("evidence", 0, "failed", value={"processes": [{}], "calls": [{"process": 0}, {"process": 0}],
                                                                   "edges": [{"from": 0, "to": 1, "kind": "pipe"}]}),
    "difference without a kind": assign("evidence", 0, "differences", value=[{"detail": "x"}]),
    "access is a list": assign("evidence", 0, "accesses", value=[[]]),
    "frame offset is a number": assign("evidence", 0, "accesses", value=[{"stack": [{"offset": 1}]}]),
}


def every_description(schema, path="$"):
    """Every property says what it is."""
    for name, part in schema.get("properties", {}).items():
        assert part.get("description"), f"{path}.{name} has no description"
        every_description(part, f"{path}.{name}")
    for name, part in schema.get("$defs", {}).items():
        assert part.get("description"), f"$defs.{name} has no description"
        every_description(part, f"$defs.{name}")


def check_words(schema, model):
    """The schema's enumerations are the tables of enum_names.cc."""
    source = (model / "enum_names.cc").read_text()
    tables = [re.findall(r'"(\w+)"', body) for body in re.findall(r"k\w+ = \{(.*?)\};", source, re.S)]
    assert len(tables) == 14, f"expected 14 tables in enum_names.cc, found {len(tables)}"

    def enums(part):
        if isinstance(part, dict):
            if "enum" in part:
                yield part["enum"]
            for child in part.values():
                yield from enums(child)
        elif isinstance(part, list):
            for child in part:
                yield from enums(child)

    found = list(enums(schema))
    for table in tables:
        assert table in found, f"{table} is not an enumeration of the schema"
    for words in found:
        assert words in tables, f"{words} is not a table of enum_names.cc"


def accepted_by_program(samples, paths):
    result = subprocess.run([samples, "check", *map(str, paths)], check=True, capture_output=True, text=True)
    answers = [line for line in result.stdout.splitlines() if line == "ok" or line.startswith("refused: ")]
    assert len(answers) == len(paths), result.stdout
    return answers


def main():
    schema_path, samples = sys.argv[1:3]
    schema = json.loads(pathlib.Path(schema_path).read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    every_description(schema)
    check_words(schema, pathlib.Path(__file__).parent)
    validator = jsonschema.Draft202012Validator(schema)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        subprocess.run([samples, "generate", str(FIRST_SEED), str(COUNT), str(folder)], check=True)
        documents = [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]
        assert len(documents) == COUNT
        for number, document in enumerate(documents):
            for error in validator.iter_errors(document):
                sys.exit(f"sample {number}: {error.json_path}: {error.message}")

        mutants = []
        for name, mutate in MUTATIONS.items():
            made = 0
            for document in documents:
                mutant = copy.deepcopy(document)
                if made == 3 or not mutate(mutant):
                    continue
                made += 1
                path = folder / f"mutant{len(mutants)}"
                path.write_text(json.dumps(mutant))
                mutants.append((name, path))
                if validator.is_valid(mutant):
                    sys.exit(f"the schema accepts a document in which {name}")
            assert made, f"no sample could be mutated so that {name}"
        for (name, _), answer in zip(mutants, accepted_by_program(samples, [path for _, path in mutants])):
            if answer == "ok":
                sys.exit(f"the program accepts a document in which {name}")
    print(f"{COUNT} samples (seeds from {FIRST_SEED}) validate; {len(mutants)} mutants fail in schema and program")


if __name__ == "__main__":
    main()

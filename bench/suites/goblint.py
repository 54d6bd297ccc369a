"""goblint/analyzer, tests/regression: C programs whose lines say `// RACE!` or `// NORACE`.

A program is racy if any of its lines is labelled RACE, also where the label only records what that static analyser says
(`RACE (imprecise ...)`): raw labels, corrected one by one in labels.csv. models.c stands for unknown inputs; kernel modules and
programs with other undefined functions do not link and are counted as such.
"""
import os
import re
import shlex

from program import Program, Skipped

HERE = os.path.dirname(os.path.abspath(__file__))
# The programs are not optimised, or reads of which nothing is made would be gone; and some are old C.
LENIENT = "-g -O0 -w -Wno-implicit-function-declaration -Wno-int-conversion -Wno-incompatible-function-pointer-types"
# Takes the machine's last thread.
ENDLESS = {"06-symbeq/35-zstd-thread-pool-multi.c"}
LABEL = re.compile(r"//.*?\b(NO)?RACE\b")


def read(root):
    tests = os.path.join(root, "tests", "regression")
    models = os.path.join(root, "lib", "goblint", "runtime")
    for folder, _, files in sorted(os.walk(tests)):
        for file in sorted(files):
            if not file.endswith(".c"):
                continue
            path = os.path.join(folder, file)
            with open(path, encoding="utf-8", errors="replace") as source:
                text = source.read()
            labels = [match.group(1) for match in LABEL.finditer(text)]
            if not labels:
                continue
            name = os.path.relpath(path, tests)
            if "#include <linux/" in text:
                yield Skipped("goblint", name, "kernel module")
                continue
            if name in ENDLESS:
                yield Skipped("goblint", name, "creates threads without end")
                continue
            sources = [path]
            if "goblint.h" in text or "racemacros.h" in text:
                sources.append(os.path.join(models, "src", "goblint.c"))
            if "__VERIFIER_" in text or "racemacros.h" in text:
                sources.append(os.path.join(HERE, "models.c"))
            flags = f"{LENIENT} -I{shlex.quote(os.path.join(models, 'include'))} -I{shlex.quote(folder)}"
            yield Program("goblint", name, None in labels,
                          f"%cc {flags} {' '.join(map(shlex.quote, sources))} -o %t -lpthread -lm", "%run %t")

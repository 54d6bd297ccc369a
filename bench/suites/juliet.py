"""Juliet (C/C++ 1.3), CWE-366: every test case is one racy program (its bad() alone) and one safe one (its good())."""
import os
import shlex

from program import Program

CASES = "CWE366_Race_Condition_Within_Thread"


def read(root):
    folder = os.path.join(root, "testcases", CASES)
    support = os.path.join(root, "testcasesupport")
    common = " ".join(shlex.quote(os.path.join(support, name)) for name in ("io.c", "std_thread.c"))
    for file in sorted(os.listdir(folder)):
        if not file.endswith(".c"):
            continue
        source = shlex.quote(os.path.join(folder, file))
        for racy, omit in ((True, "OMITGOOD"), (False, "OMITBAD")):
            name = f"{file[len(CASES) + 2:-2]}/{'bad' if racy else 'good'}"
            yield Program("juliet", name, racy,
                          f"%cc -g -O0 -w -DINCLUDEMAIN -D{omit} -I{shlex.quote(support)} {source} {common} -o %t -lpthread", "%run %t")

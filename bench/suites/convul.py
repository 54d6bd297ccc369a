"""ConVul's benchmark (KennethLamar/ConVul has a copy): concurrency defects behind ten CVEs, one small C++ program each, all racy."""
import os
import shlex

from program import Program


def read(root):
    folder = os.path.join(root, "cve-benchmark")
    for file in sorted(os.listdir(folder)):
        if file.endswith(".cpp"):
            # Functions that return nothing where they should: clang would let them trap, gcc does not know its option.
            build = f"%cxx -g -O0 -w {shlex.quote(os.path.join(folder, file))} -o %t -lpthread"
            yield Program("convul", file, True, f"{build} -fno-strict-return || {build}", "%run %t")

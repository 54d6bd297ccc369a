"""LLNL/dataracebench, micro-benchmarks in C and C++: OpenMP programs whose names end in -yes (racy) or -no.

Run with four threads. Those for accelerators run on the host, as they do for everybody without one.
"""
import os
import re
import shlex

from program import Program

NAME = re.compile(r"DRB\d+-.*-(yes|no)\.(c|cpp)$")


def read(root):
    folder = os.path.join(root, "micro-benchmarks")
    quoted = shlex.quote(folder)
    for file in sorted(os.listdir(folder)):
        name = NAME.match(file)
        if name is None:
            continue
        path = shlex.quote(os.path.join(folder, file))
        with open(os.path.join(folder, file), encoding="utf-8", errors="replace") as source:
            polybench = "polybench" in source.read()
        # As the suite does it: some programs share code for matrices.
        extra = f"-I{quoted}/polybench -I{quoted}/utilities -I{quoted} " + ("-DPOLYBENCH_NO_FLUSH_CACHE -DPOLYBENCH_TIME -D_POSIX_C_SOURCE=200112L "
                                                                            f"{quoted}/utilities/polybench.c" if polybench else "")
        compiler = "%cc -std=gnu99" if name[2] == "c" else "%cxx"
        yield Program("drb", file, name[1] == "yes", f"{compiler} -g -O0 -w -fopenmp {extra} {path} -o %t -lm", "OMP_NUM_THREADS=4 %run %t")

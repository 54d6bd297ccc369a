#!/usr/bin/python3
"""Instructions per operation of a program that is built for validation while no validator is attached, against bounds.csv; and of one
that is built for detection and validated by its own hooks (gcc has no other way), against bounds_hooked.csv.

usage: instructions_test.py DEADHEAT_CC PROGRAMS COUNT_PY [--write]
"""
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile

from bench import candidate, lines_of


def main():
    compiler, programs, count = sys.argv[1:4]
    for program in ("clang-19", "valgrind"):
        if shutil.which(program) is None:
            print(f"validate: skipped: no {program} (install the package of that name)")
            return 77
    source = os.path.join(programs, "costs.c")
    sites = [(function, lines_of(source, pattern)[0], "write")
             for function, pattern in (("touch_promoted", r"promoted = i"), ("touch_alone", r"alone = i"), ("touch_many", r"many\[i & 1023\] = i"))]
    with tempfile.TemporaryDirectory() as folder:
        candidates = os.path.join(folder, "candidates.json")
        with open(candidates, "w", encoding="utf-8") as file:
            json.dump({"format": "deadheat-findings", "version": 2, "origins": [],
                       "findings": [candidate(source, site, site) for site in sites]}, file)
        program = os.path.join(folder, "costs")
        # Valgrind 3.19 does not read clang's DWARF 5.
        subprocess.run([compiler, "--candidates", candidates, "-O1", "-gdwarf-4", "-pthread", source, "-o", program], check=True,
                       env={**os.environ, "DEADHEAT_CC": "clang-19"})
        here = os.path.dirname(os.path.abspath(__file__))
        own = subprocess.run([sys.executable, count, program, os.path.join(here, "bounds.csv"), *sys.argv[4:]], check=False).returncode
        hooked = os.path.join(folder, "hooked")
        subprocess.run([compiler, "-O1", "-gdwarf-4", "-pthread", source, "-o", hooked], check=True,
                       env={**os.environ, "DEADHEAT_CC": "clang-19"})
        sites = os.path.join(folder, "sites")
        command = subprocess.run([os.path.join(os.path.dirname(compiler), "deadheat"), "validate", candidates, "--prepare", sites, "--", hooked],
                                 check=True, capture_output=True, text=True).stdout
        settings = dict(word.split("=", 1) for word in shlex.split(command)[:-1])
        environment = {**os.environ, "LD_LIBRARY_PATH": settings["LD_LIBRARY_PATH"], "COUNT_OPTIONS": settings["DEADHEAT_OPTIONS"]}
        return own or subprocess.run([sys.executable, count, hooked, os.path.join(here, "bounds_hooked.csv"), *sys.argv[4:]], check=False,
                                     env=environment).returncode


if __name__ == "__main__":
    sys.exit(main())

"""The programs of the validation benches and their builds; candidates are what `deadheat scan` suspects.

A program whose scan fails or takes too long gets lines drawn at random instead, among those that assign to a field: that says
what sites cost, not what races there are. The table says which.
"""
import glob
import json
import os
import random
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "bench", "real"))
sys.dont_write_bytecode = True
import programs  # noqa: E402
from builds import build, folder_of  # noqa: E402

DRAWN = 300
ASSIGNS = re.compile(r"->\w+ *(=[^=]|\+\+|--|[-+|&]=)")
SOURCES = {"sqlite": ["sqlite3.c"], "zstd": ["lib/common/*.c", "lib/compress/*.c", "programs/*.c"], "redis": ["src/*.c"],
           "pigz": ["pigz.c", "yarn.c"], "leveldb": ["db/*.cc", "util/*.cc"]}
DWARF_4 = "-gdwarf-4"  # valgrind 3.19 does not read clang 19's DWARF 5


def leveldb(work):
    work.run(["./leveldb_load", work.scratch + "/db", str(work.threads), str(20000 * work.scale)])


def programs_of():
    """Those of bench/real with their binary, and leveldb."""
    binaries = {"sqlite": "sqlite_load", "redis": "src/redis-server", "zstd": "programs/zstd", "pbzip2-static": "pbzip2"}
    found = [(one._replace(build=[command.replace(" -g", " " + DWARF_4).replace("=-g", "=" + DWARF_4) for command in one.build]),
              binaries.get(one.name, one.name)) for one in programs.PROGRAMS]
    load = os.path.join(HERE, "leveldb_load.cc")
    found.append((programs.Program("leveldb", ["leveldb"], [
        # Without gtest and the benchmarks: the library, and a load of our own.
        f'for f in db/*.cc table/*.cc util/*.cc; do case $f in *_test.cc|*test*.cc|*leveldbutil.cc|*_windows.cc|*c_test*) ;; *) '
        f'$CXX -O2 {DWARF_4} -std=c++11 -I. -Iinclude -DLEVELDB_PLATFORM_POSIX=1 -DHAVE_FDATASYNC=1 -DHAVE_O_CLOEXEC=1 '
        f'-pthread -c $f -o $(echo $f | tr / _).o || exit 1;; esac; done',
        f'$CXX -O2 {DWARF_4} -std=c++17 -Iinclude -pthread {load} *.o -o leveldb_load'], leveldb, []), "leveldb_load"))
    return found


def make(program, way, options, **environment):
    os.makedirs(os.path.dirname(folder_of(program, way, options)), exist_ok=True)
    before = dict(os.environ)
    os.environ.update(environment)
    try:
        build(program, way, options)
    finally:
        os.environ.clear()
        os.environ.update(before)


def draw(program, path, options):
    """A list of FILE:LINE; each against itself."""
    folder = folder_of(program, "native", options)
    lines = []
    for pattern in SOURCES.get(program.name, ["*.c", "*.cc", "*.cpp"]):
        for source in sorted(glob.glob(os.path.join(folder, pattern))):
            with open(source, encoding="utf-8", errors="replace") as file:
                lines += [f"{os.path.basename(source)}:{number}" for number, line in enumerate(file, 1) if ASSIGNS.search(line)]
    chosen = random.Random(1).sample(lines, min(DRAWN, len(lines)))
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(chosen) + "\n")
    return len(chosen)


def candidates_of(program, binary, options):
    """Path of the list, how many candidates, and where they come from."""
    drawn = os.path.join(options.work, program.name + ".drawn.txt")
    if os.path.exists(drawn):
        return drawn, DRAWN, "drawn"
    path = os.path.join(options.work, program.name + ".candidates.json")
    deadheat = os.path.join(options.build, "apps", "deadheat")
    if not os.path.exists(path):
        make(program, "scan", options)
        partial = path + ".part"
        # `timeout` ends what scan starts, too.
        subprocess.run(["timeout", str(options.scan_s), deadheat, "scan", os.path.join(folder_of(program, "scan", options), binary), "--findings", partial],
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        if os.path.exists(partial):
            os.rename(partial, path)
    if not os.path.exists(path):
        return drawn, draw(program, drawn, options), "drawn"
    with open(path, encoding="utf-8") as file:
        return path, len(json.load(file)["findings"]), "scan"


def make_validated(program, candidates, options):
    make(program, "validate", options, DEADHEAT_CANDIDATES=candidates)


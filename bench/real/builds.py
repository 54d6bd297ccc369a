"""Builds of the real programs: sources from Debian, a fresh copy for each way of building, by the program's own build system.

`options` has `build` (a build of Deadheat) and `work` (the folder where sources and builds stay, to be used again).
"""
import os
import random
import shutil
import subprocess

from work import Failed

HERE = os.path.dirname(os.path.abspath(__file__))
NATIVE = "native"
WAYS = (NATIVE, "tsan-clang", "deadheat-clang", "tsan-gcc", "deadheat-gcc")
INPUT_MB = 12


def compilers(way, options):
    apps = os.path.join(options.build, "apps")
    return {NATIVE: ("clang-19", "clang++-19", ""),
            "tsan-clang": ("clang-19 -fsanitize=thread", "clang++-19 -fsanitize=thread", ""),
            "deadheat-clang": (f"{apps}/deadheat-cc", f"{apps}/deadheat-c++", "clang-19"),
            "tsan-gcc": ("gcc -fsanitize=thread", "g++ -fsanitize=thread", ""),
            "deadheat-gcc": (f"{apps}/deadheat-cc", f"{apps}/deadheat-c++", "gcc"),
            # For bench/validate. The candidates are named by DEADHEAT_CANDIDATES.
            "scan": (f"{apps}/deadheat-cc --scan", f"{apps}/deadheat-c++ --scan", "clang-19"),
            "validate": (f"{apps}/deadheat-cc", f"{apps}/deadheat-c++", "clang-19")}[way]


def shell(command, folder, log, **environment):
    with open(log, "a", encoding="utf-8") as output:
        output.write(f"$ {command}\n")
        output.flush()
        done = subprocess.run(["/bin/sh", "-c", command], cwd=folder, stdin=subprocess.DEVNULL, stdout=output,
                              stderr=subprocess.STDOUT, env=dict(os.environ, **environment), check=False)
    if done.returncode != 0:
        raise Failed(f"{command}: status {done.returncode}, see {log}")


def source_of(package, options):
    """The folder of a Debian source, unpacked with Debian's patches."""
    folder = os.path.join(options.work, "src", package)
    if not os.path.isdir(folder):
        os.makedirs(os.path.dirname(folder), exist_ok=True)
        log = os.path.join(options.work, f"fetch-{package}.log")
        shell(f"apt-get source -q --download-only {package}", os.path.dirname(folder), log)
        shell(f"dpkg-source --no-check -x {package}_*.dsc {package}.tmp && mv {package}.tmp {package}",
              os.path.dirname(folder), log)
    return folder


def folder_of(program, way, options):
    return os.path.join(options.work, "build", way, program.name)


def build(program, way, options):
    folder = folder_of(program, way, options)
    if os.path.exists(folder + ".done"):
        return
    shutil.rmtree(folder, ignore_errors=True)
    main, *others = [source_of(package, options) for package in program.sources]
    shutil.copytree(main, folder, symlinks=True)
    for other in others:
        shutil.copytree(other, os.path.join(folder, os.path.basename(other)), symlinks=True)
    cc, cxx, under = compilers(way, options)
    log = folder + ".log"
    if os.path.exists(log):
        os.unlink(log)
    for command in program.build:
        # A program that its build runs (a generator) may race: that is not what is asked here.
        shell(command, folder, log, CC=cc, CXX=cxx, DEADHEAT_CC=under or "clang-19", HERE=HERE,
              TSAN_OPTIONS="exitcode=0:report_bugs=0", DEADHEAT_OPTIONS="exitcode=0:report_bugs=0")
    with open(folder + ".done", "w", encoding="utf-8"):
        pass


def build_clients(options, chosen):
    folder = os.path.join(options.work, "clients")
    os.makedirs(folder, exist_ok=True)
    log = os.path.join(folder, "log")
    shell(f"clang-19 -O2 -o cache_load {HERE}/cache_load.c", folder, log)
    if any(program.name == "redis" for program in chosen) and not os.path.exists(folder + "/redis-cli"):
        redis = os.path.join(folder, "redis")
        shutil.copytree(source_of("redis", options), redis, symlinks=True, dirs_exist_ok=True)
        shell("make -C src redis-benchmark redis-cli MALLOC=libc BUILD_TLS=no && cp src/redis-cli src/redis-benchmark ..",
              redis, log)
    return folder


def make_input(options):
    """Text that compresses about as prose does, the same on every machine."""
    path = os.path.join(options.work, "input")
    if not os.path.exists(path):
        generator = random.Random(1)
        letters = "etaoinshrdlucmfwypvbgkjqxz"
        words = ["".join(generator.choices(letters, range(26, 0, -1), k=generator.randint(2, 9))) for _ in range(8000)]
        weights = [1 / rank for rank in range(1, len(words) + 1)]
        with open(path, "w", encoding="ascii") as output:
            while output.tell() < INPUT_MB << 20:
                output.write(" ".join(generator.choices(words, weights, k=12)) + "\n")
    return path


def first_line(*command):
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout.splitlines()[0]
    except (OSError, IndexError):
        return f"no {command[0]}"

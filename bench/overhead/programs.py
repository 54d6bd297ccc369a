"""What is measured: for each program how it is built with a compiler, and how it is started with a number of threads.

The SPLASH programs come from a checkout of SakalisC/Splash-3 that the caller names; the others, small kernels, are ours. Sizes are such that a
native run takes about half a second or more of CPU time: below that, starting dominates.
"""
import os
import shutil
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
# Splash-3's own, and -w: its warnings are not ours.
FLAGS = "-O2 -g -pthread -std=c11 -D_XOPEN_SOURCE=500 -D_POSIX_C_SOURCE=200112 -fno-strict-aliasing -w"


class Failed(Exception):
    """A program could not be built."""


def call(command, folder):
    done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0:
        raise Failed(f"{' '.join(command)}\n{done.stdout[-2000:]}")


class Kernel:
    """A source file of this folder."""

    def __init__(self, name, *arguments, language="c"):
        self.name, self.arguments, self.language = name, arguments, language

    def build(self, compiler, flags, _, folder):
        words = FLAGS if self.language == "c" else "-O2 -g -pthread -w -x c++ -std=c++17"
        libraries = [] if self.language == "c" else ["-x", "none", "-lstdc++"]
        source = os.path.join(HERE, f"{self.name}.{self.language}")
        call([*compiler, *words.split(), *flags, source, *libraries, "-o", self.name], folder)

    def start(self, folder, threads):
        return [os.path.join(folder, self.name), str(threads), *self.arguments], b""


class Splash:
    """One program of Splash-3, built by its own Makefile in a copy of its folder (below codes/)."""

    def __init__(self, name, below, target, arguments):
        self.name, self.below, self.target, self.arguments = name, below, target, arguments

    def build(self, compiler, flags, splash, folder):
        for part in ("codes/Makefile.config", "codes/pthread_macros", "codes/" + self.below):
            source, copy = os.path.join(splash, part), os.path.join(folder, part)
            os.makedirs(os.path.dirname(copy), exist_ok=True)
            (shutil.copytree if os.path.isdir(source) else shutil.copy)(source, copy)
        self.repair(os.path.join(folder, "codes/pthread_macros/pthread.m4.stougie"))
        words = " ".join((FLAGS, *flags))
        call(["make", "-C", "codes/" + self.below, "CC=" + " ".join(compiler), "CFLAGS=" + words], folder)

    def repair(self, macros):
        """At the end Splash-3 joins every thread, the calling one too, and clang's ThreadSanitizer stops with a failed check."""
        with open(macros, encoding="ascii") as file:
            text = file.read()
        if "while (aantal--)" not in text:
            raise Failed(f"{macros} does not join threads as expected: is this SakalisC/Splash-3?")
        with open(macros, "w", encoding="ascii") as file:
            file.write(text.replace("while (aantal--)", "while (--aantal > 0)"))

    def start(self, folder, threads):
        at = os.path.join(folder, "codes", self.below)
        words, text = self.arguments(at, threads)
        return ["env", "-C", at, os.path.join(at, self.target), *words], text  # water reads a file of its folder


def barnes(at, threads):
    with open(os.path.join(at, f"inputs/n16384-p{threads}"), encoding="ascii") as file:
        return [], file.read().replace("16384", "32768").encode()


def fmm(at, threads):
    # More bodies rather than more time steps: past 10 of those it writes beyond an array.
    with open(os.path.join(at, f"inputs/input.{threads}.16384"), encoding="ascii") as file:
        return [], file.read().replace("16384", "32768").encode()


def words(*arguments):
    """Nothing but arguments; {threads} and {at}, the folder of the program, stand in them."""
    return lambda at, threads: ([argument.format(at=at, threads=threads) for argument in arguments], b"")


def water(at, threads):
    with open(os.path.join(at, "inputs/n512-p1"), encoding="ascii") as file:
        return [], file.read().replace("\n1 ", f"\n{threads} ").replace("  3   6", "  40   6").encode()  # more time steps


PROGRAMS = (Kernel("matrix", "768"), Kernel("stencil", "512", "400"), Kernel("vectors", "16384", "4000"),
            Kernel("tree", "10000", "60"), Kernel("locks", "800000"), Kernel("solo", "1000000"),
            Kernel("pool", "4000", language="cc"), Splash("fmm", "apps/fmm", "FMM", fmm), Splash("barnes", "apps/barnes", "BARNES", barnes),
            Splash("ocean", "apps/ocean/contiguous_partitions", "OCEAN", words("-n1026", "-p{threads}")),
            Splash("fft", "kernels/fft", "FFT", words("-m22", "-p{threads}")),
            Splash("lu", "kernels/lu/contiguous_blocks", "LU", words("-n2048", "-p{threads}")),
            Splash("radix", "kernels/radix", "RADIX", words("-n8388608", "-p{threads}")),
            Splash("cholesky", "kernels/cholesky", "CHOLESKY", words("-p{threads}", "{at}/inputs/tk29.O")),
            Splash("water_nsquared", "apps/water-nsquared", "WATER-NSQUARED", water),
            Splash("water_spatial", "apps/water-spatial", "WATER-SPATIAL", water))

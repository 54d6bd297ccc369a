#!/usr/bin/python3
"""A race whose stacks or threads lead through a library is proven if the runtime models the library (libgomp, libomp,
oneTBB, libc), and a candidate that names the library if its synchronisation is invisible.

usage: proof_test.py DEADHEAT DEADHEAT_CC
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.realpath(__file__))
DEADHEAT = WRAPPER = None


class Proof(unittest.TestCase):
    compiler = "gcc"

    def setUp(self):
        if not shutil.which(self.compiler):
            self.skipTest(f"no {self.compiler}")
        self.work = tempfile.mkdtemp(prefix="proof.")
        self.addCleanup(shutil.rmtree, self.work)

    def ok(self, *command, allowed=(0,)):
        env = {**os.environ, "DEADHEAT_CC": self.compiler}
        env.pop("DEADHEAT_OPTIONS", None)
        done = subprocess.run(command, cwd=self.work, env=env, capture_output=True, text=True, timeout=280, check=False)
        self.assertIn(done.returncode, allowed, f"{command}\n{done.stdout}{done.stderr}")

    def build(self, source, *more):
        self.ok(WRAPPER, "-g", "-O1", os.path.join(HERE, source), "-o", "program", "-pthread", *more)

    def evidence(self, *options, arguments=()):
        self.ok(DEADHEAT, "run", *options, "--findings", "found.json", "--", "./program", *arguments, allowed=(0, 66))
        with open(os.path.join(self.work, "found.json"), encoding="utf-8") as file:
            return [entry["evidence"][0] for entry in json.load(file)["findings"]]

    def proofs(self, *options, arguments=()):
        return {(one["proof"], *one.get("unseen", [])) for one in self.evidence(*options, arguments=arguments)}

    def test_openmp_is_modelled(self):
        self.build("openmp.c", "-fopenmp", "-DSAFE=0")
        self.assertEqual(self.proofs(), {("happens_before",)})
        self.build("openmp.c", "-fopenmp", "-DSAFE=1")
        self.assertEqual(self.proofs(), set())

    def test_onetbb_is_modelled(self):
        if not os.path.exists("/usr/include/oneapi/tbb.h"):
            self.skipTest("no libtbb-dev")
        self.ok(WRAPPER.replace("deadheat-cc", "deadheat-c++"), "-g", "-O1", os.path.join(HERE, "tbb.cc"), "-o", "program",
                "-pthread", "-ltbb")
        for shape in ("loop", "reduce", "groups", "nested", "arena", "locks", "own", "containers", "graph"):
            with self.subTest(shape=shape):
                self.assertEqual(self.proofs(arguments=[shape, "racy"]), {("happens_before",)})
                self.assertEqual(self.proofs(arguments=[shape]), set())
        for shape in ("failure", "pipeline"):
            self.assertEqual(self.proofs(arguments=[shape]), set(), shape)
        # Observers are not modelled: what is found near them is never called proven.
        self.assertLessEqual(self.proofs(arguments=["observer"]), {("partial_happens_before", "libtbb.so.12")})

    def test_libc_is_modelled(self):
        self.build("threads.c", "-DSAFE=0")
        self.assertEqual(self.proofs(), {("happens_before",)})
        self.build("threads.c", "-DSAFE=1")
        self.assertEqual(self.proofs(), set())

    def build_pooled(self):
        self.ok(shutil.which("gcc"), "-O1", "-shared", "-fPIC", os.path.join(HERE, "pool.c"), "-o", "libpool.so", "-pthread")
        self.build("pooled.c", "-L.", "-Wl,-rpath,$ORIGIN", "-lpool")

    def test_an_unseen_library_is_named(self):
        self.build_pooled()
        self.assertEqual(self.proofs(), set())  # what comes and goes through the library's threads is followed
        self.assertEqual(self.proofs("--missing", "ignore"), {("partial_happens_before", "libpool.so")})

    def test_unseen_ways_of_the_kernel_are_named(self):
        self.build("ways.c", "-lrt")
        self.assertEqual(self.proofs(), {("happens_before",)})
        for way, words in (("aio", "libc's code for timers and asynchronous I/O"), ("timer", "libc's code for timers and asynchronous I/O"),
                           ("terminal", "the kernel's terminal code")):
            with self.subTest(way=way):
                self.assertEqual(self.proofs(arguments=[way]), {("partial_happens_before", words)})
                with open(os.path.join(self.work, "found.json"), encoding="utf-8") as file:
                    counters = {one["name"]: one["value"] for one in json.load(file)["origins"][0]["counters"]}
                self.assertEqual(counters.get("threads_unseen", 0) > 0, way != "terminal", counters)

    def test_inline_assembly_may_have_ordered(self):
        lock = os.path.join(HERE, "../../programs/mutex/assembly.c")
        programs = ("-I", os.path.join(HERE, "../../programs"))
        self.build(lock, "-DSAFE=0", *programs)  # the locks are not in it
        self.assertEqual(self.proofs(), {("happens_before",)})
        self.build(lock, "-DSAFE=1", *programs)
        self.assertEqual(self.proofs(), set())  # the compilers' plugins tell of them

    def test_inline_assembly_that_nobody_tells_of(self):
        """Objects of plain -fsanitize=thread have no plugin."""
        programs = os.path.join(HERE, "../../programs")
        self.ok(self.compiler, "-g", "-O1", "-fsanitize=thread", "-DSAFE=1", "-I", programs, "-c",
                os.path.join(programs, "mutex/assembly.c"), "-o", "assembly.o")
        self.build(os.path.join(self.work, "assembly.o"))
        self.assertEqual(self.proofs(), {("partial_happens_before", "inline assembly of program")})


class ProofClang(Proof):
    compiler = "clang-19"


if __name__ == "__main__":
    DEADHEAT, WRAPPER = (os.path.realpath(path) for path in sys.argv[1:3])
    unittest.main(argv=sys.argv[:1])

"""An installation of the wrapper in a temporary folder, with the witness as its runtime."""
import os
import re
import shutil
import subprocess
import tempfile
import unittest

HERE = os.path.dirname(os.path.realpath(__file__))
ROOT = os.path.realpath(os.path.join(HERE, "../.."))
COMPILERS = {"gcc": ("gcc", "g++"), "clang": ("clang-19", "clang++-19")}


def present(name):
    return shutil.which(COMPILERS[name][0]) and shutil.which(COMPILERS[name][1])


class Installation:
    """bin/deadheat-cc, bin/deadheat-c++ and lib/deadheat, as installed."""

    def __init__(self, wrapper, folder):
        self.folder = folder
        self.bin = f"{folder}/bin"
        self.lib = f"{folder}/lib/deadheat"
        built = os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(wrapper))), "lib/deadheat")
        os.makedirs(self.bin)
        os.makedirs(f"{self.lib}/detect")
        shutil.copy(wrapper, f"{self.bin}/deadheat-cc")
        os.symlink("deadheat-cc", f"{self.bin}/deadheat-c++")
        shutil.copy(os.path.join(ROOT, "compiler/driver/gcc.specs"), self.lib)
        self.has_pass = os.path.exists(f"{built}/deadheat_pass.so")
        if self.has_pass:
            shutil.copy(f"{built}/deadheat_pass.so", self.lib)
            os.symlink("deadheat_pass.so", f"{self.lib}/deadheat_pass_cxx20.so")
        self.has_gcc_plugin = os.path.exists(f"{built}/gcc-12/deadheat_gcc.so")
        if self.has_gcc_plugin:
            os.makedirs(f"{self.lib}/gcc-12")
            shutil.copy(f"{built}/gcc-12/deadheat_gcc.so", f"{self.lib}/gcc-12")
        subprocess.run(["gcc", "-O1", "-fPIC", "-shared", "-I", ROOT, "-Wl,-soname,libdeadheat.so.1", "-o",
                        f"{self.lib}/detect/libdeadheat.so.1", os.path.join(HERE, "witness.c"), "-latomic"],
                       check=True)
        os.symlink("detect/libdeadheat.so.1", f"{self.lib}/libdeadheat.so")


class CompilerCase(unittest.TestCase):
    """A test with a work folder of its own and a compiler chosen by `compiler`."""
    wrapper = None      # path of deadheat-cc as built
    installation = None
    prefix = "deadheat compiler "  # blanks in paths must not matter
    compiler = "gcc"
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        if not present(cls.compiler):
            raise unittest.SkipTest(f"no {cls.compiler}")
        if CompilerCase.installation is None:
            CompilerCase.top = tempfile.TemporaryDirectory(prefix=CompilerCase.prefix)
            CompilerCase.installation = Installation(CompilerCase.wrapper, CompilerCase.top.name)

    def setUp(self):
        self.work = tempfile.mkdtemp(dir=self.installation.folder)
        self.addCleanup(shutil.rmtree, self.work)
        c, cxx = COMPILERS[self.compiler]
        self.env = {**os.environ, "DEADHEAT_CC": c, "DEADHEAT_CXX": cxx, "LC_ALL": "C"}
        self.env.pop("CCACHE_DISABLE", None)
        self.cc = f"{self.installation.bin}/deadheat-cc"
        self.cxx = f"{self.installation.bin}/deadheat-c++"

    def write(self, name, text):
        path = os.path.join(self.work, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return name

    def exists(self, name):
        return os.path.exists(os.path.join(self.work, name))

    def read(self, name):
        with open(os.path.join(self.work, name), encoding="utf-8", errors="replace") as file:
            return file.read()

    def call(self, *command, stdin="", env=None):
        return subprocess.run(command, cwd=self.work, env={**self.env, **(env or {})}, input=stdin,
                              capture_output=True, text=True, check=False)

    def ok(self, *command, stdin="", quiet=True, env=None):
        done = self.call(*command, stdin=stdin, env=env)
        self.assertEqual(done.returncode, 0, f"{command}\n{done.stderr}")
        if quiet:
            self.assertEqual(done.stderr, "", command)
        return done.stdout

    def witness(self, *command, env=None):
        """Counts that the witness printed when the program ended."""
        done = self.call(*command, env={"WITNESS": "1", **(env or {})})
        self.assertEqual(done.returncode, 0, done.stderr)
        line = re.search(r"^witness: (.*)$", done.stderr, re.M)
        self.assertIsNotNone(line, "the runtime was not there")
        words = line.group(1).split()
        return dict(zip(words[::2], map(int, words[1::2])))

    def assert_instrumented(self, program):
        counts = self.witness(f"./{program}")
        self.assertGreater(counts["writes"], 0)
        self.assertGreater(counts["entries"], 0)
        self.assert_ours_only(program)

    def needed(self, path):
        dynamic = self.ok("readelf", "-dW", path)
        return (re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic), re.findall(r"\((?:RUNPATH)\).*\[(.*)\]", dynamic),
                re.findall(r"\((?:RPATH)\).*\[(.*)\]", dynamic))

    def assert_ours_only(self, path):
        libraries, runpath, rpath = self.needed(path)
        self.assertEqual(libraries[0], "libdeadheat.so.1")
        self.assertFalse([name for name in libraries if "tsan" in name])
        self.assertEqual(runpath[0].split(":")[-1], f"{self.installation.lib}/detect")
        self.assertEqual(rpath, [])
        self.assertNotIn("__tsan_report", self.ok("nm", path))  # a static libtsan


def each_compiler(case):
    """Subclasses of `case` for gcc and clang, to be put into the module that calls it."""
    return {f"{case.__name__}_{name}": type(f"{case.__name__}_{name}", (case,), {"compiler": name})
            for name in COMPILERS}

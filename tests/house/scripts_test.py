#!/usr/bin/python3
"""./deadheat, tools/build and tools/bootstrap, on a small tree of their own with planted commands.

The tree has the real scripts and presets, and a program of a few lines in place of Deadheat; apt-get,
dpkg-query, id and sudo are stand-ins that write down how they were called.
"""
import os
import shutil
import stat
import subprocess
import tempfile
import unittest

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.realpath(__file__)), "../.."))
SCRIPTS = ("deadheat", "test", "CMakePresets.json", "tools/build", "tools/bootstrap", "tools/packages.run",
           "tools/packages.test", "tools/packages.full")
PROGRAM = """#include <stdio.h>
#include <unistd.h>
int main(int argc, char** argv) {
  char folder[4096];
  printf("%s VERSION", getcwd(folder, sizeof folder));
  for (int i = 1; i < argc; ++i) printf(" [%s]", argv[i]);
  printf("\\n");
  return 66;
}
"""


def write(path, text, mode=0o644):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(path, mode)


class Tree(unittest.TestCase):
    def setUp(self):
        self.top = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.top)
        self.root = os.path.join(self.top, "tree with blank")
        self.bin = os.path.join(self.top, "bin")
        self.calls = os.path.join(self.top, "calls")
        os.makedirs(self.bin)
        for name in SCRIPTS:
            target = os.path.join(self.root, name)
            os.makedirs(os.path.dirname(target), exist_ok=True)
            shutil.copy(os.path.join(ROOT, name), target)
        write(f"{self.root}/CMakeLists.txt",
              "cmake_minimum_required(VERSION 3.25)\nproject(small C)\nadd_subdirectory(apps)\n")
        write(f"{self.root}/apps/CMakeLists.txt", "add_executable(deadheat main.c)\n")
        for folder in ("abi", "lib", "tools/cmake"):
            os.makedirs(os.path.join(self.root, folder))
        self.program("one")

    def program(self, version):
        write(f"{self.root}/apps/main.c", PROGRAM.replace("VERSION", version))

    def plant(self, name, body):
        write(os.path.join(self.bin, name), f'#!/bin/sh\necho "{name} $*" >> "{self.calls}"\n{body}\n', 0o755)

    def called(self):
        if not os.path.exists(self.calls):
            return []
        with open(self.calls, encoding="utf-8") as file:
            return file.read().splitlines()

    def run_script(self, script, *words, cwd=None, **environment):
        full = {key: value for key, value in os.environ.items() if not key.startswith("DEADHEAT_")}
        full.update(environment, PATH=self.bin + ":" + os.environ["PATH"])
        return subprocess.run([script, *words], capture_output=True, text=True, check=False, env=full,
                              cwd=cwd or self.top, stdin=subprocess.DEVNULL)


class Deadheat(Tree):
    def setUp(self):
        super().setUp()
        # Whatever this machine has installed, the packages count as there.
        write(os.path.join(self.bin, "dpkg-query"),
              '#!/bin/sh\nshift 3\nfor name; do echo "$name ii "; done\n', 0o755)
        self.tool = os.path.join(self.root, "deadheat")

    def test_builds_once_then_runs_with_the_callers_folder_words_and_status(self):
        first = self.run_script(self.tool, "a b", "--", "*")
        self.assertEqual((first.stdout, first.returncode), (f"{self.top} one [a b] [--] [*]\n", 66), first)
        self.assertEqual(len(first.stderr.splitlines()), 1, first.stderr)
        for name in ("cmake", "ninja", "dpkg-query"):
            self.plant(name, "exit 1")
        again = self.run_script(self.tool)
        self.assertEqual((again.stdout, again.stderr), (f"{self.top} one\n", ""))
        self.assertEqual(self.called(), [])

    def test_new_source_is_built_and_a_link_works(self):
        self.run_script(self.tool)
        self.program("two")
        os.symlink(self.tool, os.path.join(self.top, "link"))
        done = self.run_script("./link")
        self.assertEqual((done.stdout, done.stderr), (f"{self.top} two\n", ""))

    def test_failed_build_shows_its_error_and_is_no_pass(self):
        write(f"{self.root}/apps/main.c", "int main(void) { return broken; }\n")
        done = self.run_script(self.tool)
        self.assertEqual((done.returncode, done.stdout), (77, ""))
        self.assertIn("broken", done.stderr)
        self.assertIn("deadheat: the build failed", done.stderr)
        self.program("mended")
        self.assertEqual(self.run_script(self.tool).stdout, f"{self.top} mended\n")

    def test_exported_compiler_is_not_ours(self):
        done = self.run_script(self.tool, CC="/no/such/cc", CFLAGS="-broken")
        self.assertEqual(done.returncode, 66, done.stderr)

    def test_many_at_once(self):
        running = [subprocess.Popen([self.tool, str(i)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                    text=True, cwd=self.top) for i in range(6)]
        for i, process in enumerate(running):
            self.assertEqual(process.communicate()[0], f"{self.top} one [{i}]\n")

    def test_place_that_cannot_be_written(self):
        write(os.path.join(self.top, "file"), "")
        done = self.run_script(self.tool, DEADHEAT_BUILD_DIR=os.path.join(self.top, "file"))
        self.assertEqual((done.returncode, done.stdout), (77, ""))
        self.assertRegex(done.stderr, r"^deadheat: cannot write .*\n  hint: set DEADHEAT_BUILD_DIR")

    def test_other_build_folder(self):
        other = os.path.join(self.top, "elsewhere")
        os.chmod(self.root, stat.S_IRUSR | stat.S_IXUSR)
        try:
            done = self.run_script(self.tool, DEADHEAT_BUILD_DIR=other)
        finally:
            os.chmod(self.root, 0o755)
        self.assertEqual(done.stdout, f"{self.top} one\n", done.stderr)
        self.assertFalse(os.path.exists(os.path.join(self.root, "build")))


class Test(Tree):
    def setUp(self):
        super().setUp()
        for name in ("bootstrap", "build"):
            write(f"{self.root}/tools/{name}", f'#!/bin/sh\necho "{name} $*" >> "{self.calls}"\n', 0o755)
        write(f"{self.root}/build/test/Testing/Temporary/LastTest.log.tmp", "x\nskipped: no browser\n")
        self.plant("ctest", """echo ' 1/2 Test #1: html ...***Skipped 0.1 sec'
echo 'asan| 1/1 Test #9: inner ...***Skipped 0.1 sec'
echo 'asan| 100% tests passed, 0 tests failed out of 1'
echo '50% tests passed, 1 tests failed out of 2'
echo 'Total Test time (real) = 1 sec'
exit 8""")

    def test_ends_with_the_summary_and_status_of_ctest(self):
        done = self.run_script(os.path.join(self.root, "test"), "-R", "a b")
        self.assertEqual(done.returncode, 8)
        self.assertEqual(done.stdout.splitlines()[-4:],
                         ["1 tests skipped", "skipped: no browser",
                          "50% tests passed, 1 tests failed out of 2", "Total Test time (real) = 1 sec"])
        self.assertEqual(self.called()[:2], ["bootstrap --tier test", "build test"])
        self.assertIn("-R a b", self.called()[2])

    def test_full_regenerates_first(self):
        write(f"{self.root}/bench/regenerate", f'#!/bin/sh\necho "regenerate" >> "{self.calls}"\n', 0o755)
        self.run_script(os.path.join(self.root, "test"), "--full")
        self.assertEqual(self.called()[:3], ["bootstrap --tier full", "build test", "regenerate"])


class Bootstrap(Tree):
    def setUp(self):
        super().setUp()
        self.script = os.path.join(self.root, "tools/bootstrap")
        write(f"{self.root}/tools/packages.run", "# list\none  compiles it\ntwo  links it\n")
        write(f"{self.root}/tools/packages.test", "three  tests it\n")
        self.installed("one")
        self.plant("apt-get", "exit 0")
        self.plant("sudo", "exit 1")

    def installed(self, *names):
        rows = "".join(f"echo '{name} ii '\n" for name in names)
        write(os.path.join(self.bin, "dpkg-query"), f"#!/bin/sh\n{rows}echo 'two un '\nexit 1\n", 0o755)

    def user(self, number):
        write(os.path.join(self.bin, "id"), f"#!/bin/sh\necho {number}\n", 0o755)

    def test_nothing_missing_says_nothing(self):
        write(os.path.join(self.bin, "dpkg-query"), "#!/bin/sh\necho 'one ii '\necho 'two ii '\n", 0o755)
        done = self.run_script(self.script)
        self.assertEqual((done.returncode, done.stdout + done.stderr, self.called()), (0, "", []))

    def test_root_installs(self):
        self.user(0)
        done = self.run_script(self.script)
        self.assertEqual(done.returncode, 0)
        self.assertEqual(done.stderr, "deadheat: installing Debian packages: two (links it)\n")
        self.assertEqual(len(self.called()), 1)
        self.assertTrue(self.called()[0].startswith(
            "apt-get install -y --no-install-recommends two"), self.called())

    def test_stale_lists_are_updated_only_then(self):
        self.user(0)
        self.plant("apt-get", f'[ "$1" = update ] && touch "{self.top}/updated"; [ -e "{self.top}/updated" ]')
        self.assertEqual(self.run_script(self.script).returncode, 0)
        self.assertEqual([call.split()[1] for call in self.called()], ["install", "update", "install"])

    def test_failure_is_77_with_the_command(self):
        self.user(0)
        self.plant("apt-get", "echo E: no network; exit 100")
        done = self.run_script(self.script)
        self.assertEqual(done.returncode, 77)
        self.assertIn("E: no network\ndeadheat: could not install two\n", done.stderr)

    def test_may_not_install(self):
        self.user(1000)
        done = self.run_script(self.script, "--tier", "test")
        self.assertEqual(done.returncode, 77)
        self.assertEqual(done.stderr,
                         "deadheat: missing Debian packages: two (links it), three (tests it)\n"
                         "  hint: sudo apt-get install -y --no-install-recommends two three\n")
        self.user(0)
        self.assertEqual(self.run_script(self.script, DEADHEAT_NO_INSTALL="1").returncode, 77)
        self.assertEqual([call for call in self.called() if call.startswith("apt-get")], [])

    def test_passwordless_sudo(self):
        self.user(1000)
        self.plant("sudo", 'shift; exec "$@"')
        self.assertEqual(self.run_script(self.script).returncode, 0)
        self.assertEqual(len([call for call in self.called() if call.startswith("apt-get install")]), 1)

    def test_question_mark_is_satisfied_by_a_command(self):
        write(f"{self.root}/tools/packages.run", "one  compiles it\nthing?  fetches it\n")
        self.user(1000)
        self.assertIn("thing (fetches it)", self.run_script(self.script).stderr)
        self.plant("thing", "")
        self.assertEqual(self.run_script(self.script).returncode, 0)

    def test_unknown_tier(self):
        self.assertEqual(self.run_script(self.script, "--tier", "tset").returncode, 2)


if __name__ == "__main__":
    unittest.main()

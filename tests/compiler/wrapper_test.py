#!/usr/bin/python3
"""deadheat-cc and deadheat-c++ as drop-in compilers: every kind of call, with gcc and with clang.

usage: wrapper_test.py DEADHEAT_CC
"""
import os
import re
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import installation  # noqa: E402

MAIN = """#include <stdio.h>
int shared;
#if defined(__SANITIZE_THREAD__)
#define SEEN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define SEEN 1
#endif
#endif
#ifndef SEEN
#define SEEN 0
#endif
int seen = SEEN;
int main(int argc, char** argv) { shared = argc; printf("hello %d\\n", seen); return 0; }
"""
LIBRARY = "int shared;\nint library(int x) { shared = x; return x; }\n"
USER = "int library(int);\nint other;\nint main(int c, char** v) { other = c; return library(c) - 1; }\n"


class Calls(installation.CompilerCase):
    def setUp(self):
        super().setUp()
        self.write("main.c", MAIN)
        self.write("library.c", LIBRARY)
        self.write("user.c", USER)

    def instrumented(self, object_file):
        return "__tsan_write" in self.ok("nm", object_file)

    def test_compile_and_link_in_one_call(self):
        for level in ("-O0", "-O1", "-O2", "-O3", "-Os"):
            self.ok(self.cc, level, "main.c", "-o", "main")
            self.assertEqual(self.ok("./main"), "hello 1\n")
            self.assert_instrumented("main")

    def test_compile_then_link(self):
        self.ok(self.cc, "-c", "main.c")
        self.assertTrue(self.instrumented("main.o"))
        self.ok(self.cc, "main.o", "-o", "main")
        self.assert_instrumented("main")

    def test_cxx(self):
        self.write("a.cc", "#include <iostream>\nint g;\nint main(int c, char**) "
                           "{ try { g = c; throw 1; } catch (int) { std::cout << \"caught\\n\"; } }\n")
        self.ok(self.cxx, "-O2", "a.cc", "-o", "a")
        self.assertEqual(self.ok("./a"), "caught\n")
        self.assert_instrumented("a")
        self.ok(self.cxx, "-c", "a.cc")
        failed = self.call(self.cc, "a.o", "-o", "b")  # as the real C compiler: no libstdc++
        self.assertNotEqual(failed.returncode, 0)
        self.ok(self.cc, "a.o", "-lstdc++", "-o", "b")
        self.assert_instrumented("b")

    def test_several_sources_objects_and_languages(self):
        self.ok(self.cc, "-c", "library.c", "-o", "lib.o")
        self.ok(self.cc, "user.c", "lib.o", "-o", "a")
        self.assert_instrumented("a")
        self.ok(self.cc, "user.c", "library.c", "-o", "b")
        self.assert_instrumented("b")
        self.assertFalse(self.exists("user.o"))
        self.ok(self.cc, "-x", "c", "-", "-x", "none", "lib.o", "-o", "c", stdin=USER)
        self.assert_instrumented("c")
        self.ok(self.cc, "-c", "-pipe", "user.c", "library.c")
        self.assertTrue(self.instrumented("user.o") and self.instrumented("library.o"))

    def test_user_flags_of_thread_sanitizer_end_in_our_runtime(self):
        flags = ["-fsanitize=thread", "-g"]
        self.ok(self.cc, *flags, "main.c", "-o", "one")
        self.assert_instrumented("one")
        self.ok(self.cc, *flags, "-c", "main.c")
        self.ok(self.cc, *flags, "main.o", "-o", "two")
        self.assert_instrumented("two")
        self.write("args", "-fsanitize=thread main.o -o 'th ree'")
        self.ok(self.cc, "@args")
        self.assert_instrumented("th ree")

    def test_plain_objects_link(self):
        plain = self.env["DEADHEAT_CC"]
        self.ok(plain, "-fsanitize=thread", "-c", "main.c")
        self.ok(self.cc, "main.o", "-o", "main")
        self.assert_instrumented("main")

    def test_objects_of_both_compilers(self):
        if not all(installation.present(name) for name in installation.COMPILERS):
            self.skipTest("one compiler only")
        for number, (first, second) in enumerate((("gcc", "clang-19"), ("clang-19", "gcc"))):
            self.ok(self.cc, "-c", "user.c", env={"DEADHEAT_CC": first})
            self.ok(self.cc, "-c", "library.c", env={"DEADHEAT_CC": second})
            self.ok(self.cc, "user.o", "library.o", "-o", f"both{number}")
            self.assert_instrumented(f"both{number}")

    def test_switched_off_per_file(self):
        self.ok(self.cc, "-c", "-fno-sanitize=thread", "library.c")
        self.assertFalse(self.instrumented("library.o"))
        self.ok(self.cc, "-c", "-fsanitize=thread", "-fno-sanitize=thread", "library.c")
        self.assertFalse(self.instrumented("library.o"))
        self.ok(self.cc, "-c", "-ffreestanding", "library.c")
        self.assertFalse(self.instrumented("library.o"))
        self.ok(self.cc, "-fno-sanitize=thread", "main.c", "-o", "main")
        self.assertEqual(self.ok("./main"), "hello 0\n")
        self.assertEqual(self.witness("./main")["writes"], 0)

    def test_dependency_files(self):
        self.ok(self.cc, "-MD", "-c", "main.c", "-o", "x.o")
        self.assertIn("main.c", self.read("x.d"))
        self.ok(self.cc, "-MMD", "-MP", "-MF", "y.d", "-MT", "target", "main.c", "-o", "main")
        self.assertTrue(self.read("y.d").startswith("target:"))
        plain = self.ok(self.env["DEADHEAT_CC"], "-M", "main.c")
        self.assertEqual(self.ok(self.cc, "-M", "main.c"), plain)
        self.ok(self.cc, "-MD", "main.c", "-o", "main")
        real = self.ok(self.env["DEADHEAT_CC"], "-MD", "main.c", "-o", "plain")
        self.assertEqual(real, "")
        self.assertEqual(self.exists("main.d") or self.exists("main-main.d"),
                         self.exists("plain.d") or self.exists("plain-main.d"))

    def test_preprocess_and_assemble(self):
        self.assertIn("int seen = 1;", self.ok(self.cc, "-E", "main.c"))
        self.assertIn("int seen = 1;", self.ok(self.cc, "-E", "-", stdin=MAIN))
        self.ok(self.cc, "-S", "main.c")
        self.assertIn("__tsan_func_entry", self.read("main.s"))
        self.ok(self.cc, "-c", "main.s", "-o", "s.o")
        self.ok(self.cc, "main.s", "-o", "from_assembler")
        self.assert_instrumented("from_assembler")
        self.write("asm.S", "#define VALUE 7\n.globl number\nnumber: mov $VALUE, %eax\nret\n"
                            ".section .note.GNU-stack,\"\",@progbits\n")
        self.write("uses.c", "int number(void); int g; int main(void) { g = number(); return g - 7; }\n")
        self.ok(self.cc, "asm.S", "uses.c", "-o", "uses")
        self.assert_instrumented("uses")
        self.ok(self.cc, "-c", "asm.S")
        self.ok(self.cc, "-E", "asm.S")
        self.ok(self.cc, "-fsyntax-only", "main.c")

    def test_save_temps(self):
        self.ok(self.cc, "-save-temps", "main.c", "-o", "main", quiet=False)
        self.assertTrue([name for name in os.listdir(self.work) if name.endswith(".i")])
        self.assert_instrumented("main")

    def test_shared_libraries(self):
        self.ok(self.cc, "-fPIC", "-shared", "library.c", "-o", "liblibrary.so", "-Wl,--no-undefined", "-Wl,-z,defs")
        self.assert_ours_only("liblibrary.so")
        self.ok(self.cc, "user.c", "-L.", "-llibrary", "-Wl,-rpath,$ORIGIN", "-o", "user")
        self.assert_instrumented("user")
        self.assertEqual(self.needed("user")[1][0].split(":")[0], "$ORIGIN")
        self.ok(self.cc, "-Wl,--as-needed", "-Wl,--disable-new-dtags", "user.c", "-L.", "-llibrary",
                "-Wl,-rpath,$ORIGIN", "-o", "again")
        self.assert_instrumented("again")

    def test_not_pie(self):
        self.ok(self.cc, "-no-pie", "-fno-pie", "main.c", "-o", "main")
        self.assert_instrumented("main")
        self.assertIn("EXEC", self.ok("readelf", "-h", "main"))

    def test_static_is_refused_in_one_line(self):
        for option in ("-static", "-static-pie"):
            failed = self.call(self.cc, option, "main.c", "-o", "main")
            self.assertNotEqual(failed.returncode, 0)
            self.assertRegex(failed.stderr, r"^deadheat-cc: -static is not supported.*\n$")
        self.ok(self.cc, "-static", "-c", "main.c")
        self.ok(self.cxx, "-static-libgcc", "-static-libstdc++", "-x", "c++", "main.c", "-o", "main")
        self.assert_instrumented("main")

    def test_without_libraries(self):
        self.write("bare.c", "int g; void _start(void) { g = 1; __asm__(\"mov $60, %eax; xor %edi, %edi; syscall\"); }\n")
        self.ok(self.cc, "-nostdlib", "-ffreestanding", "-fno-stack-protector", "bare.c", "-o", "bare")
        self.ok("./bare")
        self.assertNotIn("libdeadheat", self.ok("readelf", "-d", "bare"))
        self.ok(self.cc, "-c", "user.c", "library.c")
        self.ok(self.cc, "-r", "user.o", "library.o", "-o", "both.o")
        self.assertNotIn("NEEDED", self.ok("readelf", "-d", "both.o"))
        self.ok(self.cc, "both.o", "-o", "both")
        self.assert_instrumented("both")

    def test_questions(self):
        plain = self.env["DEADHEAT_CC"]
        for question in (["--version"], ["-dumpmachine"], ["-dumpversion"], ["-print-search-dirs"],
                         ["-print-file-name=libc.so"], ["-print-prog-name=ld"], ["--help"]):
            self.assertEqual(self.ok(self.cc, *question), self.ok(plain, *question), question)
        self.assertEqual(self.call(self.cc, "-v").stderr, self.call(plain, "-v").stderr)
        nothing, ours = self.call(plain), self.call(self.cc)
        self.assertEqual((nothing.returncode, nothing.stderr), (ours.returncode, ours.stderr))

    def test_shows_commands_without_running_them(self):
        done = self.call(self.cc, "-###", "main.c", "-o", "main")
        self.assertEqual(done.returncode, 0)
        self.assertRegex(done.stderr, r"fsanitize=thread")
        self.assertNotIn("libtsan", done.stderr)
        self.assertNotIn("libclang_rt.tsan", done.stderr)
        self.assertFalse(self.exists("main"))
        verbose = self.call(self.cc, "-v", "main.c", "-o", "main")
        self.assertIn("-ldeadheat", verbose.stderr)
        self.assert_instrumented("main")

    def test_response_files(self):
        self.write("objects", "user.o\n'library.o'\n")
        self.write("compile", "-c user.c library.c -DNAME=\\\"quoted\\\"")
        self.ok(self.cc, "@compile")
        self.write("nested", "@objects -o nested.program")
        self.ok(self.cc, "@nested")
        self.assert_instrumented("nested.program")

    def test_link_time_optimisation(self):
        extra = ["-fuse-ld=lld"] if self.compiler == "clang" and os.path.exists("/usr/bin/ld.lld-19") else []
        # Addresses that get out, or the whole program's optimiser removes the variables.
        self.write("library.c", "int shared;\nint* library(int x) { shared = x; return &shared; }\n")
        self.write("user.c", "#include <stdio.h>\nint* library(int); int other;\nint main(int c, char** v) "
                             "{ other = c; return printf(\"%p %p\\n\", (void*)library(c), (void*)&other) < 0; }\n")
        self.ok(self.cc, "-O2", "-flto", "-c", "user.c", "library.c")
        done = self.call(self.cc, "-O2", "-flto", *extra, "user.o", "library.o", "-o", "lto")
        if self.compiler == "clang" and done.returncode != 0 and "LLVMgold" in done.stderr:
            self.skipTest("no LTO linker plugin for clang")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assert_instrumented("lto")
        self.ok(self.cc, "-O2", "-flto", *extra, "user.c", "library.c", "-o", "lto2")
        self.assert_instrumented("lto2")

    def test_precompiled_header(self):
        self.write("all.h", "#include <stdio.h>\nextern int shared;\n")
        output = "all.h.gch" if self.compiler == "gcc" else "all.h.pch"
        self.ok(self.cc, "all.h", "-o", output)
        self.assertTrue(self.exists(output))
        use = ["-include", "all.h"] if self.compiler == "gcc" else ["-include-pch", output]
        self.ok(self.cc, "-Winvalid-pch", *use, "main.c", "-o", "main")
        self.assert_instrumented("main")

    def test_other_sanitizers(self):
        self.ok(self.cc, "-fsanitize=undefined", "main.c", "-o", "main")
        self.assert_instrumented("main")
        self.ok(self.cc, "-fsanitize=thread,undefined", "main.c", "-o", "main")
        self.assert_instrumented("main")
        failed = self.call(self.cc, "-fsanitize=address", "-c", "main.c")
        self.assertNotEqual(failed.returncode, 0)
        self.assertRegex(failed.stderr, r"incompatible|not allowed with")

    def test_fences_are_no_error(self):
        self.write("fence.c", "#include <stdatomic.h>\nint shared;\n"
                              "int main(int c, char** v) { shared = c; atomic_thread_fence(memory_order_seq_cst); return 0; }\n")
        for flags in (["-Werror"], ["-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter"]):
            self.ok(self.cc, *flags, "fence.c", "-o", "fence")
            self.assert_instrumented("fence")
            self.ok(self.cc, *flags, "-O2", "-c", "fence.c")
        if self.compiler == "gcc":
            self.ok(self.cc, "-Werror=tsan", "-c", "fence.c")
            self.ok(self.cc, "-O2", "-flto", "-Werror", "-c", "fence.c")
            self.ok(self.cc, "-O2", "-flto", "-Werror", "fence.o", "-o", "fence")

    def test_errors_are_the_compilers(self):
        self.write("wrong.c", "int main(void) { return undeclared; }\n")
        ours, plain = self.call(self.cc, "wrong.c"), self.call(self.env["DEADHEAT_CC"], "wrong.c")
        self.assertEqual((ours.returncode, ours.stderr), (plain.returncode, plain.stderr))
        missing = self.call(self.cc, "missing.c")
        self.assertEqual(missing.returncode, self.call(self.env["DEADHEAT_CC"], "missing.c").returncode)

    def test_sections_can_be_collected(self):
        # With the plugins the linker keeps unused functions (functions_section.cc): so this one misses nothing.
        self.write("dead.c", "int g; int getpid(void); int unused(void) { g = getpid(); return g; }\n"
                             "int main(int c, char** v) { g = c; return 0; }\n")
        self.ok(self.cc, "-O2", "-ffunction-sections", "-fdata-sections", "-Wl,--gc-sections", "dead.c", "-o", "dead")
        self.assert_instrumented("dead")

    def test_compiler_cache(self):
        if not self.call("sh", "-c", "command -v ccache").stdout:
            self.skipTest("no ccache")
        cache = {"CCACHE_DIR": f"{self.work}/cache", "DEADHEAT_CC": f"ccache {self.env['DEADHEAT_CC']}"}
        for _ in range(2):
            self.ok(self.cc, "-c", "main.c", env=cache)
            self.assertTrue(self.instrumented("main.o"))
        self.assertRegex(self.ok("ccache", "--print-stats", env=cache), r"(direct|preprocessed)_cache_hit\t1")
        self.ok(self.cc, "main.o", "-o", "main", env=cache)
        self.assert_instrumented("main")
        self.ok("ccache", self.cc, "-c", "library.c", env={"CCACHE_DIR": f"{self.work}/cache"})
        self.assertTrue(self.instrumented("library.o"))


class Choice(installation.CompilerCase):
    """Which compiler it becomes. Runs once."""

    def version(self, tool, **env):
        done = self.call(tool, "--version", env=env)
        return done.stdout.split("\n")[0], done.stderr

    def test_named(self):
        self.assertIn("gcc", self.version(self.cc, DEADHEAT_CC="gcc")[0])
        self.assertIn("g++", self.version(self.cxx, DEADHEAT_CXX="", DEADHEAT_CC="gcc")[0])

    def test_missing_falls_back_with_one_line(self):
        line, error = self.version(self.cc, DEADHEAT_CC="no-such-cc")
        self.assertTrue(line)
        self.assertRegex(error, r"^deadheat-cc: DEADHEAT_CC: 'no-such-cc' not found; using \S+\n$")

    def test_itself_is_refused(self):
        done = self.call(self.cc, "--version", env={"DEADHEAT_CC": self.cc})
        if " " in self.cc:  # a command is split at blanks: use a path without one
            link = f"/tmp/deadheat-self-{os.getpid()}"
            os.symlink(self.cc, link)
            done = self.call(self.cc, "--version", env={"DEADHEAT_CC": link})
            os.unlink(link)
        self.assertEqual(done.returncode, 1)
        self.assertIn("names this wrapper itself", done.stderr)

    def test_no_compiler_at_all(self):
        done = self.call(self.cc, "-c", "x.c", env={"PATH": self.work, "DEADHEAT_CC": ""})
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"^deadheat-cc: no compiler found.*\n$")

    def test_no_runtime(self):
        self.write("main.c", "int main(void) { return 0; }\n")
        os.rename(f"{self.installation.lib}/libdeadheat.so", f"{self.installation.lib}/away")
        self.addCleanup(os.rename, f"{self.installation.lib}/away", f"{self.installation.lib}/libdeadheat.so")
        done = self.call(self.cc, "main.c")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"^deadheat-cc: no libdeadheat.so in .*\n$")


globals().update(installation.each_compiler(Calls))
del Calls

if __name__ == "__main__":
    installation.CompilerCase.wrapper = sys.argv.pop(1)
    unittest.main()

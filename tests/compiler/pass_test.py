#!/usr/bin/python3
"""The compilers' plugins: which checks they drop and which they must not, what they mark, what they register.

usage: pass_test.py DEADHEAT_CC
"""
import os
import re
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import installation  # noqa: E402

# name, code, checks expected in the code that clang generates with the pass: (reads, writes).
# `sync` is a call that may synchronise, `opaque` an address that other threads know.
CHECKS = [
    ("read_after_write", "int f(int* p, int* q) { *p = 1; *q = 2; return *p; }", (0, 2)),
    ("write_after_write", "void f(int* p, int* q) { *p = 1; *q = 2; *p = 3; }", (0, 2)),
    ("read_after_read", "int f(int* p, int* q) { int a = *p; *q = 2; return a + *p; }", (1, 1)),
    ("write_after_read_stays", "void f(int* p, int* q, int* r) { *r = *p; *q = 2; *p = 3; }", (0, 3)),
    ("call_between_stays", "int f(int* p) { *p = 1; sync(); return *p; }", (1, 1)),
    ("atomic_between_stays",
     "int f(int* p, int* a) { *p = 1; __atomic_store_n(a, 1, __ATOMIC_RELEASE); return *p; }", (1, 1)),
    ("fence_between_stays",
     "void f(int* p) { *p = 1; __atomic_thread_fence(__ATOMIC_RELEASE); *p = 2; }", (0, 2)),
    ("assembler_between_stays", "void f(int* p) { *p = 1; __asm__ volatile(\"\" ::: \"memory\"); *p = 2; }", (0, 2)),
    ("pure_call_between", "void f(int* p, int* q) { *p = 1; *q = pure(4); *p = 2; }", (0, 2)),
    ("both_branches", "int f(int* p, int* q, int c) { if (c) *p = 1; else { *p = 2; *q = 3; } *q = 4; return *p; }",
     (0, None)),
    ("one_branch_stays", "void f(int* p, int* q, int* r, int c) { if (c) { *p = 1; *q = *r; } sink(0); *p = 2; }", (1, 3)),
    ("call_on_one_path_stays", "int f(int* p, int c) { *p = 1; if (c) sync(); return *p; }", (1, 1)),
    ("part_of_it", "int f(long* p, int* q) { *p = 1; *q = 2; return *(short*)p; }", (0, 2)),
    ("more_than_it_stays", "long f(long* p, int* q) { *(int*)p = 1; *q = 2; return *p; }", (1, 2)),
    ("other_field_stays", "int f(int* p, int* q) { p[0] = 1; *q = 2; return p[1]; }", (1, 2)),
    ("loop_next_value_stays",
     "int f(struct L* l) { int s = 0; while (l) { s += l->v; l = l->n; } return s; }", (2, 0)),
    ("loop_call_stays", "int f(int* p, int n) { int s = *p; for (int i = 0; i < n; i++) { sync(); s += *p; } return s; }",
     (2, 0)),
    ("loop_invariant", "void f(int* p, int n, int* q) { *p = 0; for (int i = 0; i < n; i++) { q[i] = i; *p += i; } }",
     (0, None)),
    ("volatile_stays", "int f(volatile int* p) { *p = 1; return *p; }", (1, 1)),
    ("private_block", "int f(void) { int* p = malloc(64); if (!p) return 0; use_local(p); int r = p[3]; free(p); return r; }",
     (0, 0)),
    ("escaped_local_stays", "int f(void) { int x = 1; opaque = &x; sync(); x = 2; sync(); return x; }", (1, 3)),
    ("escapes_later_stays", "void f(void) { int* p = malloc(4); *p = 1; opaque = p; }", (0, 2)),
]
# name, code, checks expected in front of its loops.
LOOPS = [
    ("whole_array", "void f(int* p, int n) { for (int i = 0; i < n; i++) p[i] = i * i; }", 1),
    ("with_gaps", "void f(int* p, int n) { for (int i = 0; i < n; i++) p[3 * i] = i; }", 1),
    ("downwards", "void f(long* p, int n) { for (int i = n - 1; i >= 0; i--) p[i] = i; }", 1),
    ("unknown_stride", "long f(long* p, long n, long s) { long t = 0; for (long i = 0; i < n; i++) t += p[i * s]; return t; }", 1),
    ("read_of_what_is_written", "void f(int* p, int n) { for (int i = 0; i < n; i++) p[i] += i; }", 1),
    ("neighbours", "void f(long* restrict p, long* q, long n) { for (long i = 1; i < n; i++) p[i] = q[i - 1] + q[i] + q[i + 1]; }", 2),
    ("same_place", "void f(int* p, int* q, int n) { for (int i = 0; i < n; i++) { q[i] = 1; *p += q[i]; } }", 2),
    ("call_stays", "void f(int* p, int n) { for (int i = 0; i < n; i++) { p[i] = i; sync(); } }", 0),
    ("atomic_stays",
     "void f(int* p, int* a, int n) { for (int i = 0; i < n; i++) { p[i] = i; __atomic_store_n(a, i, __ATOMIC_RELEASE); } }", 0),
    ("assembler_stays", "void f(int* p, int n) { for (int i = 0; i < n; i++) { p[i] = i; __asm__ volatile(\"\" ::: \"memory\"); } }", 0),
    ("volatile_stays", "void f(int* p, volatile int* v, int n) { for (int i = 0; i < n; i++) p[i] = *v; }", 0),
    ("other_exit_stays", "int f(int* p, int n) { for (int i = 0; i < n; i++) if (p[i] == 7) return i; return 0; }", 0),
    ("unknown_end_stays", "void f(char* p) { while (*p) *p++ = 1; }", 0),
    ("condition_stays", "void f(int* p, int n) { for (int i = 0; i < n; i++) if (pure(i)) p[i] = i; }", 0),
    ("chain_stays", "int f(struct L* l) { int s = 0; while (l) { s += l->v; l = l->n; } return s; }", 0),
    ("any_place_stays", "void f(int* p, int n) { for (int i = 0; i < n; i++) p[pure(i)] = i; }", 0),
]
HEADER = """#include <stdlib.h>
struct L { struct L* n; int v; };
extern int* opaque;
void sync(void);
int pure(int) __attribute__((const));
void sink(int) __attribute__((const));
__attribute__((noinline)) static void use_local(int* p) { p[3] = pure(2); }
"""


class Pass(installation.CompilerCase):
    compiler = "clang"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if not cls.installation.has_pass:
            raise unittest.SkipTest("the pass was not built (llvm-19-dev)")

    def checks(self, code, *options):
        self.write("f.c", HEADER + code)
        self.ok(self.cc, "-O1", "-w", *options, "-S", "-emit-llvm", "f.c", "-o", "f.ll")
        body = re.search(r"^define[^\n]* @f\(.*?^}", self.read("f.ll"), re.M | re.S).group(0)
        count = lambda kind: len(re.findall(rf"call void @__tsan_(?:unaligned_|volatile_)?{kind}\w*\(", body))  # noqa: E731
        return count("read"), count("write"), body

    def test_loops(self):
        for name, code, expected in LOOPS:
            with self.subTest(name):
                body = self.checks(code, "-g")[2]
                self.assertEqual(len(re.findall(r"call i32 @__deadheat_loop\(", body)), expected, body)

    def test_what_goes_and_what_stays(self):
        for name, code, (reads, writes) in CHECKS:
            with self.subTest(name):
                found_reads, found_writes, body = self.checks(code)
                if reads is not None:
                    self.assertEqual(found_reads, reads, body)
                if writes is not None:
                    self.assertEqual(found_writes, writes, body)

    def test_drops_nothing_without_optimisation(self):
        self.write("f.c", HEADER + "int g; int f(void) { g = 1; g = 2; return g; }")
        self.ok(self.cc, "-O0", "-S", "-emit-llvm", "f.c", "-w")
        self.assertEqual(self.read("f.ll").count("call void @__tsan_write4("), 2)

    def test_says_what_it_did(self):
        self.write("f.c", HEADER + "void f(int* p, int* q) { *p = 1; *q = 2; *p = 3; sync(); }")
        done = self.call(self.cc, "-O1", "-w", "-c", "-Rpass=deadheat", "f.c")
        self.assertIn("f: accesses 3, local 0, covered 1, in loops 0, wide 0, marked calls 1", done.stderr)

    def test_small_copies_are_accesses(self):
        """(code, reads, writes, calls of the range hooks)"""
        header = "struct P { long a[2]; }; struct Q { long a[3]; }; struct R { long a[5]; }; struct C { char a[16]; };\n"
        for name, code, expected in (
                ("copy", "void f(struct P* p, struct P* q) { *p = *q; }", (1, 1, 0)),
                ("copy_of_24", "void f(struct Q* p, struct Q* q) { *p = *q; }", (2, 2, 0)),
                ("overlapping", "void f(char* p) { p = __builtin_assume_aligned(p, 8); __builtin_memmove(p + 8, p, 24); }", (2, 2, 0)),
                ("fill", "void f(struct P* p, int v) { __builtin_memset(p, v, sizeof *p); }", (0, 1, 0)),
                ("large_stays", "void f(struct R* p, struct R* q) { *p = *q; }", (0, 0, 1)),
                ("unaligned_stays", "void f(struct C* p, struct C* q) { *p = *q; }", (0, 0, 1))):
            with self.subTest(name):
                reads, writes, body = self.checks(header + code)
                ranges = len(re.findall(r"call ptr @__tsan_mem\w+\(", body))
                self.assertEqual((reads, writes, ranges), expected, body)

    def test_checks_are_inlined(self):
        code = "void f(char* a, short* b, int* c, long* d) { *a = *b; *c = *d; }"
        hooks = r"call void @__tsan_(?:read|write)\d\(ptr[^\n]*\n\s*br label"  # the miss is a block of its own
        words = "@__deadheat_check_words_2 = external thread_local(initialexec) global"
        for options in (["-O1"], ["-O2", "-fPIC"], ["-O3"], ["-O1", "-flto"]):
            body = self.checks(code, *options)[2]
            self.assertEqual(len(re.findall(hooks, body)), 4, body)
            self.assertEqual(body.count("@__tsan_func_entry"), 1, body)  # ThreadSanitizer's pass has run once
            self.assertIn(words, self.read("f.ll"))
        for options, environment in ((["-Os"], {}), (["-O0"], {}), (["-O1"], {"DEADHEAT_INLINE": "0"})):
            self.env.update(environment)
            reads, writes, body = self.checks(code, *options)
            self.assertNotIn(words, self.read("f.ll"))
            self.assertEqual(body.count("call void @__tsan_func_entry"), 1)
        self.assertEqual((reads, writes), (2, 2), body)

    def test_wide_checks_are_inlined(self):
        vector = "typedef %s V __attribute__((vector_size(%d), aligned(%d))); void f(V* p, V* q) { *p = *q; }"
        for of, size, alignment, expected in (("double", 32, 8, 2), ("float", 64, 16, 2), ("char", 32, 4, 0), ("double", 128, 8, 0)):
            with self.subTest(size=size, alignment=alignment):
                body = self.checks(vector % (of, size, alignment), "-O1")[2]
                self.assertEqual(len(re.findall(r"call void @__tsan_(?:read|write)_range\([^\n]*\n\s*br label", body)), expected, body)

    def test_inlined_checks_say_what_they_did(self):
        self.write("f.c", HEADER + "void f(int* p, int* q) { *p = 1; *q = 2; }")
        self.assertIn("f: inlined 2", self.call(self.cc, "-O1", "-w", "-c", "-Rpass=deadheat", "f.c").stderr)

    def test_wide_accesses_are_checked(self):
        code = ("typedef float V __attribute__((vector_size(32)));\n"
                "void f(V* to, V* from, long double* x) { *to = *from; *x += 1; }")
        reads, writes, body = self.checks(code, "-mavx")
        self.assertEqual((reads, writes), (2, 2), body)
        self.assertIn("@__tsan_write_range(ptr align 32 %0, i64 32)", body)
        self.assertIn("i64 10)", body)

    def test_attribute_switches_it_off(self):
        self.write("off.c", "void ext(void); int g;\n__attribute__((no_sanitize(\"thread\"))) void f(void) { g = 1; ext(); }\n")
        self.ok(self.cc, "-O1", "-c", "off.c")
        self.assertNotIn("__deadheat", self.ok("nm", "off.o"))


class GccPlugin(installation.CompilerCase):
    """The same for gcc, by the calls in its assembly. It makes no one check of neighbours."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if not cls.installation.has_gcc_plugin:
            raise unittest.SkipTest("gcc's plugin was not built (gcc-12-plugin-dev)")

    def checks(self, code, *options):
        self.write("f.c", HEADER + code)
        self.ok(self.cc, "-O1", "-w", *options, "-S", "f.c", "-o", "f.s")
        body = re.search(r"^f:.*?^\t\.size\tf,", self.read("f.s"), re.M | re.S).group(0)
        count = lambda kind: len(re.findall(rf"(?:call|jmp)\t__tsan_(?:volatile_)?{kind}", body))  # noqa: E731
        return count("read"), count("write"), body

    def test_what_goes_and_what_stays(self):
        own = {"write_after_read_stays": (1, 3)}  # clang's pass leaves out the read itself
        for name, code, expected in CHECKS:
            with self.subTest(name):
                reads, writes = own.get(name, expected)
                found_reads, found_writes, body = self.checks(code)
                self.assertIn(reads, (None, found_reads), body)
                self.assertIn(writes, (None, found_writes), body)

    def test_loops(self):
        for name, code, expected in LOOPS:
            with self.subTest(name):
                body = self.checks(code, "-g")[2]
                wanted = 4 if name == "neighbours" else expected
                self.assertEqual(len(re.findall(r"call\t__deadheat_loop", body)), wanted, body)

    test_attribute_switches_it_off = Pass.test_attribute_switches_it_off

    def test_drops_nothing_without_optimisation(self):
        self.write("f.c", HEADER + "int g; int f(void) { g = 1; g = 2; return g; }")
        self.ok(self.cc, "-O0", "-S", "f.c", "-w")
        self.assertEqual(re.search(r"^f:.*?^\t\.size\tf,", self.read("f.s"), re.M | re.S).group(0).count("__tsan_write4"), 2)

    def test_says_what_it_did(self):
        self.write("f.c", HEADER + "int f(int* p, int* q) { *p = 1; *q = 2; int r = *p; sync(); return r; }")
        done = self.call(self.cc, "-O1", "-w", "-c", "-fplugin-arg-deadheat_gcc-remarks", "f.c")
        self.assertIn("f: accesses 3, local 0, covered 1, in loops 0, marked calls 1, assembly 0", done.stderr)

    def test_wide_accesses_are_checked(self):
        reads, writes, body = self.checks("typedef float V __attribute__((vector_size(32)));\n"
                                          "void f(V* to, V* from, long double* x) { *to = *from; *x += 1; }", "-mavx")
        self.assertEqual((reads, writes), (2, 2), body)

    def test_link_time_optimisation(self):
        self.write("out.c", "int out(int* a) { return *a; }\n")
        self.ok("gcc", "-c", "-O2", "out.c")
        self.write("main.c", "int out(int*); int main(void) { int x = 0; return out(&x); }\n")
        self.ok(self.cc, "-O2", "-flto", "-c", "main.c")
        self.ok(self.cc, "-O2", "-flto", "main.o", "out.o", "-rdynamic", "-o", "main")
        self.assertEqual(Regions.story(self, "main"), ["begin out 0", "end"])

    def test_another_gcc_is_left_alone(self):
        """A plugin for another version: one line, and the build goes on."""
        self.write("f.c", "int f(int* p) { return *p; }\n")
        plugin = f"{self.installation.lib}/gcc-12/deadheat_gcc.so"
        text = open(plugin, "rb").read()
        version = subprocess.run(["gcc", "-dumpfullversion"], capture_output=True, check=True).stdout.strip()
        with open(os.path.join(self.work, "deadheat_gcc.so"), "wb") as file:
            file.write(text.replace(version + b"\0", b"9" * len(version) + b"\0"))
        done = self.call("gcc", "-fplugin=./deadheat_gcc.so", "-fsanitize=thread", "-c", "f.c")
        self.assertEqual((done.returncode, done.stderr.count("\n")), (0, 1), done.stderr)
        self.assertIn("calls into uninstrumented code are not marked", done.stderr)


class Regions(installation.CompilerCase):
    compiler = "clang"

    setUpClass = Pass.setUpClass

    def story(self, program, env=None):
        done = self.call(f"./{program}", env={"WITNESS": "regions", **(env or {})})
        self.assertEqual(done.returncode, 0, done.stderr)
        return [line for line in done.stderr.splitlines() if not line.startswith("witness:")]

    def outside(self, name, code, *options):
        """Compiles without instrumentation."""
        self.write(name, code)
        compiler = self.env["DEADHEAT_CXX" if name.endswith(".cc") else "DEADHEAT_CC"]
        self.ok(compiler, "-c", "-fPIC", "-O1", *options, name)

    def test_calls_out_are_marked_with_their_pointers(self):
        self.outside("out.c", "int number = 5; int* out(int* a, long n, int* b) { (void)n; *a += *b; return &number; }\n"
                              "int quiet(int x) { return x; }\n")
        self.write("in.c", "int inside(int* p) { *p = 9; return 0; }\n")
        self.write("main.c", "#include <stdio.h>\nint* out(int*, long, int*); int quiet(int); int inside(int*);\n"
                             "int main(void) { int a = 1, b = 2; int* r = out(&a, 7, &b); printf(\"\");\n"
                             "for (int i = 0; i < 2; i++) inside(&a); return *r - 5 + quiet(0); }\n")
        expected = ["begin out 1 2", "end 5", "known inside", "begin quiet", "end"]
        for options in (["-O0"], ["-O2"], ["-O2", "-fno-pie", "-no-pie"], ["-O2", "-fPIC"]):
            self.ok(self.cc, *options, "main.c", "in.c", "out.o", "-rdynamic", "-o", "main")
            self.assertEqual(self.story("main"), expected, options)
        self.ok(self.cc, "-shared", "-nostartfiles", "out.o", "-o", "libout.so")
        self.ok(self.cc, "-fPIC", "-shared", "in.c", "-o", "libin.so")
        for options in (["-O2"], ["-O2", "-fno-pie", "-no-pie"], ["-O2", "-fno-plt"]):
            self.ok(self.cc, *options, "main.c", "-L.", "-lin", "-lout", "-Wl,-rpath,.", "-o", "main")
            self.assertEqual(self.story("main"), expected, options)

    def test_indirect_calls(self):
        self.outside("out.c", "int out(int* a) { return *a; }\n")
        self.write("main.c", "int out(int*); __attribute__((noinline)) int in(int* a) { *a = 3; return 0; }\n"
                             "int (*volatile pointer)(int*); __attribute__((noinline)) void call(int* x) { pointer(x); }\n"
                             "int main(void) { int x = 4; for (int i = 0; i < 4; i++) { pointer = i < 2 ? in : out; "
                             "call(&x); } return 0; }\n")
        self.ok(self.cc, "-O2", "main.c", "out.o", "-rdynamic", "-o", "main")
        self.assertEqual(self.story("main"), ["known in", "begin out 3", "end", "begin out 3", "end"])

    def test_exceptions_end_regions(self):
        self.outside("out.cc", "void out(int* a) { if (*a) throw *a; }\n")
        self.write("main.cc", "void out(int*); struct S { ~S() { g++; } static int g; }; int S::g;\n"
                              "int main() { int x = 0; out(&x); x = 7; try { S s; out(&x); } catch (int e) { x = e - 7; }\n"
                              "out(&x); return x; }\n")
        for level in ("-O0", "-O2"):
            self.ok(self.cxx, level, "main.cc", "out.o", "-rdynamic", "-o", "main")
            self.assertEqual(self.story("main"), ["begin _Z3outPi 0", "end", "begin _Z3outPi 7", "end",
                                                  "begin _Z3outPi 0", "end"], level)

    def test_structure_results_and_by_value(self):
        self.outside("out.c", "struct B { int a[8]; int* p; }; struct P { int* p; long n; };\n"
                              "struct B big(struct B b) { b.a[0]++; return b; }\n"
                              "struct P pair(int* x) { struct P r = {x, 1}; return r; }\n")
        self.write("main.c", "struct B { int a[8]; int* p; }; struct P { int* p; long n; };\n"
                             "struct B big(struct B); struct P pair(int*);\n"
                             "int main(void) { int x = 6; struct B b = {{2}, &x}; b = big(b); return *pair(b.p).p - 6; }\n")
        self.ok(self.cc, "-O1", "main.c", "out.o", "-rdynamic", "-o", "main")
        story = self.story("main")
        self.assertRegex(story[0], r"^begin big -?\d+ 2$")  # place of the result, copy of the argument
        self.assertEqual(story[1:], ["end", "begin pair 6", "end 6"])

    def test_left_alone(self):
        self.outside("out.c", "#include <stdlib.h>\nint out(int x) { return x; } void leave(void) { exit(0); }\n")
        self.write("main.c", "int out(int); void leave(void) __attribute__((noreturn)); int g;\n"
                             "__attribute__((noinline)) int tail(int x) { g = x; __attribute__((musttail)) return out(x); }\n"
                             "int main(void) { tail(1); __asm__ volatile(\"\"); leave(); }\n")
        self.ok(self.cc, "-O1", "main.c", "out.o", "-rdynamic", "-o", "main")
        self.assertEqual(self.story("main"), [])

    def test_library_functions_are_known(self):
        self.write("main.cc", "#include <string>\n#include <iostream>\n#include <thread>\n#include <vector>\n#include <cmath>\n"
                              "int main(int c, char**) { std::vector<std::string> v(c, \"x\"); std::thread t([&] { v[0] += 'y'; });\n"
                              "t.join(); std::cout << v[0] << std::sqrt(c) << std::endl; return 0; }\n")
        for level in ("-O0", "-O2"):
            self.ok(self.cxx, level, "main.cc", "-rdynamic", "-o", "main")
            self.assertEqual([line for line in self.story("main") if not line.startswith("known")], [], level)

    def test_inline_copy_without_instrumentation_is_not_registered(self):
        code = "int g; inline __attribute__((noinline)) int twice(int* p) { *p *= 2; return *p; }\n"
        self.outside("out.cc", code.replace("int g;", "") + "int (*outside)(int*) = twice;\n")
        self.write("main.cc", code + "extern int (*volatile outside)(int*); int (*volatile inside)(int*) = twice;\n"
                                     "int main() { int x = 1; inside(&x); return x - 2; }\n")
        self.ok(self.cxx, "-O1", "-c", "main.cc")
        self.ok(self.cxx, "out.o", "main.o", "-rdynamic", "-o", "theirs")
        self.assertEqual(self.story("theirs"), ["begin _Z5twicePi 1", "end"])
        self.ok(self.cxx, "main.o", "out.o", "-rdynamic", "-o", "ours")
        self.assertEqual(self.story("ours"), ["known _Z5twicePi"])

    def test_section_is_there(self):
        self.write("main.c", "int g; int main(int c, char** v) { g = c; return 0; }\n")
        self.ok(self.cc, "main.c", "-o", "main")
        self.assertIn("deadheat_functions", self.ok("readelf", "-SW", "main"))
        self.assertEqual(self.witness("./main")["functions"], 1)


class GccRegions(Regions):
    compiler = "gcc"

    setUpClass = GccPlugin.setUpClass

    def test_left_alone(self):
        """But for tail calls by demand, which gcc 12's C has not."""
        self.outside("out.c", "#include <stdlib.h>\nvoid leave(void) { exit(0); }\n")
        self.write("main.c", "void leave(void) __attribute__((noreturn));\n"
                             "int main(void) { __asm__ volatile(\"\"); leave(); }\n")
        self.ok(self.cc, "-O1", "main.c", "out.o", "-rdynamic", "-o", "main")
        self.assertEqual(self.story("main"), [])


if __name__ == "__main__":
    installation.CompilerCase.wrapper = sys.argv.pop(1)
    unittest.main()

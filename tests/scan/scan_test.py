#!/usr/bin/python3
"""deadheat-cc --scan and deadheat scan, end to end: what is found, what is not, and what cannot be scanned.

usage: scan_test.py DEADHEAT DEADHEAT_CC EXAMPLES
"""
import json
import os
import shutil

from scan_case import COMPILER, COUNTER, DEADHEAT, EXAMPLES, THREADS, Case, main

SAFE = """#include <pthread.h>
static int total;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void* add(void* unused) { pthread_mutex_lock(&lock); total++; pthread_mutex_unlock(&lock); return unused; }
int main(void) {
  pthread_t one, other;
  pthread_create(&one, 0, add, 0);
  pthread_create(&other, 0, add, 0);
  pthread_join(one, 0);
  pthread_join(other, 0);
  return total != 2;
}
"""


class Scan(Case):
    """A program, its safe twin, and what cannot be scanned."""

    def test_copies_between_many_records_end(self):
        """Each record may be copied to each: a copy needs an edge for each field of each record, not of each two records."""
        records, fields = 600, 60
        lines = ["#include <pthread.h>", "#include <string.h>", f"struct record {{ void* field[1]; {''.join(f'void* f{i};' for i in range(fields))} }};",
                 "int total, first;", f"struct record* all[{records}];"]
        lines += [f"static struct record r{i};" for i in range(records)]
        lines += ["static void* work(void* at) {", f"  *(int*)all[3]->f{fields - 1} += 1;", "  return at;", "}", "int main(int n, char** words) {"]
        lines += [f"  all[{i}] = &r{i}; r{i}.f{i % fields} = &first;" for i in range(records)]
        lines += [f"  r7.f{fields - 1} = &total;"]
        lines += [f"  memcpy(all[n + {i}], all[2 * n + {i}], sizeof(struct record));" for i in range(60)]
        lines += ["  pthread_t one, other;", "  pthread_create(&one, 0, work, words);", "  pthread_create(&other, 0, work, words);",
                  "  pthread_join(one, 0);", "  pthread_join(other, 0);", "  return 0;", "}"]
        self.build(self.write("records.c", "\n".join(lines)), "--scan")
        done = self.scan()
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(self.path("f.json"), encoding="utf-8") as file:
            self.assertIn("Data race on total", file.read())  # reached through a copied pointer

    def anything_anywhere(self, kinds, *options):
        """Counters of a scan where each of `kinds` records may be behind each pointer, as where one register of an interpreter
        holds all: each has a table of functions and a few fields, and all meet in one array of bytes."""
        records = "".join(f"""
struct t{i} {{ void (*run)(struct t{i}*, void*); void* a; void* b; long n; }};
static void run{i}(struct t{i}* me, void* other) {{ me->a = other; me->b = any[me->n % 64]; any[me->n % 63] = me->a; me->n++; }}
static struct t{i}* make{i}(void) {{ struct t{i}* made = calloc(1, sizeof *made + any_size); made->run = run{i}; any[{i % 64}] = made; return made; }}
static void use{i}(void) {{ struct t{i}* one = any[{(i * 7) % 64}]; void* copy[4]; memcpy(copy, one, any_size); one->run(one, copy[{i % 4}]); }}"""
                          for i in range(kinds))
        body = "".join(f"make{i}(); use{i}(); " for i in range(kinds))
        calls = "".join(f"use{i}(); " for i in range(kinds))
        self.build(self.two_threads(body, calls + "total++;", "static void* any[64]; unsigned any_size; int total;" + records), "--scan")
        done = self.scan("--no-own-objects", *options)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(self.path("f.json"), encoding="utf-8") as file:
            text = file.read()
        self.assertIn("Data race on total", text)
        self.assertIn("Data race on any", text)
        self.assertIn("allocated in make", text)
        return {one["name"]: one["value"] for one in json.loads(text)["origins"][0]["counters"]}

    def test_work_for_pointers_grows_with_the_program(self):
        """Counted, not timed. Each load through each pointer to each record would grow by 8 where the program grows by 2."""
        small, large = self.anything_anywhere(40), self.anything_anywhere(80)
        self.assertLess(large["pointer_work"], 5 * small["pointer_work"], (small, large))

    def test_pointers_are_followed_in_a_coarser_way_before_nothing_is_found(self):
        exact = self.anything_anywhere(40)
        coarse = self.anything_anywhere(40, "--pointer-work", "1")
        self.assertEqual(exact.get("pointers_merged", 0), 0)
        self.assertGreater(coarse["pointers_merged"], 0)
        # What is coarse has to be cheap: merged nodes that meet each record at each load cost nine times as much as the exact ones.
        self.assertLess(coarse["pointer_work"], exact["pointer_work"])
        self.assertEqual(coarse.get("pointers_not_followed", 0), 0)

    def two_threads(self, body, work, more=""):
        """A program whose two threads run `work`, after `body` in main."""
        return self.write("two.c", f"""#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
{more}
static void* work(void* at) {{ {work} return at; }}
int main(int n, char** words) {{
  {body}
  pthread_t one, other;
  pthread_create(&one, 0, work, words);
  pthread_create(&other, 0, work, words);
  pthread_join(one, 0);
  pthread_join(other, 0);
  return n == 7;
}}
""")

    def test_pointers_that_go_odd_ways(self):
        """The rules that keep pointers apart lose none of these; a lock around the access makes each safe."""
        lock = "static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;"
        ways = {
            "a tag in the low bits": ("all = (uintptr_t)malloc(8) | 1;", "++*(int*)(all & ~(uintptr_t)1);", "static uintptr_t all;"),
            "the record around a member": (
                "struct item* made = calloc(1, sizeof *made); made->link.next = head; head = &made->link;",
                "for (struct link* l = head; l; l = l->next) ((struct item*)((char*)l - 8))->count++;",
                "struct link { struct link* next; }; struct item { long count; struct link link; }; static struct link* head;"),
            "an element of a container of bytes": (
                "int* block = calloc(1, 8); ring = malloc(size * 64); memcpy(ring + n * size, &block, size);",
                "int* mine; memcpy(&mine, ring + (at != 0) * size, size); ++*mine;",
                "static char* ring; static size_t size = sizeof(int*);"),
            "records that begin alike": (
                "struct large* made = calloc(1, sizeof *made); all = (struct small*)made;", "all->count++;",
                "struct small { int kind, count; }; struct large { int kind, count; char* text; }; static struct small* all;"),
            "a byte at a time": ("text = calloc(64, 1);", "for (char* p = text; *p == 0 && p < text + 64; ++p) *p = 1;", "static char* text;"),
        }
        for name, (body, work, more) in ways.items():
            for safe in (False, True):
                held = f"pthread_mutex_lock(&lock); {work} pthread_mutex_unlock(&lock);" if safe else work
                with self.subTest(name, safe=safe):
                    self.build(self.two_threads(body, held, more + lock), "--scan")
                    done = self.scan("--fail-on", "candidate")
                    self.assertEqual(done.returncode, 0 if safe else 66, done.stdout + done.stderr)

    def test_fields_of_a_large_record_are_told_apart(self):
        """Nobody names the record where it is allocated: the variable that it goes into does."""
        fields = 40
        record = f"struct all {{ {''.join(f'int f{i}, g{i};' for i in range(fields))} }}; static struct all* all; static pthread_mutex_t one, other;"
        halves = ["".join(f"all->f{i}++; " for i in range(fields) if i % 2 == odd) for odd in (0, 1)]
        work = f"pthread_mutex_lock(&one); {halves[0]} pthread_mutex_unlock(&one); pthread_mutex_lock(&other); {halves[1]} pthread_mutex_unlock(&other);"
        for racy, more in ((False, ""), (True, f"all->f{fields - 1}++;")):
            with self.subTest(racy=racy):
                self.build(self.two_threads("all = valloc(sizeof *all);", work + more, record), "--scan")
                done = self.scan("--fail-on", "candidate")
                self.assertEqual(done.returncode, 66 if racy else 0, done.stdout + done.stderr)

    def test_the_time_is_over(self):
        """The scan ends, says what it left out, and proves nothing."""
        self.build(os.path.join(EXAMPLES, "bank.c"), "--scan")
        done = self.scan("--time", "0.000001", "--facts", self.path("facts.json"))
        self.assertEqual(done.returncode, 75, done.stderr)
        self.assertIn("the time is short (--time)", done.stderr)
        self.assertRegex(done.stdout, r"No races found so far\W")
        self.assertRegex(done.stdout, r"Incomplete: .*pointers were not followed to the end because the time was over")
        with open(self.path("f.json"), encoding="utf-8") as file:
            counters = {one["name"]: one["value"] for one in json.load(file)["origins"][0]["counters"]}
        self.assertGreater(counters["pointers_not_followed"], 0)
        with open(self.path("facts.json"), encoding="utf-8") as file:
            self.assertEqual(json.load(file)["facts"], [])
        self.assertEqual(self.scan("--time", "0").returncode, 0)
        with open(self.path("f.json"), encoding="utf-8") as file:
            self.assertEqual(len(json.load(file)["findings"]), 2)

    def test_blocks_of_an_allocator_of_ones_own_are_told_apart(self):
        """Each call of it makes an object, also through a table of functions and a free list."""
        allocator = """
struct block { struct block* next; }; static struct block* spare; static pthread_mutex_t pool = PTHREAD_MUTEX_INITIALIZER;
static void* take_alloc(size_t size) {
  pthread_mutex_lock(&pool);
  struct block* found = spare;
  if (found) spare = found->next; else found = malloc(size);
  pthread_mutex_unlock(&pool);
  return found;
}
static void give_free(void* block) {
  pthread_mutex_lock(&pool);
  ((struct block*)block)->next = spare; spare = block;
  pthread_mutex_unlock(&pool);
}
static struct { void* (*make)(size_t); void (*end)(void*); } methods = {take_alloc, give_free};
"""
        body = "long* mine = methods.make(64); mine[0] = 1; shared = methods.make(64); give_free(methods.make(64));"
        for safe in (False, True):
            use = ("pthread_mutex_lock(&lock); long* own = methods.make(64); *own = 1; if (shared) *shared += 1;"
                   " pthread_mutex_unlock(&lock); methods.end(own);")
            use = use if safe else "long* own = methods.make(64); *own = 1; if (shared) *shared += 1; methods.end(own);"
            with self.subTest(safe=safe):
                self.build(self.two_threads(body, use, allocator + "static long* shared; static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;"),
                           "--scan")
                done = self.scan("--fail-on", "candidate")
                self.assertEqual(done.returncode, 0 if safe else 66, done.stdout + done.stderr)

    def test_a_free_list_without_a_lock(self):
        """The block that a function takes back is an object with a name."""
        own = ("struct block { struct block* next; }; static struct block* spare;"
               "static void give_free(void* at) { struct block *given = at, *was = spare; spare = given; given->next = was; }")
        self.build(self.two_threads("", "give_free(malloc(64));", own), "--scan")
        done = self.scan("--fail-on", "candidate")
        self.assertEqual(done.returncode, 66, done.stdout + done.stderr)
        self.assertIn("freed block", done.stdout)

    def test_the_bank_has_two_candidates_and_no_alarm(self):
        self.build(os.path.join(EXAMPLES, "bank.c"), "--scan")
        done = self.scan()
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(self.path("f.json"), encoding="utf-8") as file:
            findings = json.load(file)["findings"]
        self.assertEqual(len(findings), 2)
        self.assertIn("DH-498a5e64", done.stdout)  # the id that check has for the same race (README)
        self.assertEqual(self.scan("--fail-on", "candidate").returncode, 66)

    def test_its_safe_twin(self):
        self.build(self.write("safe.c", SAFE), "--scan")
        done = self.scan("--fail-on", "candidate")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_what_has_no_bitcode_cannot_be_scanned(self):
        self.build(os.path.join(EXAMPLES, "bank.c"))
        done = self.scan()
        self.assertEqual(done.returncode, 77)
        self.assertIn("--scan", done.stderr)

    def test_gcc_keeps_bitcode_and_strip_removes_it(self):
        self.build(os.path.join(EXAMPLES, "bank.c"), "--scan", compiler="gcc")
        self.assertEqual(self.scan("--fail-on", "candidate").returncode, 66)
        self.assertEqual(self.run_in("strip", self.path("program")).returncode, 0)
        self.assertEqual(self.scan().returncode, 77)


class Inputs(Case):
    """Archives, libraries and lists, whole and damaged."""

    def compile(self, name, text, *options):
        source = self.write(name + ".c", text)
        done = self.run_in(COMPILER, "--scan", "-g", "-O1", "-fPIC", "-fno-sanitize=thread", *options, "-c", source, "-o", self.path(name + ".o"))
        self.assertEqual(done.returncode, 0, done.stderr)
        return self.path(name + ".o")

    def two_parts(self):
        """A counter that one object holds and the other's threads increment."""
        return self.compile("counter", COUNTER), self.compile("threads", THREADS)

    def candidates(self, *inputs):
        done = self.run_in(DEADHEAT, "scan", *inputs, "--findings", self.path("f.json"))
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(self.path("f.json"), encoding="utf-8") as file:
            document = json.load(file)
        self.errors = done.stderr
        return document["findings"]

    def link(self, *words):
        done = self.run_in(COMPILER, "-fno-sanitize=thread", *words, "-pthread", "-o", self.path("program"))
        self.assertEqual(done.returncode, 0, done.stderr)
        return self.path("program")

    def test_an_archive_with_a_member_twice(self):
        counter, threads = self.two_parts()
        self.assertEqual(self.run_in("ar", "qc", self.path("libcounter.a"), counter, counter).returncode, 0)
        self.assertTrue(self.candidates(self.link(threads, self.path("libcounter.a"))))
        self.assertTrue(self.candidates(threads, self.path("libcounter.a")))

    def test_a_shared_library(self):
        counter, threads = self.two_parts()
        done = self.run_in(COMPILER, "-fno-sanitize=thread", "-shared", counter, "-o", self.path("libcounter.so"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(self.candidates(self.link(threads, self.path("libcounter.so"))))
        # Alone it has no main: what it exports may run in parallel with itself.
        self.assertTrue(self.candidates(self.path("libcounter.so")))
        self.assertFalse(self.candidates(self.path("libcounter.so"), "--entry", "peek"))

    def test_a_relocatable_link_and_a_compilation_database(self):
        counter, threads = self.two_parts()
        self.assertEqual(self.run_in("ld", "-r", counter, threads, "-o", self.path("both.o")).returncode, 0)
        self.assertTrue(self.candidates(self.path("both.o")))
        commands = [{"directory": self.folder, "file": name, "command": f"cc -c {name}.c -o {name}.o"} for name in ("counter", "threads")]
        self.assertTrue(self.candidates(self.write("compile_commands.json", json.dumps(commands))))

    def test_what_is_damaged_is_named_and_the_rest_analysed(self):
        counter, threads = self.two_parts()
        bad = self.write("bad.bc", "BC\xc0\xde not bitcode")
        self.assertTrue(self.candidates(counter, threads, bad))
        self.assertIn("bad.bc", self.errors)
        self.assertTrue(self.candidates(counter, threads, self.path("not there.o")))
        self.assertIn("not there.o", self.errors)

    def test_nothing_readable(self):
        for name in (self.write("bad.bc", "BC"), self.write("empty.o", ""), self.write("text.json", "{"), self.path("nothing")):
            done = self.run_in(DEADHEAT, "scan", name)
            self.assertEqual(done.returncode, 77, name + done.stderr)
            self.assertIn("nothing to analyse", done.stderr)

    def test_a_huge_switch(self):
        cases = "".join(f"case {i}: total += {i % 7}; break;\n" for i in range(3000))
        huge = self.compile("huge", "extern int total; void add(int which) { switch (which) {" + cases + "} }")
        threads = self.compile("threads", THREADS.replace("count(", "add("))
        self.assertTrue(self.candidates(huge, threads, self.compile("total", "int total;")))

    def test_a_scan_that_is_killed(self):
        os.mkdir(self.path("bin"))
        shutil.copy(DEADHEAT, self.path("bin/deadheat"))
        with open(self.path("bin/deadheat-scan"), "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\nkill -KILL $$\n")
        os.chmod(self.path("bin/deadheat-scan"), 0o755)
        done = self.run_in(self.path("bin/deadheat"), "scan", "program")
        self.assertEqual(done.returncode, 77)
        self.assertIn("ended by signal 9", done.stderr)


# Programs with `LOCK` and `UNLOCK` around the racy access: with them each is safe.


class Confirming(Case):
    """Scan's candidates and lists, decided by the scheduler."""

    def setUp(self):
        super().setUp()
        self.build(os.path.join(EXAMPLES, "bank.c"), "--scan")

    def findings(self, name):
        with open(self.path(name), encoding="utf-8") as file:
            return json.load(file)["findings"]

    def test_check_adds_static_candidates_to_the_same_rows(self):
        done = self.run_in(DEADHEAT, "check", "--static", "--trials", "20", "--time", "60", "--findings", self.path("c.json"), "--",
                           self.path("program"))
        self.assertEqual(done.returncode, 66, done.stderr)
        found = self.findings("c.json")
        both = [entry for entry in found if {"scan", "run"} <= set(entry["found_by"])]
        self.assertTrue(both, [entry["found_by"] for entry in found])
        titles = [entry["title"] for entry in found]
        self.assertEqual(len(titles), len(set(titles)), titles)  # no race is there twice

    def test_a_program_without_bitcode_is_said(self):
        self.build(os.path.join(EXAMPLES, "bank.c"))
        done = self.run_in(DEADHEAT, "check", "--static", "--trials", "1", "--time", "60", "--findings", self.path("c.json"), "--",
                           self.path("program"))
        self.assertIn("could not be scanned", done.stderr)

    def test_a_plain_list(self):
        places = ["bank.c:13 bank.c:20  # savings", "bank.c:14 bank.c:21", "bank.c:13 bank.c:14  # both under the lock"]
        text = "".join(place + "\n" for place in places)
        candidates = self.write("list.txt", text)
        done = self.run_in(DEADHEAT, "confirm", candidates, "--trials", "20", "--time", "60", "--", self.path("program"))
        self.assertEqual(done.returncode, 66, done.stdout + done.stderr)
        with open(candidates, encoding="utf-8") as file:
            self.assertEqual(file.read(), text)
        # A race is a row of its own: the list does not say what is done at its places.
        states = [entry["verdict"]["state"] for entry in self.findings("list.txt.findings.json")]
        self.assertEqual(states.count("true_race"), 2, states)
        done = self.run_in(DEADHEAT, "confirm", self.write("bad.txt", "bank.c"), "--", self.path("program"))
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("line 1", done.stderr)

    def test_check_takes_a_list_too(self):
        """The pair under the lock, which neither a run nor a recording suspects, is tried; the two races stay two rows."""
        candidates = self.write("list.txt", "bank.c:13 bank.c:14\n")
        done = self.run_in(DEADHEAT, "check", "--candidates", candidates, "--trials", "20", "--time", "60", "--findings", "f.json", "--", self.path("program"))
        self.assertEqual(done.returncode, 66, done.stdout + done.stderr)
        self.assertIn("confirming 3\n", done.stderr)
        states = [entry["verdict"]["state"] for entry in self.findings("f.json")]
        self.assertEqual((len(states), states.count("true_race")), (3, 2), states)
        done = self.run_in(DEADHEAT, "check", "--candidates", self.write("bad.txt", "bank.c"), "--", self.path("program"))
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("line 1", done.stderr)


if __name__ == "__main__":
    main()

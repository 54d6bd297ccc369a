#!/usr/bin/python3
"""What scan finds of memory that several threads reach, and what it leaves out by an assumption.

usage: sharing_test.py DEADHEAT DEADHEAT_CC EXAMPLES
"""
import json

from scan_case import COUNTER, DEADHEAT, THREADS, Case, main

SHARED_BY_MANY = {
    "one block for all threads of a loop": """
struct box { pthread_mutex_t lock; int value; };
static void* work(void* at) { struct box* box = at; LOCK(box->lock); box->value++; UNLOCK(box->lock); return 0; }
int main(void) {
  struct box* box = calloc(1, sizeof *box);
  pthread_t all[4];
  for (int i = 0; i < 4; i++) pthread_create(&all[i], 0, work, box);
  for (int i = 0; i < 4; i++) pthread_join(all[i], 0);
  return box->value;
}""",
    "one element for all threads of a loop": """
struct slot { pthread_mutex_t lock; int value; };
static void* work(void* at) { struct slot* slot = at; LOCK(slot->lock); slot->value++; UNLOCK(slot->lock); return 0; }
int main(int n, char** words) {
  struct slot* slots = calloc(4, sizeof *slots);
  pthread_t all[4];
  for (int i = 0; i < 4; i++) pthread_create(&all[i], 0, work, &slots[n]);
  for (int i = 0; i < 4; i++) pthread_join(all[i], 0);
  return words == 0;
}""",
    "blocks that a thread puts where the others find them": """
struct node { struct node* next; int value; };
struct box { pthread_mutex_t lock; struct node* first; };
static void* work(void* at) {
  struct box* box = at;
  struct node* made = calloc(1, sizeof *made);
  pthread_mutex_lock(&box->lock);
  made->next = box->first;
  box->first = made;
  struct node* found = box->first->next;
  pthread_mutex_unlock(&box->lock);
  if (found) { LOCK(box->lock); found->value++; UNLOCK(box->lock); }
  return 0;
}
int main(void) {
  struct box* box = calloc(1, sizeof *box);
  pthread_t all[4];
  for (int i = 0; i < 4; i++) pthread_create(&all[i], 0, work, box);
  for (int i = 0; i < 4; i++) pthread_join(all[i], 0);
  return 0;
}""",
    "a library's object, which callers hand over": """
struct handle { pthread_mutex_t lock; int uses; };
struct handle* lib_open(void) { return calloc(1, sizeof(struct handle)); }
void lib_use(struct handle* it) { LOCK(it->lock); it->uses++; UNLOCK(it->lock); }""",
    "a record of a library's callers": """
struct state { pthread_mutex_t lock; int uses; };
void lib_use(struct state* it) { LOCK(it->lock); it->uses++; UNLOCK(it->lock); }""",
    "what an event loop calls, beside a thread": """
struct event { void* inner[16]; };
struct event_base;
struct event_base* event_base_new(void);
void event_set(struct event*, int, short, void (*)(int, short, void*), void*);
int event_base_set(struct event_base*, struct event*);
int event_base_loop(struct event_base*, int);
static struct event_base *of_main, *of_worker;
static struct event tick, work_item;
static pthread_mutex_t lock;
static int ticks, jobs;
static void on_tick(int f, short w, void* at) { ticks++; LOCK(lock); jobs++; UNLOCK(lock); }  // only in main's loop: ticks are safe
static void on_work(int f, short w, void* at) { LOCK(lock); jobs++; UNLOCK(lock); }
static void* work(void* at) { event_base_loop(of_worker, 0); return at; }
int main(void) {
  of_main = event_base_new();
  of_worker = event_base_new();
  event_set(&tick, -1, 0, on_tick, 0);
  event_base_set(of_main, &tick);
  event_set(&work_item, -1, 0, on_work, 0);
  event_base_set(of_worker, &work_item);
  pthread_t one;
  pthread_create(&one, 0, work, 0);
  event_base_loop(of_main, 0);
  return pthread_join(one, 0);
}""",
}


class Sharing(Case):
    """What several threads reach, however they come to it; and what is left out by an assumption."""

    def fails(self, name, text, *options, language="c"):
        source = self.write(f"{name}.{language}", text)
        bitcode = self.path(name + ".bc")
        done = self.run_in("clang-19", "-g", "-O1", "-w", "-Xclang", "-disable-llvm-passes", "-emit-llvm", "-c", source, "-o", bitcode)
        self.assertEqual(done.returncode, 0, done.stderr)
        done = self.run_in(DEADHEAT, "scan", bitcode, "--fail-on", "candidate", "--findings", self.path("f.json"), *options)
        self.assertIn(done.returncode, (0, 66), done.stderr)
        self.errors = done.stderr
        return done.returncode == 66

    def test_what_threads_share(self):
        for number, (name, text) in enumerate(SHARED_BY_MANY.items()):
            for safe in (False, True):
                locks = ("#define LOCK(l) pthread_mutex_lock(&l)\n#define UNLOCK(l) pthread_mutex_unlock(&l)\n" if safe
                         else "#define LOCK(l)\n#define UNLOCK(l)\n")
                with self.subTest(name, safe=safe):
                    self.assertEqual(self.fails(f"p{number}", "#include <pthread.h>\n#include <stdlib.h>\n" + locks + text), not safe)

    def test_two_mutexes_at_once(self):
        program = """#include <mutex>
#include <thread>
struct account { std::mutex lock; int money; };
static account one, other;
static void move(account& a, account& b) { HOLD a.money--; b.money++; }
int main() { std::thread t([] { move(one, other); }); move(other, one); t.join(); }
"""
        for hold, racy in (("", True), ("std::scoped_lock held(a.lock, b.lock);", False)):
            with self.subTest(racy=racy):
                self.fails("two", f"#define HOLD {hold}\n" + program, language="cc")
                with open(self.path("f.json"), encoding="utf-8") as file:
                    self.assertEqual("money" in file.read(), racy)

    def test_memory_that_is_not_published_yet(self):
        """Filled in before a relaxed store shows it to others: left out, counted, and listed if asked for."""
        program = """#include <pthread.h>
#include <stdlib.h>
static int* shown;
static void* work(void* at) { int* seen = __atomic_load_n(&shown, __ATOMIC_RELAXED); return seen ? (void*)(long)*seen : at; }
int main(void) {
  pthread_t one;
  pthread_create(&one, 0, work, 0);
  int* made = malloc(4);
  *made = 7;
  __atomic_store_n(&shown, made, __ATOMIC_RELAXED);
  return pthread_join(one, 0);
}
"""
        self.assertFalse(self.fails("shown", program))
        with open(self.path("f.json"), encoding="utf-8") as file:
            counters = {one["name"]: one["value"] for one in json.load(file)["origins"][0]["counters"]}
        self.assertGreater(counters["accesses_not_published"], 0)
        self.assertTrue(self.fails("shown", program, "--no-unpublished"))

    def test_what_has_not_changed_is_not_analysed_again(self):
        found = []
        for options, again in (((), False), ((), True), (("--contexts", "3"), False), (("--no-cache",), False)):
            self.assertTrue(self.fails("kept", THREADS + COUNTER, *options))
            self.assertEqual("nothing has changed" in self.errors, again, self.errors)
            found.append(self.findings_without_times())
        self.assertEqual(found[0], found[1])
        self.fails("kept", (THREADS + COUNTER).replace("n;", "2 * n;"))
        self.assertNotIn("nothing has changed", self.errors)

    def findings_without_times(self):
        with open(self.path("f.json"), encoding="utf-8") as file:
            return json.load(file)["findings"]


if __name__ == "__main__":
    main()

"""What proc check says of everyday scripts, each with its safe twin: lock folders, contests, queues, counters, make -j, sed -i.

usage: orders_test.py DEADHEAT
"""
import os
import re
import unittest

from process_case import ProcessCase, main

# Much to do before: nothing goes wrong, unless somebody interferes.
SLOWLY = "i=0; while [ $i -lt 40000 ]; do i=$((i+1)); done"

# Reading and writing are two programs of one script.
COUNTER = """
echo 0 >count
up() { %s; n=$(cat count); echo $((n+1)) >count; %s; }
up &
(%s; up) &
wait
echo count $(cat count)
"""
LOCK_FOLDER = COUNTER % ("until mkdir lock 2>/dev/null; do sleep 0.02; done", "rmdir lock", SLOWLY)

CONTEST = "for one in 1 2 3 4; do (%s) & done; wait"

QUEUE = """
mkdir queue done1 done2 done3
for one in 1 2 3; do echo $one >queue/$one; done
worker() { for one in queue/*; do mv $one done$1/ 2>/dev/null; done; }
worker 1 & worker 2 & worker 3 & wait
cat done*/* | sort
"""

MAKEFILE = """
all: first second
first: made.h
	cat made.h >first
second:%s
	""" + SLOWLY.replace("$", "$$") + """; cat made.h >second
made.h:
	echo 1 >made.h
"""

EDIT = """
printf 'a=1\\nb=1\\n' >settings
%s sed -i s/a=1/a=2/ settings &
(""" + SLOWLY + """; %s sed -i s/b=1/b=2/ settings) &
wait
grep -q a=2 settings && grep -q b=2 settings
"""

# The first one is given some time, not waited for. In bash: it looks for other children after each that it waited for.
STARTED = """
sh -c 'echo 1 >ready; echo hello >greeting' &
%s
cat greeting || exit 3
wait
"""
SLEEPS = STARTED % "sleep 0.4"
ASKS = STARTED % "until [ -s greeting ]; do sleep 0.01; done"
# The program hears of its first child's end, and its handler makes many calls before the second child starts: in the other order it
# hears nothing and makes none of them.
HEARS = """
import os, signal
def reap(*_):
    for one in range(6): mask(signal.SIG_BLOCK, [signal.SIGCHLD]), mask(signal.SIG_UNBLOCK, [signal.SIGCHLD])
    try:
        while os.waitpid(-1, os.WNOHANG)[0]: pass
    except ChildProcessError: pass
signal.signal(signal.SIGCHLD, reap)
mask = signal.pthread_sigmask
mask(signal.SIG_BLOCK, [signal.SIGCHLD])
open("kept", "w").close()
first = os.fork()
if first == 0:
    os.open("kept", os.O_WRONLY | os.O_TRUNC)
    os._exit(0)
%s
mask(signal.SIG_UNBLOCK, [signal.SIGCHLD])
if os.fork() == 0:
    os.write(os.open("kept", os.O_WRONLY | os.O_APPEND), b"x")
    os._exit(0)
try:
    while True: os.waitpid(-1, 0)
except ChildProcessError: pass
exit(0 if os.path.getsize("kept") else 3)
"""
# The process that does not get the lock tries a few times, and then continues without it.
IMPATIENT = """
echo 0 >count
up() { for i in 1 2 3; do mkdir lock 2>/dev/null && break; sleep 0.3; done; n=$(cat count); echo $((n+1)) >count; rmdir lock 2>/dev/null; }
up &
(%s; up) &
wait
echo count $(cat count)
""" % "; ".join([SLOWLY] * 4)


class Orders(ProcessCase):
    # The time covers the comparison, too: a busy machine needs much of it to prove what a quiet one has in ten seconds.
    def check(self, *command, options=(), seconds="150"):
        done = self.or_skip(self.proc("check", "--verbose", "--time", seconds, "--keep", "rec", *options, "--", *command))
        os.rename(self.path("rec"), self.path(f"rec{len(os.listdir(self.folder))}"))
        return done

    def script(self, text, options=(), shell="sh"):
        return self.check(shell, "-c", f"mkdir w; cd w\n{text}", options=options)

    def safe_script(self, text, options=(), shell="sh"):
        return self.check(shell, "-c", f"mkdir w; cd w\n{text}", options=options, seconds="30")

    def assert_harmful(self, done, words):
        self.assertEqual(done.returncode, 66, done.stderr)
        self.assertIn(words, re.sub(r"\s+", " ", done.stdout))

    def assert_safe(self, done):
        self.assertEqual(done.returncode, 0, done.stderr + done.stdout)
        self.assertIn(" 0 harmful", done.stderr)

    def test_a_counter(self):
        # No status tells a good run from a bad one: in no undisturbed run may it come out badly.
        self.assert_harmful(self.script(COUNTER % (":", ":", "; ".join([SLOWLY] * 4))), 'Printed "count 1"')

    def test_a_lock_folder(self):
        self.assert_safe(self.safe_script(LOCK_FOLDER))

    def test_one_that_is_slept_for(self):
        self.assert_harmful(self.script(SLEEPS, shell="bash"), "Exit status 3 instead of 0")
        self.assert_safe(self.safe_script(ASKS, shell="bash"))

    def test_a_child_that_ended_before_the_next_began(self):
        done = self.check("/usr/bin/python3", "-c", HEARS % "for one in range(3000000): pass")
        self.assert_harmful(done, "Exit status 3 instead of 0")
        self.assertNotRegex(done.stderr, r"cannot happen .*/kept.*\n.*openat.*\n.*write")
        self.assert_safe(self.check("/usr/bin/python3", "-c", HEARS % "os.waitpid(first, 0)", seconds="30"))

    def test_a_lock_that_is_not_waited_for(self):
        self.assert_harmful(self.script(IMPATIENT), 'Printed "count 1"')

    def test_a_contest(self):
        self.assert_safe(self.safe_script(CONTEST % 'ln -s $one winner 2>/dev/null && echo "$one won"'))

    def test_a_queue(self):
        self.assert_safe(self.safe_script(QUEUE))

    def test_a_dependency_that_make_does_not_know(self):
        self.write("Makefile", MAKEFILE % "")
        self.assert_harmful(self.check("make", "-s", "-j2"), "No such file")
        self.write("Makefile", MAKEFILE % " made.h")
        self.assert_safe(self.check("make", "-s", "-j2", seconds="30"))

    @unittest.skipIf(os.getuid() != 0, "the bpf source needs root")
    def test_names_that_are_drawn_anew(self):
        options = ("--source", "bpf")
        self.assert_harmful(self.script(EDIT % ("", ""), options), 'has "')
        self.assert_safe(self.safe_script(EDIT % ("flock lock", "flock lock"), options))

    @unittest.skipIf(os.getuid() != 0, "the bpf source needs root")
    def test_children_that_end_in_another_order(self):
        done = self.script("for one in 1 2 3 4; do (exit $one) & all=\"$all $!\"; done; for one in $all; do wait $one; echo $?; done", ("--source", "bpf"))
        self.assert_safe(done)
        self.assertNotRegex(done.stderr, r"exit\((process \d+)\) does not come before \S+ exit\(\1\)")

    def test_a_command_that_fails_by_itself(self):
        done = self.script("exit 3")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertEqual(done.stderr.count("recorded once more"), 3, done.stderr)
        done = self.check("./nowhere")
        self.assertEqual(done.returncode, 127, done.stderr)
        self.assertNotIn("once more", done.stderr)


if __name__ == "__main__":
    main()

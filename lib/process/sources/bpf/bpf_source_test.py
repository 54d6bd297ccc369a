#!/usr/bin/python3
"""The bpf source against strace, against what a program says that it did, and under a flood.

  bpf_source_test.py RECORD_BPF SYSCALLS_DEF

The first run records `strace -f SCRIPT`: both watch the same execution, so that each task's calls, their order, results and paths must be
the same. strace's view comes from ptrace, ours from tracepoints; neither shares code with the other, nor this reader with ours.
Exits 77, saying why, where this machine lacks root, BPF or strace.
"""
import errno
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile

SYSCALL, FORK, EXEC, EXIT, SENT, DELIVERED = range(1, 7)
PATH, OBJECT, DATA, ADDRESS, DESCRIPTORS, LOCK, STATUS, ARGUMENTS, POLLED, CLONE = range(1, 11)
RESULT = 0xFFFF
UNFINISHED = 1
SHARE_MEMORY, SHARE_FILES, SHARE_PROCESS = 1, 2, 16
RESTARTS = {"ERESTARTSYS": 512, "ERESTARTNOINTR": 513, "ERESTARTNOHAND": 514, "ERESTART_RESTARTBLOCK": 516}

failures = []


def expect(condition, what):
    if not condition:
        failures.append(what)
        print(f"FAILED: {what}")


def call_numbers():
    names = {}
    with open("/usr/include/x86_64-linux-gnu/asm/unistd_64.h", encoding="ascii") as file:
        for line in file:
            match = re.match(r"#define __NR_(\w+) (\d+)", line)
            if match:
                names[int(match[2])] = match[1]
    return names


NAMES = call_numbers()


class Event:
    def __init__(self, raw):
        (self.size, self.kind, self.flags, self.task, self.process, self.begin, self.end, self.time_ns, self.result,
         self.number, count) = struct.unpack_from("<IHHiiQQQqII", raw)
        self.arguments = struct.unpack_from("<6Q", raw, 56)
        self.attached = []
        at = 104
        for _ in range(count):
            kind, argument, size = struct.unpack_from("<HHI", raw, at)
            end = at + 8 + size
            at = at + 8 + (size + 7) // 8 * 8
            self.attached.append((kind, argument, raw[end - size:end]))
            expect(not raw[end:at].strip(b"\0"), "padding is zeros")
        expect(at == self.size, f"attachments fill the event ({at} of {self.size})")

    def find(self, kind, argument=None):
        return [bytes for found, of, bytes in self.attached if found == kind and argument in (None, of)]

    @property
    def name(self):
        return NAMES.get(self.number, str(self.number)) if self.kind <= EXEC else ""

    def ints(self, kind):
        return [struct.unpack(f"<{len(bytes) // 4}i", bytes) for bytes in self.find(kind)]

    def objects(self):
        return [struct.unpack("<QQQQQII", bytes) for bytes in self.find(OBJECT)]


def read_events(folder):
    with open(os.path.join(folder, "events"), "rb") as file:
        raw = file.read()
    events, at = [], 16
    while at < len(raw):
        size = struct.unpack_from("<I", raw, at)[0]
        events.append(Event(raw[at:at + size]))
        at += size
    return sorted(events, key=lambda event: event.begin)


def record(tool, command, work, buffer=None, meanwhile=lambda _: None):
    folder = tempfile.mkdtemp(dir=work)
    options = ["--buffer", str(buffer)] if buffer else []
    words = [tool, folder + "/r", *options, "--", *command]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=work) as started:
        meanwhile(started)
        output = started.communicate()
    run = subprocess.CompletedProcess(words, started.returncode, *output)
    if run.returncode == 77:
        print("skipped: " + run.stderr)
        sys.exit(77)
    counters = json.loads(run.stderr.strip().splitlines()[-1])
    return run, counters, read_events(folder + "/r")


# What strace writes about one call: name, result, the strings among its arguments.
def strace_result(text):
    match = re.search(r"\) += (0x[0-9a-f]+|-?\d+|\?)(?: (E[A-Z_0-9]+))?", text)
    if not match:
        return None
    if match[2]:
        return -RESTARTS.get(match[2], getattr(errno, match[2], 0))
    if match[1] == "?":
        return None
    return int(match[1], 8 if re.fullmatch("0[0-7]+", match[1]) else 0)  # umask's is octal


def strace_log(path):
    """Task -> [(name, result, strings)], and task -> signals delivered."""
    calls, signals, open_calls = {}, {}, {}
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        for line in file:
            match = re.match(r"(\d+) +(.*)", line)
            task, text = int(match[1]), match[2]
            if text.startswith("---"):
                signals.setdefault(task, []).append(re.match(r"--- (SIG\w+)", text)[1])
                continue
            if text.startswith("+++") or text.startswith("strace:"):
                continue
            resumed = re.match(r"<\.\.\. (\w+) resumed>(.*)", text)
            if resumed:
                text = open_calls.pop(task) + resumed[2]
            elif text.endswith("<unfinished ...>"):
                open_calls[task] = text[:-len("<unfinished ...>")]
                continue
            name = text.split("(")[0]
            strings = re.findall(r'"((?:[^"\\]|\\.)*)"', text)
            calls.setdefault(task, []).append((name, strace_result(text), strings, text))
    return calls, signals


def table(path):
    """name -> (capture, effect)"""
    rows = {}
    with open(path, encoding="ascii") as file:
        for line in file:
            match = re.match(r"DEADHEAT_SYSCALL\((\w+), ([^,]*), (\w+)[,)]", line)
            if match:
                rows[match[1]] = (match[2].split(" | "), match[3])
            match = re.match(r"DEADHEAT_PRIVATE\((\w+)[,)]", line)
            if match:
                rows[match[1]] = ([], "kPrivate")
    return rows


def is_expected(rows, name, text):
    capture, effect = rows.get(name, ([], "kUnmodelled"))
    if effect in ("kPrivate", "kExit", "kSignalState"):  # handlers and masks: the ptrace source only (process-model.md)
        return False
    if "kSharedMapOnly" in capture:
        return "MAP_SHARED" in text and "MAP_ANONYMOUS" not in text
    return True


SCRIPT = """
set -e
mkdir -p d/e; echo one > d/a; mv d/a d/b; ln -s b d/c; cat d/c | tr o 0 | sort > d/sorted
(trap 'echo caught >> d/log' USR1; sh -c "kill -USR1 \\$PPID; exit 3" || true; echo after >> d/log) &
for i in 1 2 3; do echo $i >> d/numbers & done
wait
ls d > /dev/null; test ! -e d/none; chmod 600 d/b; cp d/b d/e/b; cmp d/b d/e/b; readlink d/c > /dev/null; touch d/b
timeout -s KILL 0.2 tail -f /dev/null || true
rm -r d
"""


def compare_task(rows, task, ours, theirs):
    mine = [event for event in ours if event.kind in (SYSCALL, FORK, EXEC)]
    expected = [call for call in theirs if is_expected(rows, call[0], call[3])]
    mine_names = [(event.name, None if event.flags & UNFINISHED else event.result) for event in mine]
    their_names = [call[:2] for call in expected]
    if mine and their_names and their_names[-1][1] is None:  # killed: strace did not see it leave the call, if it did
        mine_names[-1] = (mine_names[-1][0], None)
    if mine_names != their_names:
        at = next((i for i, (a, b) in enumerate(zip(mine_names, their_names)) if a != b), min(len(mine), len(expected)))
        expect(False, f"task {task}: the same calls; first difference at {at}: {mine_names[at:at + 3]}, strace: {their_names[at:at + 3]}")
        return 0
    for event, (name, _, strings, text) in zip(mine, expected):
        for index, path in enumerate(sorted((argument, bytes) for kind, argument, bytes in event.attached if kind == PATH)):
            said = strings[index].encode().decode("unicode_escape") if index < len(strings) else None
            expect(path[1].decode() == said, f"task {task}: path of {text.strip()}: {path[1]}")
        wanted = len([bit for bit in rows.get(name, ([], ""))[0] if bit.startswith("kPath")])
        expect(len(event.find(PATH)) == min(wanted, len(strings)), f"task {task}: {text.strip()} has its paths: {event.attached}")
    return len(mine)


def test_strace(tool, rows, work):
    log = os.path.join(work, "strace.log")
    run, counters, events = record(tool, ["strace", "-f", "-s", "4096", "-o", log, "sh", "-c", SCRIPT], work)
    expect(run.returncode == 0, f"the script runs ({run.returncode}): {run.stderr}")
    expect(counters["lost"] == 0 and counters["unfollowed"] == 0, f"nothing lost: {counters}")
    calls, signals = strace_log(log)
    compared = 0
    for task, theirs in calls.items():
        ours = [event for event in events if event.task == task]
        if theirs[0][0] == "execve":  # strace's own preparation of the first task
            first = next(i for i, event in enumerate(ours) if event.kind == EXEC and event.find(ARGUMENTS)[0].startswith(b"sh\0-c"))
            ours = ours[first:]
        compared += compare_task(rows, task, ours, theirs)
        mine = [event.number for event in ours if event.kind == DELIVERED]
        expect(len([one for one in mine if one != 19]) >= len([one for one in signals.get(task, []) if one != "SIGSTOP"]),
               f"task {task}: signals {mine}, strace: {signals.get(task)}")
        expect([event.kind for event in ours][-1] in (EXIT, SENT), f"task {task} ends with its exit")
        ends = [event.end for event in ours if event.kind in (SYSCALL, FORK, EXEC)]
        expect(ends == sorted(ends), f"task {task}: one call after the other")
    expect(len(calls) >= 15 and compared > 500, f"much was compared: {compared} calls of {len(calls)} tasks")
    print(f"strace: {compared} calls of {len(calls)} tasks are the same")


ACTOR = r"""
import array, fcntl, json, os, select, signal, socket, subprocess, sys, threading
did = {}
def see(fd):
    status = os.fstat(fd)
    return [fd, status.st_dev, status.st_ino]
did["self"] = os.getpid()
fd = os.open("file", os.O_CREAT | os.O_RDWR, 0o600); did["open"] = see(fd)
os.write(fd, b"12345")
fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB, 3, 1, os.SEEK_SET)
r, w = os.pipe(); did["pipe"] = [see(r), see(w)]
a, b = socket.socketpair(); did["pair"] = [see(a.fileno()), see(b.fileno())]
socket.send_fds(a, [b"x"], [fd, w]); _, got, _, _ = socket.recv_fds(b, 10, 4)
did["sent"], did["got"] = [fd, w], list(got)
p = select.poll(); p.register(r, select.POLLIN); os.write(w, b"y"); did["polled"] = p.poll()
s = socket.socket(socket.AF_UNIX); s.bind("sock"); s.listen(); c = socket.socket(socket.AF_UNIX); c.connect("sock")
pid = os.fork()
if pid == 0:
    os._exit(7)
os.waitid(os.P_PID, pid, os.WEXITED); did["child"] = pid
pid = os.fork()
if pid == 0:
    os.read(os.pipe()[0], 1)
while open(f"/proc/{pid}/syscall").read().split()[0] != "0":  # until it waits in read
    os.sched_yield()
os.kill(pid, signal.SIGKILL); os.waitpid(pid, 0); did["killed"] = pid
os.rename("file", "f" * 200)
did["long"] = "x/" * 1500 + "x"
try:
    os.stat(did["long"])
except OSError:
    pass
with open("did.json", "w") as file:
    json.dump(did, file)
def run():
    with open("thread", "w") as file:
        file.write(str(threading.get_native_id()))
    os.execv("/bin/true", ["true", "from thread"])
threading.Thread(target=run).start()
signal.pause()
"""


def one(events, what, condition):
    found = [event for event in events if condition(event)]
    expect(len(found) == 1, f"one {what}, not {len(found)}")
    return found[0] if found else None


def same_objects(event, seen, what):
    if event:
        expect([list(found[:2]) for found in event.objects()] == [known[1:] for known in seen], f"{what}: {event.objects()}, known: {seen}")


def check_descriptors(ours, did):
    opened = one(ours, "open of file", lambda event: event.find(PATH, 1) == [b"file"] and event.name == "openat")
    same_objects(opened, [did["open"]], "the opened file")
    if opened:
        expect(opened.result == did["open"][0], "its descriptor")
    pipe = next((event for event in ours if event.ints(DESCRIPTORS) == [tuple(known[0] for known in did["pipe"])]), None)
    same_objects(pipe, did["pipe"], "the pipe")
    expect(pipe is not None, "the pipe's descriptors")
    pair = one(ours, "socketpair", lambda event: event.name == "socketpair")
    same_objects(pair, did["pair"], "the pair")
    descriptions = [found[2] for event in ours for found in event.objects() if found[2]]
    expect(len(set(descriptions)) == len(descriptions) > 20, "each description has its own number")
    sent = one(ours, "sendmsg", lambda event: event.name == "sendmsg")
    got = one(ours, "recvmsg", lambda event: event.name == "recvmsg")
    if sent and got:
        expect(sent.ints(DESCRIPTORS) == [tuple(did["sent"])], f"descriptors passed: {sent.ints(DESCRIPTORS)}")
        expect(got.ints(DESCRIPTORS) == [tuple(did["got"])], f"descriptors got: {got.ints(DESCRIPTORS)}")


def check_small(ours, did):
    lock = one(ours, "lock", lambda event: event.name == "fcntl" and event.find(LOCK))
    if lock:
        expect(struct.unpack("<qqhhi", lock.find(LOCK)[0])[:4] == (1, 3, 1, 0), "the lock's range and kind")
    polled = one(ours, "poll", lambda event: event.name == "poll" and event.find(POLLED))
    if polled:
        expect(struct.unpack("<ihh", polled.find(POLLED)[0]) == (did["polled"][0][0], 1, 1), "what was polled")
    for name in ("bind", "connect"):
        call = one(ours, name, lambda event, name=name: event.name == name and event.find(ADDRESS))
        expect(call and b"sock" in call.find(ADDRESS)[0], f"the address of {name}")
    waited = one(ours, "waitid", lambda event: event.name == "waitid")
    expect(waited and waited.ints(STATUS) == [(did["child"], 7 << 8)], "what waitid reaped")
    killed = one(ours, "wait of the killed", lambda event: event.name == "wait4" and event.ints(STATUS) == [(did["killed"], 9)])
    expect(killed, "what wait4 reaped")
    renamed = one(ours, "rename", lambda event: event.name == "rename")
    expect(renamed and [renamed.find(PATH, 0), renamed.find(PATH, 1)] == [[b"file"], [b"f" * 200]], "both paths of rename")
    cut = one(ours, "long path", lambda event: event.flags & 2)
    expect(cut and did["long"].encode().startswith(cut.find(PATH)[0]) and len(cut.find(PATH)[0]) == 2047, "a path too long is cut and flagged")


def test_actor(tool, rows, work):
    run, counters, events = record(tool, ["/usr/bin/python3", "-S", "-c", ACTOR], work)
    expect(run.returncode == 0, f"the actor runs: {run.stderr}")
    expect(counters["lost"] == 0, "nothing lost")
    with open(os.path.join(work, "did.json"), encoding="ascii") as file:
        did = json.load(file)
    with open(os.path.join(work, "thread"), encoding="ascii") as file:
        thread = int(file.read())
    ours = [event for event in events if event.process == did["self"]]
    check_descriptors(ours, did)
    check_small(ours, did)
    fork = one(ours, "fork of the thread", lambda event: event.kind == FORK and event.result == thread)
    if fork:
        shared = SHARE_MEMORY | SHARE_FILES | SHARE_PROCESS
        expect(fork.arguments[0] & shared == shared and fork.arguments[1] == did["self"], "a thread shares")
    child = one(ours, "fork", lambda event: event.kind == FORK and event.result == did["child"])
    expect(child and child.arguments[0] & SHARE_MEMORY == 0 and child.arguments[1] == did["child"], "a process does not")
    execs = [event for event in ours if event.kind == EXEC]
    seen = [(event.task, event.arguments[0]) for event in execs]
    expect(seen == [(did["self"], did["self"]), (did["self"], thread)], f"the thread {thread} became the leader: {seen}")
    expect(execs[1].find(ARGUMENTS) == [b"true\0from thread\0"], "its argv")
    last = [event for event in events if event.task == did["killed"] and event.kind == SYSCALL][-1]
    expect((last.name, last.result) == ("read", -512), "the killed child's read was broken off")
    sent = one(events, "SIGKILL", lambda event: event.kind == SENT and event.number == 9 and event.arguments[1] == did["killed"])
    expect(sent and sent.task == did["self"], "who sent it")
    ended = one(events, "exit of the killed", lambda event: event.kind == EXIT and event.task == did["killed"])
    expect(ended and ended.result == 9 and ended.arguments[0] == 1, "how it ended")
    expect(not [event.name for event in events if event.name and rows.get(event.name, ([], ""))[1] == "kPrivate"], "no private calls")
    print(f"actor: {len(events)} events")


FLOOD = "dd if=/dev/zero of=/dev/null bs=1 count=300000 status=none"


def flood_beside(tool, work, standing, buffer=None):
    """The flood, with the consumer of its events standing still meanwhile, or not. Two pipes say when it begins and ends."""
    here, there = os.path.join(work, "here"), os.path.join(work, "there")
    for path in (here, there):
        if not os.path.exists(path):
            os.mkfifo(path)

    def meanwhile(consumer):
        with open(here, "rb") as told, open(there, "wb", buffering=0) as tell:
            told.readline()
            if standing:
                os.kill(consumer.pid, signal.SIGSTOP)
            tell.write(b"go\n")
            told.readline()
            os.kill(consumer.pid, signal.SIGCONT)
            tell.write(b"end\n")

    script = f"exec 3>here 4<there; echo ready >&3; read go <&4; {FLOOD}; echo done >&3; read go <&4"
    return record(tool, ["sh", "-c", script], work, buffer, meanwhile)


def test_flood(tool, work):
    _, roomy, events = flood_beside(tool, work, standing=False)
    expect(roomy["lost"] == 0 and roomy["events"] == len(events) > 600000, f"the default buffer holds a flood: {roomy}")
    _, tight, events = flood_beside(tool, work, standing=True, buffer=1)
    expect(tight["lost"] > 500000, f"the smallest buffer loses what comes while its consumer stands still: {tight}")
    expect(tight["events"] + tight["lost"] == roomy["events"], f"and counts each: {tight}, {roomy}")
    # With one open more every event has the other parity. Half the buffer, which looking now and then does not empty in time.
    for opened in ("", "exec 3</dev/null; "):
        _, half, _ = record(tool, ["sh", "-c", opened + "exec " + FLOOD], work, buffer=16 << 20)
        expect(half["lost"] == 0, f"whichever numbers its events have, they wake the consumer: {half}")
    print(f"flood: {roomy['events']} events, none lost; in the smallest buffer {tight['lost']} lost and counted")


STORM = """
import os, signal
signal.signal(signal.SIGUSR1, lambda *_: None)
for _ in range(60000):
    os.kill(os.getpid(), signal.SIGUSR1)
"""


def test_storm(tool, work):
    """Signals go through a small buffer of their own, which must wake the consumer too."""
    _, counters, events = record(tool, ["/usr/bin/python3", "-S", "-c", STORM], work)
    found = [len([event for event in events if event.kind == kind and event.number == 10]) for kind in (SENT, DELIVERED)]
    expect(counters["lost"] == 0 and found == [60000, 60000], f"each signal, sent and delivered: {found}, {counters}")
    print(f"storm: {sum(found)} signals")


CROWD = "for i in $(seq 40); do (for j in $(seq 25); do /bin/true & done; wait) & done; wait"


def test_crowd(tool, work):
    """Many tasks at a time: each is followed, and its number and state go back."""
    _, counters, events = record(tool, ["sh", "-c", CROWD], work)
    forks = [event.result for event in events if event.kind == FORK]
    exits = [event.task for event in events if event.kind == EXIT]
    expect(counters["unfollowed"] == 0 and counters["lost"] == 0, f"all followed: {counters}")
    expect(len(forks) >= 1041 and sorted(forks + [exits[-1]]) == sorted(exits), f"{len(forks)} forks, {len(exits)} exits")
    print(f"crowd: {len(exits)} tasks")


def main():
    if os.geteuid() != 0:
        print("skipped: the bpf source needs root")
        return 77
    if not shutil.which("strace"):
        print("skipped: no strace (Debian package of that name)")
        return 77
    tool, rows = sys.argv[1], table(sys.argv[2])
    for test in (lambda work: test_strace(tool, rows, work), lambda work: test_actor(tool, rows, work),
                 lambda work: test_flood(tool, work), lambda work: test_storm(tool, work), lambda work: test_crowd(tool, work)):
        with tempfile.TemporaryDirectory() as work:
            test(work)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())

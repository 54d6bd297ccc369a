#!/usr/bin/python3
"""The command line as people meet it: help, mistakes, exit codes, options from elsewhere.

usage: cli_test.py DEADHEAT [unittest arguments]
"""
import functools
import os
import re
import subprocess
import sys
import tempfile
import unittest

TOOL = os.path.abspath(sys.argv.pop(1))
# A build with a sanitizer of our own has none.
HAS_RUNTIME = os.path.exists(os.path.join(os.path.dirname(TOOL), "../lib/deadheat/detect/libdeadheat.so.1"))
NEED_RUNTIME = ("run", "record", "verify", "check", "confirm", "replay", "validate")

EMPTY = "/"  # a folder without a project file above it
RACY = "T0|fork(T1)|1\nT0|w(V1)|2\nT1|w(V1)|3\n"
CLEAN = "T0|w(V1)|1\nT0|fork(T1)|2\nT1|w(V1)|3\n"


def run(*words, environment=None, cwd=None, **more):
    full = {key: value for key, value in os.environ.items() if key != "DEADHEAT_OPTIONS"}
    full.update(environment or {})
    return subprocess.run([TOOL, *words], capture_output=True, text=True, check=False, env=full,
                          cwd=cwd or EMPTY, stdin=subprocess.DEVNULL, **more)


@functools.cache
def verbs():
    return re.findall(r"^  ([a-z]+)  +\S", run("--help").stdout, re.MULTILINE)


@functools.cache
def commands(verb):
    """[verb] or, for a verb with commands, [verb, command] for each."""
    text = run("help", verb).stdout
    names = re.findall(r"^  ([a-z]+)  +\S", text.split("\noptions:")[0], re.MULTILINE)
    return [[verb, name] for name in names] if "\ncommands:\n" in text else [[verb]]


def all_commands():
    return [words for verb in verbs() for words in commands(verb)]


ALSO_TAKEN = {"--module"}  # a second spelling, not in the help


@functools.cache
def help_of(*words):
    return run(*words, "--help").stdout


def long_options(words):
    return re.findall(r"^  (?:-\w, )?(--[a-z-]+)", help_of(*words), re.MULTILINE)


class Case(unittest.TestCase):
    def one_line(self, done, code=2):
        self.assertEqual(done.returncode, code, done)
        self.assertEqual(done.stdout, "")
        lines = done.stderr.splitlines()
        self.assertTrue(lines and lines[0].startswith("deadheat: "), done.stderr)
        self.assertTrue(all(line.startswith("  hint: ") for line in lines[1:]), done.stderr)
        return lines[0]


class Help(Case):
    def test_fits_on_a_screen(self):
        text = run("--help").stdout
        self.assertLessEqual(len(text.splitlines()), 24)
        self.assertLessEqual(max(map(len, text.splitlines())), 80)
        for same in (["-h"], ["help"]):
            self.assertEqual(run(*same).stdout, text)
        self.assertIn("doctor", verbs())

    def test_no_words_is_usage(self):
        done = run()
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("usage: deadheat VERB", done.stderr)

    def test_version(self):
        for flag in ("--version", "-V"):
            self.assertRegex(run(flag).stdout, r"^deadheat \d+\.\d+\.\d+\n$")

    def test_every_verb_has_help_that_ends_with_its_example(self):
        for words in [[verb] for verb in verbs()] + all_commands():
            with self.subTest(words):
                done = run(*words, "--help")
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                lines = done.stdout.splitlines()
                self.assertTrue(lines[0].startswith("usage: deadheat " + " ".join(words)))
                self.assertEqual(lines[-2], "example:")
                self.assertTrue(lines[-1].startswith(f"  deadheat {words[0]}"), lines[-1])
                too_long = [line for line in lines[:-1] if len(line) > 80]
                self.assertEqual(too_long, [])
                self.assertEqual(run("help", *words).stdout, done.stdout)


class Mistakes(Case):
    def test_mistyped_verb(self):
        for verb in verbs():
            swapped = verb[:-2] + verb[-1] + verb[-2]
            with self.subTest(swapped):
                self.assertEqual(self.one_line(run(swapped)),
                                 f"deadheat: unknown verb '{swapped}'; did you mean '{verb}'?")

    def test_verb_like_nothing(self):
        self.assertEqual(self.one_line(run("xyzzyplugh")), "deadheat: unknown verb 'xyzzyplugh'")

    def test_file_for_a_verb(self):
        self.assertIn("did you mean 'deadheat analyze /dev/null'?", self.one_line(run("/dev/null")))

    def test_mistyped_option(self):
        for words in all_commands():
            names = long_options(words)
            self.assertIn("--help", names)
            tried = 0
            for name in names:
                short = name[:-1]
                if tried and not HAS_RUNTIME:
                    break  # under a sanitizer: one of each command, for one function refuses them all
                # One letter less can be another option, or as near to another as to this one.
                if short in names or short in ALSO_TAKEN or sum(abs(len(short) - len(other)) <= 1 and other[:5] == short[:5]
                                         for other in names) > 1:
                    continue
                tried += 1
                for word in (short, short + "=x"):
                    with self.subTest(words + [word]):
                        self.assertEqual(self.one_line(run(*words, word)),
                                         f"deadheat: unknown option '{short}'; did you mean '{name}'?")

    def test_mistyped_option_of_the_tool(self):
        self.assertEqual(self.one_line(run("--versoin")),
                         "deadheat: unknown option '--versoin'; did you mean '--version'?")

    def test_a_refused_value_before_a_program(self):
        self.assertEqual(self.one_line(run("watch", "--time", "-1", "--", "ls", "--all")),
                         "deadheat: '-1' is not a value of --time; expected SECONDS")

    def test_mistyped_command(self):
        for verb in verbs():
            for words in commands(verb):
                if len(words) == 1:
                    continue
                with self.subTest(words):
                    line = self.one_line(run(verb, words[1] + "x"))
                    self.assertIn(f"did you mean '{words[1]}'?", line)
                    self.assertIn("needs a command", self.one_line(run(verb)))

    def test_bad_value_names_the_allowed_ones(self):
        found = 0
        for words in all_commands():
            for name, choices in re.findall(r"(--[a-z-]+) ((?:[a-z0-9]+\|)+[a-z0-9]+)\b",
                                            help_of(*words)):
                with self.subTest(words + [name]):
                    found += 1
                    line = self.one_line(run(*words, name, "zzzzzz"))
                    self.assertEqual(line, f"deadheat: 'zzzzzz' is not a value of {name}; expected one of "
                                     + choices.replace("|", ", "))
                    self.assertIn(f"{name} needs a value", self.one_line(run(*words, name)))
        if "analyze" in verbs():
            self.assertGreater(found, 2)

    def test_bad_number(self):
        for words in all_commands():
            for name in re.findall(r"(--[a-z-]+) N\b", help_of(*words)):
                with self.subTest(words + [name]):
                    self.assertIn(f"'many' is not a value of {name}; expected a whole number",
                                  self.one_line(run(*words, name, "many")))

    def test_extra_argument(self):
        self.assertEqual(self.one_line(run("doctor", "now")), "deadheat: unexpected argument 'now'")


class Elsewhere(Case):
    def test_unknown_key_warns_once_and_goes_on(self):
        done = run("doctor", environment={"DEADHEAT_OPTIONS": "jsn=1"})
        self.assertEqual(done.returncode, 0 if HAS_RUNTIME else 77)
        self.assertEqual(done.stderr, "deadheat: warning: DEADHEAT_OPTIONS: unknown key 'jsn'; "
                                      "did you mean 'json'?\n")

    def test_environment_sets_and_command_line_wins(self):
        environment = {"DEADHEAT_OPTIONS": "json=1"}
        self.assertTrue(run("doctor", environment=environment).stdout.startswith("{"))
        self.assertFalse(run("doctor", "--json=0", environment=environment).stdout.startswith("{"))

    def test_environment_before_project_file(self):
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, ".deadheat"), "w", encoding="utf-8") as file:
                file.write("# ours\njson = yes\n")
            below = os.path.join(folder, "a/b")
            os.makedirs(below)
            self.assertTrue(run("doctor", cwd=below).stdout.startswith("{"))
            off = {"DEADHEAT_OPTIONS": "json=0"}
            self.assertFalse(run("doctor", cwd=below, environment=off).stdout.startswith("{"))

    def test_help_lists_keys(self):
        for verb in verbs():
            done = run(verb, environment={"DEADHEAT_OPTIONS": "help=1"})
            self.assertEqual((done.returncode, done.stderr), (0, ""), verb)
            for words in commands(verb):
                for name in long_options(words):
                    if name != "--help":
                        self.assertIn(f"  {name[2:]}=", done.stdout)

    def test_bad_project_file(self):
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, ".deadheat"), "w", encoding="utf-8") as file:
                file.write("json\n")
            self.assertIn(".deadheat:1: not a 'key = value' line",
                          self.one_line(run("doctor", cwd=folder)))


class Output(Case):
    def test_full_disk_is_not_success(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = subprocess.run([TOOL, "--version"], stdout=full, stderr=subprocess.PIPE, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn(b"cannot write standard output: No space left on device", done.stderr)

    def test_reader_that_leaves_is_no_error(self):
        text = subprocess.run(["bash", "-c", '"$0" --help | true', TOOL],
                              capture_output=True, check=False)
        self.assertEqual((text.returncode, text.stderr), (0, b""))

    def test_doctor(self):
        done = run("doctor")
        self.assertEqual(done.returncode, 0 if HAS_RUNTIME else 77)
        for verb in verbs():
            if verb != "doctor" and (HAS_RUNTIME or verb not in NEED_RUNTIME):
                self.assertRegex(done.stdout, rf"(?m)^  yes  {verb} ")


@unittest.skipUnless("analyze" in verbs(), "no analyze yet")
class ExitCodes(Case):
    def analyze(self, text, *words):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "x.std")
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            return run("analyze", *words, path)

    def test_codes_that_people_hard_code(self):
        self.assertEqual(self.analyze(CLEAN).returncode, 0)
        self.assertEqual(self.analyze(RACY).returncode, 66)
        self.assertEqual(self.analyze(RACY, "--exit-code", "3").returncode, 3)
        self.one_line(run("analyze", "no-such-file"))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as EMPTY:
        unittest.main()

#!/usr/bin/python3
"""The papers' figures and stories under the scheduler: confirmed is what is true, and as often as the paper says. Seeds are fixed.

  truth_test.py BUILD figures|stories
"""
import concurrent.futures
import os
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [HERE, os.path.join(ROOT, "bench/power")]
sys.dont_write_bytecode = True
import marks  # noqa: E402
import trials  # noqa: E402

FLAGS = ["-std=c++20", "-g", "-O0", "-pthread"]


def tally(command, lines, strategy, count, timeout=60):
    """(trials that met a race, [exit status of each])"""

    def part(seeds):
        runner = trials.Runner(BUILD, command, timeout)
        try:
            return [(bool(trial.races), trial.status) for trial in (runner.trial(strategy, seed, lines) for seed in seeds)]
        finally:
            runner.close()

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        every = [one for some in pool.map(part, (range(1, count + 1, 2), range(2, count + 1, 2))) for one in some]
    return sum(met for met, _ in every), [status for _, status in every]


class Programs(unittest.TestCase):
    folder = ""

    def setUp(self):
        self.work = tempfile.TemporaryDirectory()
        self.addCleanup(self.work.cleanup)
        self.truth = marks.read(os.path.join(HERE, self.folder))

    def build(self, name):
        program = os.path.join(self.work.name, name)
        BUILD.compile(os.path.join(HERE, self.folder, name + ".cc"), program, FLAGS)
        return program

    def candidates(self, command, enough=None):
        """Of hybrid over three recordings; `enough` of them are looked for in up to 30."""
        found = []
        for _ in range(10):
            with tempfile.TemporaryDirectory(dir=self.work.name) as folder:
                finder = trials.Finder(BUILD, command, folder, recordings=3)
                finder.record()
                found = trials.distinct(found + finder.analyze("hybrid"))
            if enough is None or len(found) >= enough:
                return found
        return self.fail(f"{command}: {len(found)} candidates instead of {enough}")


class Figures(Programs):
    folder = "figures"

    def test_figure_1(self):
        program = self.build("racefuzzer_figure1")
        for finding in self.candidates([program], 2):
            met, statuses = tally([program], trials.sites(finding), "race_directed", 1000)
            if marks.is_race(finding, self.truth):
                self.assertEqual(met, 1000)
                self.assertTrue(400 <= statuses.count(11) <= 600, statuses.count(11))
            else:
                self.assertEqual(met, 0, marks.places(finding))
            self.assertEqual(statuses.count(12), 0)

    def test_figure_2_does_not_depend_on_the_distance(self):
        program = self.build("racefuzzer_figure2")
        finding, = self.candidates([program, "10"], 1)
        for statements in ("10", "1000", "100000"):
            met, statuses = tally([program, statements], trials.sites(finding), "race_directed", 200)
            self.assertEqual(met, 200)
            self.assertTrue(70 <= statuses.count(11) <= 130, statuses.count(11))  # 4 standard deviations
        _, statuses = tally([program, "1000"], (), "random", 50)
        self.assertLess(statuses.count(11), 10)

    def test_racemob_benches_1_to_3(self):
        for number in (1, 2, 3):
            program = self.build(f"racemob_bench{number}")
            finding, = self.candidates([program], 1)
            self.assertTrue(marks.is_race(finding, self.truth))
            self.assertEqual(tally([program], trials.sites(finding), "race_directed", 20)[0], 20)

    def test_racemob_bench_4_needs_its_inputs(self):
        program = self.build("racemob_bench4")
        self.assertEqual(self.candidates([program, "0"]), [])
        for word, other in (("1", "2"), ("2", "3"), ("3", "1")):
            finding, = self.candidates([program, word], 1)
            self.assertTrue(marks.is_race(finding, self.truth))
            self.assertEqual(tally([program, word], trials.sites(finding), "race_directed", 10)[0], 10)
            self.assertEqual(tally([program, other], trials.sites(finding), "race_directed", 10)[0], 0)


class Stories(Programs):
    folder = "stories"


def story(name):
    def test(self):
        program = self.build(name)
        found = self.candidates([program], 1)
        for finding in found:
            met, _ = tally([program], trials.sites(finding), "race_directed", 100)
            self.assertEqual(met > 0, marks.is_race(finding, self.truth), f"{marks.places(finding)}: {met} of 100")
    return test


for file in sorted(os.listdir(os.path.join(HERE, "stories"))):
    if file.endswith(".cc"):
        setattr(Stories, "test_" + file[:-3], story(file[:-3]))

if __name__ == "__main__":
    if len(sys.argv) < 3 or sys.argv[2] not in ("figures", "stories"):
        sys.exit(__doc__)
    BUILD = trials.Build(sys.argv[1])
    if BUILD.missing():
        print(f"skipped: no {BUILD.missing()}")
        sys.exit(77)
    unittest.main(argv=[sys.argv[0], sys.argv[2].capitalize(), *sys.argv[3:]])

#!/usr/bin/python3
"""The layer check itself: a good tree passes, and each planted bad include is caught."""
import os
import subprocess
import sys
import tempfile
import unittest

CHECK = os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../tools/check_layers")

GOOD = {
    "lib/base/text.h": "#include <string>\n",
    "lib/model/site.h": '#include "lib/base/text.h"\n',
    "lib/order/epoch.h": "",
    "lib/order/epoch_test.cc": '#include "lib/base/text.h"\n',
    "lib/trace/event.h": '#include "lib/model/site.h"\n',
    "lib/analysis/engine.h": '#include "lib/trace/event.h"\n#include "lib/analysis/hybrid/hybrid.h"\n',
    "lib/analysis/hybrid/hybrid.h": '#include "lib/order/epoch.h"\n',
    "lib/report/html.cc": '#include "lib/symbols/frame.h"\n',
    "lib/symbols/frame.h": "",
    "lib/process/recording/event.h": '#include "lib/base/text.h"\n',
    "lib/process/sources/ptrace/tracer.h": '#include "lib/process/recording/event.h"\n',
    "lib/process/effects/effects_test.cc": '#include "lib/process/races/races.h"\n',
    "lib/process/races/races.h": '#include "lib/process/recording/event.h"\n',
    "apps/main.cc": '#include "lib/report/html.h"\n#include <CLI/CLI.hpp>\n',
    "runtime/detect/shadow.cc": '#include "lib/order/epoch.h"\n#include "abi/page.h"\n',
    "tests/all.cc": '#include "lib/analysis/engine.h"\n#include "lib/report/html.h"\n',
}
BAD = {
    "lib/base/bad.h": ('#include "lib/model/site.h"', "base may not see model"),
    "lib/model/bad.h": ('#include "lib/trace/event.h"', "model may not see trace"),
    "lib/order/bad.h": ('#include "lib/base/text.h"', "order may not see base"),
    "lib/trace/bad.cc": ("#  include <lib/symbols/frame.h>", "trace may not see symbols"),
    "lib/analysis/bad.cc": ('#include "lib/symbols/frame.h"', "analysis may not see symbols"),
    "lib/analysis/hybrid/bad.cc": ('#include "../../report/html.cc"', "analysis may not see report"),
    "lib/hive/bad.cc": ('#include "lib/analysis/engine.h"', "hive may not see analysis"),
    "lib/report/bad.cc": ('#include "apps/verb.h"', "report may not see apps"),
    "apps/bad.cc": ('#include "tests/all.cc"', "apps may not see tests"),
    "runtime/detect/bad.cc": ('#include "lib/base/text.h"', "runtime may not see base"),
    "kernel/bpf/bad.c": ('#include "lib/order/epoch.h"', "kernel may not see order"),
    "lib/process/recording/bad.h": ('#include "lib/process/races/races.h"', "lib/process/recording may not see lib/process/races"),
    "lib/process/sources/bpf/bad.cc": ('#include "lib/process/sources/ptrace/tracer.h"',
                                       "lib/process/sources/bpf may not see lib/process/sources/ptrace"),
    "lib/process/races/bad.cc": ('#include "../sources/ptrace/tracer.h"', "lib/process/races may not see lib/process/sources/ptrace"),
    "lib/process/bad.cc": ('#include "lib/base/text.h"', "lib/process has no room ''"),
    "lib/process/attic/bad.cc": ('#include "lib/base/text.h"', "lib/process has no room 'attic'"),
    "lib/surprise/bad.cc": ("", "module 'surprise' has no place"),
}


def run(files):
    with tempfile.TemporaryDirectory() as root:
        for path, text in files.items():
            os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
            with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                file.write(text)
        done = subprocess.run([sys.executable, CHECK, root], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout


class Layers(unittest.TestCase):
    def test_good_tree(self):
        self.assertEqual(run(GOOD), (0, f"{len(GOOD)} files keep the layer order\n"))

    def test_planted(self):
        for path, (line, message) in BAD.items():
            with self.subTest(path):
                status, text = run({**GOOD, path: "// first line\n" + line + "\n"})
                self.assertEqual(status, 1)
                self.assertIn(message, text)
                self.assertEqual(len(text.splitlines()), 1, text)

    def test_nothing_found_is_no_pass(self):
        self.assertEqual(run({})[0], 1)


if __name__ == "__main__":
    unittest.main()

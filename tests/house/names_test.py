#!/usr/bin/python3
"""tools/check_names and tools/draw_map themselves: a good tree passes, and each planted mistake is caught."""
import os
import subprocess
import sys
import tempfile
import unittest

TOOLS = os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../tools")

GOOD = {
    "lib/base/text.h": "// Held by text_test.cc; prints \"other.cc:12\". See <sys/types.h>.\n",
    "lib/base/text_test.cc": '#include "lib/base/text.h"\nint fold();\n',
    "lib/model/site.h": '#include "lib/base/text.h"  // base/text.h\n',
    "lib/order/clock.h": "",
    "abi/page.h": "",
    "docs/architecture.md": "`fold()`, in lib/base/text.h\n\n```\nnothing.cc\n```\n\n| folder | what | may use |\n|---|---|---|\n"
                            "| `lib/base/` | text | – |\n| `lib/model/`, `lib/order/` | sites | base |\n| `abi/` | pages | – |\n",
    "docs/images/architecture.svg": "",
}


class Tree:
    def __init__(self, test, files):
        self.folder = tempfile.TemporaryDirectory()
        test.addCleanup(self.folder.cleanup)
        for path, text in files.items():
            full = os.path.join(self.folder.name, path)
            os.makedirs(os.path.dirname(full), exist_ok=True)
            with open(full, "w", encoding="utf-8") as file:
                file.write(text)
        subprocess.run("git init -q . && git add .", shell=True, check=True, cwd=self.folder.name)

    def run(self, tool, *words):
        done = subprocess.run([sys.executable, os.path.join(TOOLS, tool), *words, self.folder.name],
                              capture_output=True, text=True, check=False)
        return done.returncode, done.stdout


class Names(unittest.TestCase):
    def test_good_tree(self):
        status, text = Tree(self, GOOD).run("check_names")
        self.assertEqual(status, 0, text)

    def test_planted(self):
        for path, line, message in (("lib/base/bad.h", "// as gone_test.cc shows", "there is no file gone_test.cc"),
                                    ("lib/base/bad.h", "// see model/text.h", "there is no file model/text.h"),
                                    ("lib/base/bad.h", "// as in model::Gone", "there is no symbol model::Gone"),
                                    ("lib/base/bad.h", "// before gone_by() (see fold())", "there is no symbol gone_by()"),
                                    ("docs/bad.md", "in `lib/base/gone.cc`", "there is no file lib/base/gone.cc"),
                                    ("docs/bad.md", "`model::Gone` decides", "there is no symbol model::Gone")):
            with self.subTest(line):
                status, text = Tree(self, {**GOOD, path: line + "\n"}).run("check_names")
                self.assertEqual(status, 1)
                self.assertIn(message, text)
                self.assertEqual(len(text.splitlines()), 1, text)


class Map(unittest.TestCase):
    def test_drawn_is_what_it_checks_for(self):
        tree = Tree(self, GOOD)
        self.assertEqual(tree.run("draw_map", "--check")[0], 1)
        self.assertEqual(tree.run("draw_map"), (0, ""))
        self.assertEqual(tree.run("draw_map", "--check"), (0, ""))

    def test_a_new_include_makes_it_stale(self):
        tree = Tree(self, {**GOOD, "lib/report/page.h": "",
                     "docs/architecture.md": GOOD["docs/architecture.md"] + "| `lib/report/` | pages | model |\n"})
        self.assertEqual(tree.run("draw_map")[0], 0)
        with open(os.path.join(tree.folder.name, "lib/report/page.h"), "w", encoding="utf-8") as file:
            file.write('#include "lib/model/site.h"\n')
        status, text = tree.run("draw_map", "--check")
        self.assertEqual(status, 1)
        self.assertIn("tools/draw_map", text)

    def test_every_folder_has_a_row_and_every_row_a_folder(self):
        for files, message in (({"lib/report/page.h": ""}, "no row for lib/report/"),
                               ({"docs/architecture.md": GOOD["docs/architecture.md"] + "| `lib/hive/` | x | y |\n"},
                                "there is no folder lib/hive/")):
            status, text = Tree(self, {**GOOD, **files}).run("draw_map", "--check")
            self.assertEqual(status, 1)
            self.assertIn(message, text)


if __name__ == "__main__":
    unittest.main()

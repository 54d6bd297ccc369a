#!/usr/bin/python3
"""The worked examples of CONTRIBUTING.md (docs/recipes/*.patch): each applies to this tree, touches at most three files, and compiles.

Pages that a tool writes from the sources do not count as files to touch. The confirmer's example is compiled and run as it stands:
FakeConfirmer in lib/confirm/engine_test.cc.

usage: recipes_test.py
"""
import os
import re
import shutil
import subprocess
import tempfile
import unittest

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.realpath(__file__)), "../.."))
RECIPES = os.path.join(ROOT, "docs/recipes")
MOST_FILES = 3

# What else must compile with the example in place: the readers of the rows.
READERS = {
    "engine": ["lib/analysis/analyze.cc"],
    "finder": [],
    "report-writer": [],
    "strategy": ["runtime/schedule/mode.cc"],
    "system-call": ["lib/process/recording/syscall_table.cc"],
}
FLAGS = ["-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Wshadow", "-Werror", '-DDEADHEAT_VERSION="0"']
RUNTIME_FLAGS = ["-D_GNU_SOURCE", "-fno-exceptions", "-fno-rtti", "-mcx16"]


def touched(patch):
    with open(patch, encoding="utf-8") as file:
        return re.findall(r"^diff --git a/(\S+) b/\1$", file.read(), re.M)


class Recipes(unittest.TestCase):
    def overlay(self, patch):
        """A folder with the patched files alone, which stands in front of the tree."""
        folder = tempfile.mkdtemp(prefix="recipe.")
        self.addCleanup(shutil.rmtree, folder)
        for name in touched(patch):
            if os.path.exists(os.path.join(ROOT, name)):
                os.makedirs(os.path.join(folder, os.path.dirname(name)), exist_ok=True)
                shutil.copy(os.path.join(ROOT, name), os.path.join(folder, name))
        done = subprocess.run(["git", "apply", "-C1", patch], cwd=folder, capture_output=True, text=True, check=False,
                              env={**os.environ, "GIT_CEILING_DIRECTORIES": os.path.dirname(folder)})
        self.assertEqual(done.returncode, 0, f"{patch} does not apply:\n{done.stderr}")
        return folder

    def compiles(self, folder, name):
        source = os.path.join(folder, name)
        command = ["g++", *FLAGS, *(RUNTIME_FLAGS if name.startswith("runtime/") else []), "-I", folder, "-I", ROOT,
                   source if os.path.exists(source) else os.path.join(ROOT, name)]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    def test_each_extension_point_has_one(self):
        self.assertEqual(sorted(name.removesuffix(".patch") for name in os.listdir(RECIPES)), sorted(READERS))
        with open(os.path.join(ROOT, "CONTRIBUTING.md"), encoding="utf-8") as file:
            page = file.read()
        for name in READERS:
            self.assertIn(f"docs/recipes/{name}.patch", page)

    def test_they_apply_and_compile(self):
        for name, readers in READERS.items():
            with self.subTest(recipe=name):
                patch = os.path.join(RECIPES, name + ".patch")
                files = touched(patch)
                self.assertTrue(files)
                self.assertLessEqual(len(files), MOST_FILES, files)
                folder = self.overlay(patch)
                for source in [one for one in files if one.endswith(".cc")] + readers:
                    done = self.compiles(folder, source)
                    self.assertEqual(done.returncode, 0, f"{source}:\n{done.stderr}")

    def test_a_row_without_its_code_does_not_compile(self):
        patch = os.path.join(RECIPES, "system-call.patch")
        folder = self.overlay(patch)
        shutil.copy(os.path.join(ROOT, "lib/process/effects/effects.cc"), os.path.join(folder, "lib/process/effects/effects.cc"))
        done = self.compiles(folder, "lib/process/effects/effects.cc")
        self.assertIn("kAccounting", done.stderr)


if __name__ == "__main__":
    unittest.main()

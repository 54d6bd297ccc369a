"""Builds a program for a tool: the compiler commands; and one that another check has built already is used again."""
import fcntl
import os
import subprocess

PLAIN = {"gcc": {"c": "gcc", "c++": "g++"}, "clang": {"c": "clang-19", "c++": "clang++-19"}}
STANDARD = {"c": "gnu11", "c++": "c++17"}


class BuildFailed(Exception):
    """The message ends with the compiler's words."""


def newest(*tops):
    """When the last of the files below was written."""
    return max(os.path.getmtime(os.path.join(folder, name)) for top in tops
               for folder, _, names in os.walk(top) for name in names)


class Builder:
    """kept: a folder for built programs, shared with other processes; without it each is built where it is run."""

    def __init__(self, tool, compiler, opt, deadheat=None, kept=None):
        self.tool, self.compiler, self.opt, self.deadheat, self.kept = tool, compiler, opt, deadheat, kept
        if kept:  # what a program is made of: the suite, the wrapper, the plugin and the runtime
            build = os.path.dirname(os.path.dirname(deadheat))
            self.made_of = max(newest(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), f"{build}/lib/deadheat"),
                               os.path.getmtime(f"{build}/apps/deadheat-cc"))

    def _compiler(self, language):
        if self.tool == "deadheat":
            name = "deadheat-cc" if language == "c" else "deadheat-c++"
            return os.path.join(os.path.dirname(self.deadheat), name)
        return PLAIN[self.compiler][language]

    def has_plugin(self):
        name = "deadheat_pass.so" if self.compiler == "clang" else "gcc-12/deadheat_gcc.so"
        return os.path.exists(os.path.join(os.path.dirname(os.path.dirname(self.deadheat)), "lib/deadheat", name))

    def environment(self):
        env = dict(os.environ)
        if self.tool == "deadheat":
            env["DEADHEAT_CC"] = PLAIN[self.compiler]["c"]
            env["DEADHEAT_CXX"] = PLAIN[self.compiler]["c++"]
        return env

    def _flags(self):
        flags = [f"-{self.opt}", "-Wall", "-Wno-unused-function", "-Wno-unused-variable",
                 "-Wno-unused-but-set-variable"]
        if self.tool in ("helgrind", "drd"):
            return flags + ["-gdwarf-4"]  # valgrind 3.19 stops at clang's DWARF 5
        if self.tool == "tsan":
            return flags + ["-g", "-fsanitize=thread"]
        return flags + ["-g"]

    def commands(self, source, safe, folder):
        """[(command, output)] that make the program `folder`/program and its libraries."""
        made, libraries = [], []
        for kind in ("plain", "instrumented"):
            for name in source.header.get(kind, []):
                stem = os.path.splitext(os.path.basename(name))[0]
                output = os.path.join(folder, f"lib{stem}.so")
                language = "c++" if name.endswith(".cc") else "c"
                if kind == "plain":
                    command = [PLAIN["gcc"][language], "-g", "-gdwarf-4", "-O1"]
                else:
                    command = [self._compiler(language), *self._flags()]
                made.append((command + ["-shared", "-fPIC", f"-I{source.top}",
                                        os.path.join(source.top, name), "-o", output], output))
                if "-ldl" not in source.header.get("libs", []):  # those are opened by the program
                    libraries.append(f"-l{stem}")
        objects = []
        for name in source.header.get("plain_object", []):
            objects.append(os.path.join(folder, os.path.splitext(os.path.basename(name))[0] + ".o"))
            compiler = PLAIN[self.compiler]["c++" if name.endswith(".cc") else "c"]
            made.append(([compiler, "-g", "-gdwarf-4", "-O1", "-fPIC", f"-I{source.top}", "-c",
                          os.path.join(source.top, name), "-o", objects[-1]], objects[-1]))
        program = os.path.join(folder, "program")
        standard = source.header.get("std", STANDARD[source.language])
        made.append(([self._compiler(source.language), *self._flags(), f"-std={standard}",
                      f"-DSAFE={int(safe)}", f"-I{source.top}", *source.header.get("flags", []), *objects,
                      os.path.join(source.top, source.name), "-o", program, "-pthread", f"-L{folder}",
                      f"-Wl,-rpath,{folder}", *libraries, *source.header.get("libs", [])], program))
        return made

    def build(self, source, safe, folder):
        """The program's path. `folder` exists afterwards, for what a run leaves."""
        os.makedirs(folder, exist_ok=True)
        if not self.kept:
            return self._build(source, safe, folder)
        kept = os.path.join(self.kept, f"{self.tool}-{self.compiler}-{self.opt}", os.path.splitext(source.name)[0],
                            "safe" if safe else "racy")
        os.makedirs(kept, exist_ok=True)
        stamp = os.path.join(kept, "built")
        with open(os.path.join(kept, "lock"), "w", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not os.path.exists(stamp) or os.path.getmtime(stamp) <= self.made_of:
                self._build(source, safe, kept)
                with open(stamp, "w", encoding="utf-8"):
                    pass
                os.utime(stamp)
        return os.path.join(kept, "program")

    def _build(self, source, safe, folder):
        for command, output in self.commands(source, safe, folder):
            done = subprocess.run(command, capture_output=True, text=True, check=False, env=self.environment(),
                                  stdin=subprocess.DEVNULL)
            if done.returncode != 0 or not os.path.exists(output):
                raise BuildFailed(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
        return os.path.join(folder, "program")

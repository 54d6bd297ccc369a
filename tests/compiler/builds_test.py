#!/usr/bin/python3
"""Whole build systems through the wrapper: CMake, autoconf with libtool, make, pkg-config.

usage: builds_test.py DEADHEAT_CC
"""
import os
import shutil
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import installation  # noqa: E402

LIBRARY = """#include <string>
int counter;
std::string greet(int n) { counter += n; return std::string("n") + std::to_string(counter); }
"""
MAIN = """#include <iostream>
#include <string>
std::string greet(int);
int shared;
int main(int argc, char**) { shared = argc; std::cout << greet(shared) << std::endl; return 0; }
"""


class Builds(installation.CompilerCase):
    def setUp(self):
        super().setUp()
        self.write("greet.cc", LIBRARY)
        self.write("main.cc", MAIN)
        self.write("plain.c", "int plain_c; int plain(void) { return plain_c; }\n")

    def need(self, *programs):
        for program in programs:
            if shutil.which(program) is None:
                self.skipTest(f"no {program}")

    def identity(self):
        return "GNU" if self.compiler == "gcc" else "Clang"

    def test_cmake(self):
        self.need("cmake", "ninja")
        self.write("CMakeLists.txt", "cmake_minimum_required(VERSION 3.20)\nproject(p C CXX)\n"
                                     "find_package(Threads REQUIRED)\ninclude(CheckIPOSupported)\n"
                                     f"if(NOT CMAKE_CXX_COMPILER_ID STREQUAL {self.identity()})\n"
                                     "message(FATAL_ERROR \"taken for ${CMAKE_CXX_COMPILER_ID}\")\nendif()\n"
                                     "add_library(greet SHARED greet.cc plain.c)\nadd_executable(main main.cc)\n"
                                     "target_link_libraries(main greet Threads::Threads)\n"
                                     "target_precompile_headers(main PRIVATE <string>)\n"
                                     "install(TARGETS main greet)\n")
        self.ok("cmake", "-G", "Ninja", "-B", "b", f"-DCMAKE_C_COMPILER={self.cc}", f"-DCMAKE_CXX_COMPILER={self.cxx}",
                "-DCMAKE_BUILD_TYPE=Release", f"-DCMAKE_INSTALL_PREFIX={self.work}/to", "-DCMAKE_INSTALL_RPATH=$ORIGIN/../lib",
                quiet=False)
        self.ok("ninja", "-C", "b", "install")
        self.assert_ours_only("b/main")
        self.assertEqual(self.ok("to/bin/main"), "n1\n")
        self.assertGreater(self.witness("to/bin/main")["writes"], 1)

    def test_cmake_package(self):
        self.need("cmake", "ninja")
        package = f"{self.installation.folder}/lib/cmake/Deadheat"
        if not os.path.exists(package):
            os.makedirs(package)
            shutil.copy(f"{installation.ROOT}/compiler/driver/DeadheatConfig.cmake", package)
            shutil.copy(f"{installation.ROOT}/compiler/driver/DeadheatToolchain.cmake", package)
        self.write("CMakeLists.txt", "cmake_minimum_required(VERSION 3.20)\nproject(p CXX)\nfind_package(Deadheat REQUIRED)\n"
                                     "add_executable(main main.cc greet.cc)\ntarget_link_libraries(main Deadheat::runtime)\n")
        self.ok("cmake", "-G", "Ninja", "-B", "b", f"-DCMAKE_CXX_COMPILER={self.env['DEADHEAT_CXX']}",
                f"-DDeadheat_DIR={package}", quiet=False)
        self.ok("ninja", "-C", "b")
        self.assert_instrumented("b/main")
        self.write("t/CMakeLists.txt", "cmake_minimum_required(VERSION 3.20)\nproject(p CXX)\n"
                                       "add_executable(main ../main.cc ../greet.cc)\n")
        self.ok("cmake", "-G", "Ninja", "-S", "t", "-B", "c",
                f"-DCMAKE_TOOLCHAIN_FILE={package}/DeadheatToolchain.cmake", quiet=False)
        self.ok("ninja", "-C", "c")
        self.assert_instrumented("c/main")

    def test_autoconf_and_libtool(self):
        self.need("autoreconf", "libtoolize", "make")
        self.write("configure.ac", "AC_INIT([p], [1])\nAC_CONFIG_SRCDIR([main.cc])\nAM_INIT_AUTOMAKE([foreign])\nAC_PROG_CC\n"
                                   "AC_PROG_CXX\nLT_INIT([disable-static])\nAC_CHECK_FUNCS([fork clone no_such_function])\n"
                                   "AC_CHECK_LIB([m], [cos])\nAC_C_BIGENDIAN\nAC_CHECK_SIZEOF([long])\nAC_CHECK_HEADERS([pthread.h])\n"
                                   "AC_CONFIG_FILES([Makefile])\nAC_OUTPUT\n")
        self.write("Makefile.am", "lib_LTLIBRARIES = libgreet.la\nlibgreet_la_SOURCES = greet.cc plain.c\n"
                                  "libgreet_la_LDFLAGS = -no-undefined -Wl,-z,defs\nbin_PROGRAMS = main\nmain_SOURCES = main.cc\n"
                                  "main_LDADD = libgreet.la\n")
        self.ok("autoreconf", "-fi", quiet=False)
        env = {"CC": self.cc, "CXX": self.cxx}
        self.ok("sh", "-c", f"./configure -q --prefix={self.work}/to && make -s install", quiet=False, env=env)
        log = self.read("config.log")
        self.assertIn("ac_cv_func_fork=yes", log)
        self.assertIn("ac_cv_func_no_such_function=no", log)
        self.assertIn("ac_cv_sizeof_long=8", log)
        self.assertEqual(self.ok("to/bin/main"), "n1\n")
        self.assertGreater(self.witness("to/bin/main")["writes"], 1)


globals().update(installation.each_compiler(Builds))
del Builds

if __name__ == "__main__":
    installation.CompilerCase.prefix = "deadheat-compiler-"  # libtool cannot have blanks
    installation.CompilerCase.wrapper = sys.argv.pop(1)
    unittest.main()

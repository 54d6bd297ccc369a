#!/bin/sh
# Package: source of jattach 2.1-1, whose Debian build is parallel (debhelper 13).
# "all: build build/jattach": the folder "build" is a goal beside the program that is written into it, which does not depend on it. Bad order:
# the linker is faster than mkdir, and the build fails.
# bad order: -P build -e inject=mkdir:delay_enter=5000000
set -u
sources=${DEADHEAT_SOURCES:-${XDG_CACHE_HOME:-$HOME/.cache}/deadheat/sources}/jattach-2.1
[ -d "$sources" ] || { echo "no source in $sources: run fetch_sources" >&2; exit 77; }
work=${TMPDIR:-/tmp}/deadheat-jattach
rm -rf "$work" && cp -r "$sources" "$work" && cd "$work" || exit 1

make -s -j2 && test -x build/jattach

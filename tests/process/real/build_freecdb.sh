#!/bin/sh
# Package: source of freecdb 0.76, whose Debian build is parallel (debhelper 12).
# The objects that need the generated uint32.h are listed, but one is misspelled ("unint32_unpack.o"), and cdbget.o is missing. Bad order,
# with many jobs, as on a large machine, uint32_unpack.c is compiled while uint32.h does not exist or is still empty, and the build fails.
# bad order: -P /usr/bin/cat -e inject=execve:delay_enter=6000000
set -u
sources=${DEADHEAT_SOURCES:-${XDG_CACHE_HOME:-$HOME/.cache}/deadheat/sources}/freecdb-0.76
[ -d "$sources" ] || { echo "no source in $sources: run fetch_sources" >&2; exit 77; }
work=${TMPDIR:-/tmp}/deadheat-freecdb
rm -rf "$work" && cp -r "$sources" "$work" && cd "$work" || exit 1

make -s -j32 CFLAGS=-w && test -x cdbget

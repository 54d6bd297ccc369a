#!/bin/sh
# Package: source of phalanx 25-1, whose Debian build is parallel (debhelper 13).
# "phalanx: .o $(OBJ)": the folder ".o" is a goal beside the objects that are written into it, which do not depend on it. Bad order: an
# assembler is faster than mkdir, and the build fails.
# bad order: -P .o -e inject=mkdir:delay_enter=5000000
set -u
sources=${DEADHEAT_SOURCES:-${XDG_CACHE_HOME:-$HOME/.cache}/deadheat/sources}/phalanx-25
[ -d "$sources" ] || { echo "no source in $sources: run fetch_sources" >&2; exit 77; }
work=${TMPDIR:-/tmp}/deadheat-phalanx
rm -rf "$work" && cp -r "$sources" "$work" && cd "$work" || exit 1

make -s -j2 CFLAGS="-std=gnu89 -w -D_GNU_SOURCE" && test -x phalanx

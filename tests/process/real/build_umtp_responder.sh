#!/bin/sh
# Package: source of umtp-responder 1.3.10-1, whose Debian build is parallel (debhelper 13).
# "all: output_dir umtprd": the folder "obj" is made by a goal beside the program, and the objects that are written into it do not depend on
# that. Bad order: an assembler is faster than mkdir, and the build fails.
# bad order: -P obj -e inject=mkdir:delay_enter=5000000
set -u
sources=${DEADHEAT_SOURCES:-${XDG_CACHE_HOME:-$HOME/.cache}/deadheat/sources}/umtp-responder-1.3.10
[ -d "$sources" ] || { echo "no source in $sources: run fetch_sources" >&2; exit 77; }
work=${TMPDIR:-/tmp}/deadheat-umtp_responder
rm -rf "$work" && cp -r "$sources" "$work" && cd "$work" || exit 1

make -s -j2 && test -x umtprd

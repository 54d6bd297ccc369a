#!/bin/sh
# Package: dpkg 1.21.22 (dpkg-divert).
# An administrator diverts a file while another script packs a changelog and diverts another one. dpkg-divert reads all diversions, adds one and renames
# "diversions-new" over them, without dpkg's lock. Bad order: both read the old list; one diversion is lost, and dpkg will overwrite that file.
# bad order: -e inject=rename:delay_enter=1000000
set -u
work=${TMPDIR:-/tmp}/deadheat-dpkg-divert
rm -rf "$work" && mkdir -p "$work/updates" "$work/info" && cd "$work" && touch status || exit 1
seq 100000 >changelog

divert() { dpkg-divert --quiet --admindir "$work" --local --no-rename --add "$1"; }

divert /usr/bin/first
(gzip -9n changelog && divert /usr/bin/second || echo "second: not diverted" >&2) &
divert /usr/bin/third || echo "third: not diverted" >&2
wait

status=0
for file in first second third; do
  grep -qx "/usr/bin/$file" diversions || { echo "not diverted any more: $file" >&2; status=1; }
done
exit $status

#!/bin/sh
# debian-438076: mv onto an existing file on another file system (coreutils). It removes the target, creates it anew and copies
# into it, so a reader meets no file, or half of one. Fails when the reader does not get a whole table, the old or the new one.
# bad order: -P routes -P /usr/bin/grep -e inject=unlinkat:delay_exit=400000 -e inject=execve:delay_enter=200000
set -u
work=${TMPDIR:-/tmp}/deadheat-mv
shared=/dev/shm/deadheat-mv
rm -rf "$work" "$shared" && mkdir -p "$work" "$shared" && cd "$work" || exit 1
if [ "$(stat -c %d "$shared")" = "$(stat -c %d .)" ]; then
  echo "needs two file systems: /dev/shm is the one of $work" >&2
  exit 77
fi

seq -f 'old %g' 500 >routes
seq -f 'new %g' 500 >"$shared/routes"

mv -f "$shared/routes" routes &
lines=$(grep -c -e '^old' -e '^new' routes)
found=$?
wait
rm -rf "$shared"
[ $found = 0 ] && [ "$lines" = 500 ] || { echo "read ${lines:-no} lines of 500" >&2; exit 1; }

#!/bin/sh
# debian-438076, repaired: the file comes over under a name of its own and is renamed where it is, which replaces the target in
# one step. The reader gets a whole table, the old or the new one.
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

(mv -f "$shared/routes" routes.incoming && mv -f routes.incoming routes) &
lines=$(grep -c -e '^old' -e '^new' routes)
found=$?
wait
rm -rf "$shared"
[ $found = 0 ] && [ "$lines" = 500 ] || { echo "read ${lines:-no} lines of 500" >&2; exit 1; }

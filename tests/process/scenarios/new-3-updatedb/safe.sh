#!/bin/sh
# new-3, repaired: two updatedb (findutils) at the same time: an administrator's, and the one of the daily jobs, which pack the
# logs first. Each holds a lock from its start to its end, so that the new database is one of them alone.
set -u
work=${TMPDIR:-/tmp}/deadheat-updatedb
rm -rf "$work" && mkdir -p "$work/tree/etc" "$work/tree/home" && cd "$work" || exit 1
touch tree/etc/hosts tree/etc/passwd tree/home/notes
seq -f 'GET /page/%g 200' 250000 >requests.log
update() { flock database.lock updatedb.findutils --localpaths="$work/tree" --prunepaths=/proc --output="$work/database"; }
daily() {
  gzip -9n requests.log
  update
}

daily &
update
wait
found=$(locate.findutils --database=database notes)
[ -n "$found" ] && echo "$found"

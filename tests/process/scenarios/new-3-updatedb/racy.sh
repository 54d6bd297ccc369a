#!/bin/sh
# new-3: two updatedb (findutils) at the same time: an administrator's, and the one of the daily jobs, which pack the logs
# first. Both write the new database to one name, look at its size and rename it. Fails when the database cannot answer
# afterwards.
# bad order: -P $TMPDIR/deadheat-updatedb/database.n -e inject=renameat2:delay_enter=4000000
set -u
work=${TMPDIR:-/tmp}/deadheat-updatedb
rm -rf "$work" && mkdir -p "$work/tree/etc" "$work/tree/home" && cd "$work" || exit 1
touch tree/etc/hosts tree/etc/passwd tree/home/notes
seq -f 'GET /page/%g 200' 250000 >requests.log
update() { updatedb.findutils --localpaths="$work/tree" --prunepaths=/proc --output="$work/database"; }
daily() {
  gzip -9n requests.log
  update
}

daily &
update
wait
found=$(locate.findutils --database=database notes)
[ -n "$found" ] && echo "$found"

#!/bin/sh
# new-2: locate runs while updatedb of findutils 4.4.2 puts a new database in place: it removes the old one and then renames the
# new one to its name. (4.9.0 only renames; the old step is put back into a copy.) Fails when locate does not find a file that
# was there all the time.
# bad order: -P database -P $TMPDIR/deadheat-locate/database -e inject=openat:delay_enter=800000 -e inject=unlinkat:delay_exit=1500000
set -u
work=${TMPDIR:-/tmp}/deadheat-locate
rm -rf "$work" && mkdir -p "$work/tree/etc" "$work/tree/home" && cd "$work" || exit 1
touch tree/etc/hosts tree/etc/passwd tree/home/notes
sed 's/^\( *\)mv \${LOCATE_DB}\.n \$LOCATE_DB$/\1rm -f $LOCATE_DB\n&/' /usr/bin/updatedb.findutils >updatedb
if cmp -s updatedb /usr/bin/updatedb.findutils; then
  echo "this updatedb puts its database in place in another way: nothing to put back" >&2
  exit 77
fi
update() { sh ./updatedb --localpaths="$work/tree" --prunepaths=/proc --output="$work/database"; }

update
touch tree/home/letter
update &
locate.findutils --database=database notes >found
wait
cat found
[ -s found ]

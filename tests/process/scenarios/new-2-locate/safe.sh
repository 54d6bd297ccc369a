#!/bin/sh
# new-2, repaired: locate runs while updatedb of findutils 4.9.0 puts a new database in place by renaming it over the old one.
# locate finds a file that was there all the time.
set -u
work=${TMPDIR:-/tmp}/deadheat-locate
rm -rf "$work" && mkdir -p "$work/tree/etc" "$work/tree/home" && cd "$work" || exit 1
touch tree/etc/hosts tree/etc/passwd tree/home/notes
update() { updatedb.findutils --localpaths="$work/tree" --prunepaths=/proc --output="$work/database"; }

update
touch tree/home/letter
update &
locate.findutils --database=database notes >found
wait
cat found
[ -s found ]

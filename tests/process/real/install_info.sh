#!/bin/sh
# Package: install-info 6.8-6+b1.
# Two manuals are installed at the same time (`make install` of two packages; one packs its changelog first). install-info reads the table "dir" and then writes
# it anew in place, without a lock. Bad order: both read the old table and one manual is lost, or one reads the emptied table.
# bad order: -P dir -e inject=openat:delay_enter=700000
set -u
work=${TMPDIR:-/tmp}/deadheat-install-info
rm -rf "$work" && mkdir -p "$work" && cd "$work" || exit 1

for manual in sed grep tar; do
  cat >$manual.info <<ENTRY
INFO-DIR-SECTION Text
START-INFO-DIR-ENTRY
* $manual: ($manual).  The manual of $manual.
END-INFO-DIR-ENTRY
ENTRY
done

seq 100000 >changelog
install-info tar.info dir
(gzip -9n changelog && install-info sed.info dir) &
first=$!
install-info grep.info dir
status=$?
wait $first || status=1
for manual in sed grep tar; do
  grep -q "^\* $manual:" dir || { echo "not in the table: $manual" >&2; status=1; }
done
exit $status

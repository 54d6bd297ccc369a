#!/bin/sh
# Package: dpkg 1.21.22 (dpkg-statoverride).
# Two scripts register permissions that shall survive upgrades; one packs its changelog first. dpkg-statoverride reads all, adds one and renames "statoverride-new"
# over them, without dpkg's lock. Bad order: both read the old list; one permission is lost at the next upgrade.
# bad order: -e inject=rename:delay_enter=1000000
set -u
work=${TMPDIR:-/tmp}/deadheat-dpkg-statoverride
rm -rf "$work" && mkdir -p "$work" && cd "$work" || exit 1
seq 100000 >changelog

override() { dpkg-statoverride --quiet --admindir "$work" --add root root "$1" "$2"; }

override 0755 /usr/bin/first
(gzip -9n changelog && override 4755 /usr/bin/second || echo "second: not registered" >&2) &
override 0700 /usr/bin/third || echo "third: not registered" >&2
wait

status=0
for file in first second third; do
  grep -q " /usr/bin/$file\$" statoverride || { echo "no permissions kept for: $file" >&2; status=1; }
done
exit $status

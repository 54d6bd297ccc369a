#!/bin/sh
# Package: apache2-utils 2.4.71-1~deb12u1 (htpasswd).
# Two users are given passwords by two scripts; one packs a log first. htpasswd reads the file, writes a temporary one and copies that over the file, which is
# emptied first; no lock. Bad order: both read the old file and one user is lost, or one reads the emptied file and all users are.
# bad order: -P users -e inject=openat:delay_enter=700000
set -u
work=${TMPDIR:-/tmp}/deadheat-htpasswd
rm -rf "$work" && mkdir -p "$work" && cd "$work" || exit 1

allow() { htpasswd -b -s users "$1" "secret of $1" 2>"$1.err" || { cat "$1.err" >&2; return 1; }; }

: >users
seq 100000 >requests.log
allow root
(gzip -9n requests.log && allow alice) &
first=$!
allow bob
status=$?
wait $first || status=1
for user in root alice bob; do
  grep -q "^$user:" users || { echo "no user $user" >&2; status=1; }
done
exit $status

#!/bin/sh
# Package: openssh-client 1:9.2p1-2+deb12u10 (ssh-keygen -R).
# Two hosts were set up anew and a script for each removes its old key; one packs its log first. ssh-keygen reads known_hosts, leaves out the host and renames
# a new file over it, without a lock. Bad order: both read the old file; a key that was removed is back, and the host is refused. Or the
# second finds the backup "known_hosts.old" made meanwhile and gives up.
# bad order: -e inject=rename:delay_enter=1000000
set -u
work=${TMPDIR:-/tmp}/deadheat-ssh-keygen
rm -rf "$work" && mkdir -p "$work" && cd "$work" || exit 1
key="ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIE0rZGVhZGhlYXQgcHJvY2VzcyByYWNlcyB0ZXN0IQ=="
for host in alpha beta gamma; do echo "$host $key"; done >known_hosts
seq 100000 >setup.log

forget() { ssh-keygen -q -R "$1" -f known_hosts >"$1.out" 2>"$1.err" || { cat "$1.err" >&2; return 1; }; }

(gzip -9n setup.log && forget alpha) &
first=$!
forget beta
status=$?
wait $first || status=1
for host in alpha beta; do
  if grep -q "^$host " known_hosts; then echo "still known: $host" >&2; status=1; fi
done
grep -q "^gamma " known_hosts || { echo "not known any more: gamma" >&2; status=1; }
exit $status

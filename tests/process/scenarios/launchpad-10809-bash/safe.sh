#!/bin/sh
# launchpad-10809, repaired: two bash shells that share a history file take turns: each holds a lock while it reads the file,
# appends its commands and drops the oldest lines. The commands of both are there afterwards.
set -u
work=${TMPDIR:-/tmp}/deadheat-bash
rm -rf "$work" && mkdir -p "$work" && cd "$work" || exit 1

seq 20000 -1 1 >numbers
seq -f 'echo %g' 30 >history
# A window in which one command is given.
session() {
  HISTFILE=history HISTFILESIZE=30 HISTSIZE=100 flock history.lock bash --norc --noprofile -o history -O histappend <<COMMANDS
$1
COMMANDS
}

session 'echo done >state' &
session 'sort -n numbers >sorted' &
wait

status=0
for command in 'echo done >state' 'sort -n numbers >sorted'; do
  grep -qx "$command" history || { echo "not in the history: $command" >&2; status=1; }
done
exit $status

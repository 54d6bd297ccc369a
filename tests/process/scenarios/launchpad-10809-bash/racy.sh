#!/bin/sh
# launchpad-10809: two bash shells that share a history file end at about the same time. Each appends its commands and then,
# because the file is full, reads it, drops the oldest lines and writes it anew, without a lock. Fails when a command of one is
# missing.
# bad order: -e inject=execve:delay_enter=1500000 -e inject=chown:delay_exit=1000000 -e inject=rename:delay_enter=1000000
set -u
work=${TMPDIR:-/tmp}/deadheat-bash
rm -rf "$work" && mkdir -p "$work" && cd "$work" || exit 1

seq 20000 -1 1 >numbers
seq -f 'echo %g' 30 >history
# A window in which one command is given.
session() {
  HISTFILE=history HISTFILESIZE=30 HISTSIZE=100 bash --norc --noprofile -o history -O histappend <<COMMANDS
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

#!/bin/sh
# new-1: two tcsh shells with `savehist merge` save their history at about the same time. Each reads the file, merges its own
# commands and puts a new file in its place, without a lock. Fails when a command of one is missing.
# bad order: -e inject=rename:delay_enter=1000000
set -u
work=${TMPDIR:-/tmp}/deadheat-tcsh
rm -rf "$work" && mkdir -p "$work" && cd "$work" || exit 1

seq 20000 -1 1 >numbers
printf '#+%s\n%s\n' 1700000000 'ls' >history
printf '#+%s\n%s\n' 1700000100 'wc -c numbers' >first.commands
printf '#+%s\n%s\n' 1700000200 'sort -n numbers' >second.commands
# A window in which one command was given.
session() {
  tcsh -f <<COMMANDS
set history = 100
set savehist = (100 merge)
set histfile = history
source -h $1.commands
source $1.commands > $1.output
history -S
COMMANDS
}

session first &
session second &
wait

status=0
for command in 'wc -c numbers' 'sort -n numbers'; do
  grep -qx "$command" history || { echo "not in the history: $command" >&2; status=1; }
done
exit $status

#!/bin/sh
# redhat-54127: a start script asks `ps | grep` whether a window manager runs and counts the grep itself as one of the lines.
# Whether ps lists the grep depends on which of the two is faster. Fails when the running window manager is not seen.
# bad order: -P /usr/bin/grep -e inject=execve:delay_enter=300000
set -u
work=${TMPDIR:-/tmp}/deadheat-ps-grep
rm -rf "$work" && mkdir -p "$work" && cd "$work" && mkfifo session quit || exit 1

cat >kwin <<'PROGRAM'
echo ready >session
read -r order <quit
PROGRAM
sh ./kwin &
read -r ready <session

if [ "$(ps ax | grep kwin | wc -l)" -gt 1 ]; then
  echo "licq with the KDE plugin"
  status=0
else
  echo "licq without a plugin"
  status=1
fi

echo quit >quit
wait
exit $status

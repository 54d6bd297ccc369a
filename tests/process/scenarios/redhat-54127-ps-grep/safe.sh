#!/bin/sh
# redhat-54127, repaired: the pattern does not match the command line it stands in, so it does not matter whether ps lists the
# grep.
set -u
work=${TMPDIR:-/tmp}/deadheat-ps-grep
rm -rf "$work" && mkdir -p "$work" && cd "$work" && mkfifo session quit || exit 1

cat >kwin <<'PROGRAM'
echo ready >session
read -r order <quit
PROGRAM
sh ./kwin &
read -r ready <session

if [ "$(ps ax | grep '[k]win' | wc -l)" -ge 1 ]; then
  echo "licq with the KDE plugin"
  status=0
else
  echo "licq without a plugin"
  status=1
fi

echo quit >quit
wait
exit $status

#!/bin/bash
# Signals between shells: a handler that writes, one that ends a wait, one that kills.
set -u
work=$(mktemp -d)
cd "$work" || exit 1
trap 'echo parent was told >>log' USR1
parent=$$
(
  trap 'echo child was told >>log; exit 3' TERM
  kill -USR1 $parent
  echo child waits >>log
  while :; do /bin/true; done
) &
child=$!
while ! grep -q 'child waits' log 2>/dev/null; do /bin/true; done
kill -TERM $child
wait $child
echo "child ended with $?" >>log
/bin/sleep 60 &
sleeper=$!
kill -KILL $sleeper
wait $sleeper 2>/dev/null
echo "sleeper ended with $?" >>log
sort log

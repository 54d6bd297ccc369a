#!/bin/bash
# Time, randomness and process numbers in names and contents.
set -eu
work=$(mktemp -d)
cd "$work"
for i in 1 2 3; do
  (echo "$BASHPID $RANDOM $SRANDOM $(date +%s.%N)" >"$(mktemp part.XXXXXX)") &
done
wait
head -c 16 /dev/urandom | od -An -tx1 >random
cat part.* random | wc -l

#!/bin/sh
# Pipelines of several programs, and a pipe with two writers.
set -eu
work=$(mktemp -d)
cd "$work"
seq 1 3000 | sed 's/7/seven/g' | sort -r | tee numbers | gzip -n >numbers.gz
{ (seq 1 200; echo first done) & (seq 1000 1200; echo second done) & wait; } | wc -l >count
tar cf - numbers numbers.gz | tar tf - | sort >names
cat count names

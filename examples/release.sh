#!/bin/sh
# Two jobs of a release that both note what they did in one file. Left alone it goes well nearly always: the tests take longer.
set -eu
cd "$(mktemp -d)"
echo '{"version": "1.0"}' > status

note() {
  sed "s/}/, \"$1\": \"done\"}/" status > "status.$1"
  mv "status.$1" status
}

build() { note build; }
tests() { seq 300000 | sort -r | sort -n > /dev/null; note tests; }

build &
tests &
wait
grep -q build status && grep -q tests status

#!/bin/sh
# Package: libc-bin 2.36-9+deb12u14 (ldconfig).
# Two ldconfig at the same time, as at the end of two `make install`, one of which packs a changelog first. Both write "CACHE~" and rename it. Bad order: one renames the file that the
# other is still writing, whose own rename then finds no file: "Renaming of ... failed", or a cache that is cut short for a while.
# bad order: -e inject=rename:delay_enter=1000000
set -u
work=${TMPDIR:-/tmp}/deadheat-ldconfig
rm -rf "$work" && mkdir -p "$work/lib" && cd "$work" || exit 1
touch ld.so.conf
seq 100000 >changelog
cp -L /lib/x86_64-linux-gnu/libz.so.1 /lib/x86_64-linux-gnu/libcrypt.so.1 lib/ || exit 77

update() { /sbin/ldconfig -X -C "$work/cache" -f "$work/ld.so.conf" "$work/lib"; }

(gzip -9n changelog && update) &
first=$!
update || { echo "one ldconfig failed" >&2; exit 1; }
wait $first || { echo "the other ldconfig failed" >&2; exit 1; }
/sbin/ldconfig -p -C "$work/cache" | grep -q "$work/lib/libz.so.1" || { echo "not in the cache: libz.so.1" >&2; exit 1; }

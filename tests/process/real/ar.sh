#!/bin/sh
# Packages: binutils 2.40-2 (ar), make 4.3-4.1.
# make's own rule for members of an archive, "lib.a(x.o)", runs one ar a member; with -j they run together. ar reads the archive, writes a
# temporary one and copies it over the archive, without a lock. Bad order: both read the old archive; a member is lost and the link
# fails, or one reads the archive while it is being filled.
# bad order: -P lib.a -e inject=openat:delay_enter=3000000
set -u
work=${TMPDIR:-/tmp}/deadheat-ar
rm -rf "$work" && mkdir -p "$work" && cd "$work" || exit 1

echo 'int one(void) { return 1; }' >one.c
{
  echo 'int two(void) { return 2; }'
  seq -f 'int table_%g(int x) { int s = 0; for (int i = 0; i < x; i++) s += i * i; return s; }' 1000
} >two.c
echo 'int one(void), two(void); int main(void) { return one() + two() - 3; }' >main.c
cat >Makefile <<'RULES'
ARFLAGS = rc
main: main.o lib.a(one.o) lib.a(two.o)
	$(CC) -o $@ main.o lib.a
RULES

make -s -j2 && ./main

#!/bin/sh
# make -j2 of a small C program: compilers, archiver, linker.
set -eu
work=$(mktemp -d)
cd "$work"
for i in 1 2 3 4 5 6; do
  echo "int f$i(int x) { return x * $i; }" >f$i.c
done
echo 'int f1(int), f6(int); int puts(const char*); int main(void) { return puts(f1(6) == f6(1) ? "equal" : "unequal") < 0; }' >main.c
cat >Makefile <<'M'
objects := f1.o f2.o f3.o f4.o f5.o f6.o
all: program
	./program
library.a: $(objects)
	rm -f $@
	ar rcs $@ $^
program: main.o library.a
	$(CC) -o $@ $^
M
make -s -j2

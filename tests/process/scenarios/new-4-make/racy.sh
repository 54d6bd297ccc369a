#!/bin/sh
# new-4: make -j on a Makefile like that of abr2gbr: the folder for the object files is a goal of its own, and the objects do
# not depend on it. Fails when a compiler wants to write an object before the folder is there.
# bad order: -P .obj -e inject=mkdir:delay_enter=500000
set -u
work=${TMPDIR:-/tmp}/deadheat-make
rm -rf "$work" && mkdir -p "$work" && cd "$work" || exit 1

echo 'int width(void) { return 7; }' >brush.c
echo 'int width(void); int main(void) { return width() - 7; }' >convert.c
cat >Makefile <<'RULES'
OBJDIR = .obj
OBJECTS = $(OBJDIR)/brush.o $(OBJDIR)/convert.o

all: $(OBJDIR) convert

$(OBJDIR):
	if [ ! -d $@ ]; then mkdir $@; fi

$(OBJDIR)/%.o: %.c
	$(CC) $(CFLAGS) -c -o $@ $<

convert: $(OBJECTS)
	$(CC) $(CFLAGS) -o $@ $(OBJECTS)
RULES

make -s -j2 && ./convert

#!/bin/sh
# new-4, repaired: the objects name the folder they are written to as a thing that must be there first (order-only, so that a
# newer folder does not make them old).
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

$(OBJDIR)/%.o: %.c | $(OBJDIR)
	$(CC) $(CFLAGS) -c -o $@ $<

convert: $(OBJECTS)
	$(CC) $(CFLAGS) -o $@ $(OBJECTS)
RULES

make -s -j2 && ./convert

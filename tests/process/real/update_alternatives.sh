#!/bin/sh
# Package: dpkg 1.21.22 (update-alternatives).
# Two packages that provide the same command are configured at the same time; one packs its changelog first. update-alternatives reads the list of
# alternatives, adds one and renames "NAME.dpkg-tmp" over it, without a lock and with one name for all. Bad order: both read the old list;
# the alternative of one is lost, or its rename finds no file.
# bad order: -e inject=rename:delay_enter=1000000
set -u
work=${TMPDIR:-/tmp}/deadheat-update-alternatives
rm -rf "$work" && mkdir -p "$work/alternatives" "$work/admin" "$work/bin" && cd "$work" || exit 1
touch bin/vim bin/nano bin/ed
seq 100000 >changelog

provide() { # program, priority
  update-alternatives --quiet --log /dev/null --altdir "$work/alternatives" --admindir "$work/admin" \
    --install "$work/bin/editor" editor "$work/bin/$1" "$2"
}

provide ed 10
(gzip -9n changelog && provide nano 40 || echo "nano: not configured" >&2) &
provide vim 50 || echo "vim: not configured" >&2
wait

status=0
for program in vim nano ed; do
  grep -qx "$work/bin/$program" admin/editor || { echo "not an alternative: $program" >&2; status=1; }
done
exit $status

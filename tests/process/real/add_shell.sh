#!/bin/sh
# Package: debianutils 5.7-0.5~deb12u1 (add-shell).
# Two packages add their shell to /etc/shells; one packs its changelog first. add-shell means to notice another instance by its temporary file, but its
# own clean-up then removes that file. Bad order: the second starts while the first is working; it gives up, and the first has nothing left
# to rename and fails too: neither shell is listed.
# bad order: -e inject=renameat2,rename,renameat:delay_enter=1500000
set -u
work=${TMPDIR:-/tmp}/deadheat-add-shell
rm -rf "$work" && mkdir -p "$work/etc" && cd "$work" || exit 1
echo /bin/sh >etc/shells
seq 300000 >changelog

add() { DPKG_ROOT=$work add-shell "$1" || { echo "not added: $1" >&2; return 1; }; }

(gzip -9n changelog && add /usr/bin/fish) &
first=$!
add /usr/bin/zsh
status=$?
wait $first || status=1
for shell in /bin/sh /usr/bin/fish /usr/bin/zsh; do
  grep -qx "$shell" etc/shells || { echo "not a login shell: $shell" >&2; status=1; }
done
exit $status

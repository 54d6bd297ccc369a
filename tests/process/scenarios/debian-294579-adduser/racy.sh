#!/bin/sh
# debian-294579: two programs that add a user read, change and rewrite the user table without a lock. One is importing from a
# directory server while an administrator adds a user by hand. Fails when a user is missing afterwards.
# bad order: -e inject=renameat2,renameat,rename:delay_enter=200000
set -u
work=${TMPDIR:-/tmp}/deadheat-adduser
rm -rf "$work" && mkdir -p "$work/etc" && cd "$work" || exit 1

cat >etc/passwd <<'TABLE'
root:x:0:0:root:/root:/bin/bash
daemon:x:1:1:daemon:/usr/sbin:/usr/sbin/nologin
nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin
TABLE
cat >people.ldif <<'TABLE'
dn: uid=alice,ou=people,dc=example,dc=org
uid: alice
uidNumber: 1001
cn:: QWxpY2U=
TABLE

# name, number, full name
add_user() {
  if grep -q "^$1:" etc/passwd; then
    echo "adduser: the user $1 already exists" >&2
    return 1
  fi
  cp etc/passwd "etc/passwd.$1"
  echo "$1:x:$2:$2:$3:/home/$1:/bin/bash" >>"etc/passwd.$1"
  mv "etc/passwd.$1" etc/passwd
}

attribute() { sed -n "s/^$1::* //p" people.ldif; }

import_people() {
  name=$(attribute uid)
  number=$(attribute uidNumber)
  full=$(attribute cn | base64 -d)
  add_user "$name" "$number" "$full"
}

add_user bob 1002 Bob &
import_people
wait

status=0
for name in alice bob; do
  grep -q "^$name:" etc/passwd || { echo "no user $name" >&2; status=1; }
done
exit $status

#!/bin/sh
# debian-399930, repaired: the daemon opens its log by name only when it starts, before any rotation, and again when logrotate's
# postrotate says that the new file is ready; until then it writes the old one.
set -u
[ "$(id -u)" = 0 ] || { echo "needs root: logrotate and the daemon are two users" >&2; exit 77; }
work=${TMPDIR:-/tmp}/deadheat-logrotate
rm -rf "$work" && mkdir -p "$work/log" && cd "$work" && chmod 755 . log || exit 1

seq -f 'request %g' 20 >log/served.log
chown nobody:nogroup log/served.log
chmod 640 log/served.log
mkfifo -m 644 control
cat >rotate.conf <<CONF
$work/log/served.log {
  rotate 2
  create 640 nobody nogroup
  postrotate
    echo reopen >$work/control
  endscript
}
CONF
chmod 644 rotate.conf
cat >served <<'DAEMON'
echo "started" >&3
read -r order <control
exec 3>>log/served.log || exit 1
echo "$order" >&3
DAEMON

exec 3>>log/served.log
logrotate --force --state "$work/state" rotate.conf &
setpriv --reuid=nobody --regid=nogroup --clear-groups sh ./served
status=$?
wait
exit $status

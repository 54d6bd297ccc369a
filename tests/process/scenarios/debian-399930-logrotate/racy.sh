#!/bin/sh
# debian-399930: logrotate renames the log, creates a new one that only root may write, and gives it to the daemon afterwards. A
# daemon that opens its log meanwhile may not write it. Fails when the daemon does not start.
# bad order: -e inject=fchown:delay_enter=600000 -e inject=setresuid:delay_exit=300000
set -u
[ "$(id -u)" = 0 ] || { echo "needs root: logrotate and the daemon are two users" >&2; exit 77; }
work=${TMPDIR:-/tmp}/deadheat-logrotate
rm -rf "$work" && mkdir -p "$work/log" && cd "$work" && chmod 755 . log || exit 1

seq -f 'request %g' 20 >log/served.log
chown nobody:nogroup log/served.log
chmod 640 log/served.log
cat >rotate.conf <<CONF
$work/log/served.log {
  rotate 2
  create 640 nobody nogroup
}
CONF
chmod 644 rotate.conf
cat >served <<'DAEMON'
exec 3>>log/served.log || exit 1
echo "started" >&3
DAEMON

logrotate --force --state "$work/state" rotate.conf &
setpriv --reuid=nobody --regid=nogroup --clear-groups sh ./served
status=$?
wait
exit $status

#!/bin/sh
# launchpad-596064, repaired: init starts smbd and nmbd side by side, and whichever is first makes the folder that both keep
# their state in.
set -u
work=${TMPDIR:-/tmp}/deadheat-upstart
rm -rf "$work" && mkdir -p "$work/run" "$work/jobs" && cd "$work" || exit 1

cat >smb.conf <<'CONF'
[global]
  workgroup = OFFICE
  netbios name = FILES
CONF
cat >jobs/smbd <<'JOB'
mkdir -p run/samba
echo up >run/samba/smbd.state
JOB
cat >jobs/nmbd <<'JOB'
mkdir -p run/samba
name=$(sed -n 's/^ *netbios name = //p' smb.conf)
group=$(sed -n 's/^ *workgroup = //p' smb.conf)
echo "$name $group" >run/samba/nmbd.state || exit 1
JOB

start() { sh "jobs/$1" || echo "init: $1 main process terminated with status $?" >>init.log; }

start smbd &
start nmbd &
wait
if [ -s init.log ]; then
  cat init.log >&2
  exit 1
fi

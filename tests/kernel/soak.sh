# Runs inside the machine: all of the kernel is watched while four loads take turns. usage: soak.sh SECONDS (of each load) [BUDGET]
# Leaves /out/LOAD.json (findings), LOAD.txt (what was said) and LOAD.code; dmesg is taken when the machine ends.
seconds=$1
budget=${2:-10%}
insmod deadheat.ko || exit 1
mkdir -p /tmp/names
soak() {  # NAME KINDS: of bench/watch/kernel/load.c
  ./load $((seconds + 60)) /tmp/names $2 &
  ./deadheat watch --kernel --budget $budget --time $seconds --findings /out/$1.json > /out/$1.txt 2>&1
  echo $? > /out/$1.code
  grep 'watched the kernel' /out/$1.txt
  killall -9 load
  wait
}
soak sockets 'socket_user socket_user descriptors poller'
soak pipes 'pipe_writer pipe_writer pipe_reader poller pinger'
soak names 'renamer linker small_files changer looker'
soak tasks 'forker proc_reader mapper pinger'
rmmod deadheat

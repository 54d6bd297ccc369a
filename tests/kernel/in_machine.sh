# Runs inside the machine: every case leaves /out/NAME.json (findings), NAME.txt (what was said), NAME.code.
# Modules and the tool lie in the working folder.

code() {  # NAME COMMAND...
  name=$1
  shift
  "$@" > /out/$name.txt 2>&1
  echo $? > /out/$name.code
}

# An emulated processor may wait milliseconds for a real one: the stands are as long as they may be.
watch() {  # NAME OPTIONS...
  case_name=$1
  shift
  code $case_name ./deadheat watch --kernel --budget 60% --delay 2 --findings /out/$case_name.json "$@"
}

# Something to be found: in a second or two where the machine has its processors to itself.
finds() { watch "$@" --time 60 --stop-at-first; }
silent() { watch "$@" --time 3; }

code no_module ./deadheat watch --kernel
insmod deadheat.ko || exit 1
code no_root su -s /bin/sh nobody -c './deadheat watch --kernel'
code no_function ./deadheat watch --kernel --functions 'no_such_function_*'

for seed in 1 2; do
  insmod rwrace.ko kind=race
  finds race$seed --seed $seed --functions 'rwrace_*'
  rmmod rwrace
done
# What another run found, among some thousand other instructions: its sites come first.
insmod rwrace.ko kind=race
finds suspected --functions 'rwrace_*' --functions 'vfs_*' --functions 'ext4_*' --candidates /out/race1.json
rmmod rwrace
insmod rwrace.ko kind=spinlock
silent suspected_twin --functions 'rwrace_*' --candidates /out/race1.json
rmmod rwrace
insmod rwrace.ko kind=once
finds once --functions 'rwrace_*'
rmmod rwrace
for kind in spinlock locked percpu irqs_off; do
  insmod rwrace.ko kind=$kind
  silent $kind --module rwrace --functions 'rwrace_*'
  rmmod rwrace
done
insmod inode_size.ko fixed=0
finds inode_size0 --functions 'inode_size_*'
rmmod inode_size
insmod inode_size.ko fixed=1
silent inode_size1 --functions 'inode_size_*'
rmmod inode_size
insmod nlink.ko fixed=0
finds nlink0 --functions inc_nlink --functions drop_nlink
rmmod nlink
for fixed in 1 2; do
  insmod nlink.ko fixed=$fixed
  silent nlink$fixed --functions inc_nlink --functions drop_nlink
  rmmod nlink
done

for locked in 0 1; do
  insmod halves.ko locked=$locked
  watch halves$locked --functions 'halves_read_*' --time 3
  cat /sys/module/halves/parameters/lost > /out/lost$locked.txt
  rmmod halves
done

code pairs ./pair_watched

# Somebody else has all debug registers: values are compared.
rmmod deadheat
insmod registers.ko || exit 1
insmod deadheat.ko || exit 1
for kind in race spinlock; do
  insmod rwrace.ko kind=$kind
  watch values_$kind --functions 'rwrace_*' --time 3
  rmmod rwrace
done
rmmod deadheat
rmmod registers
insmod deadheat.ko || exit 1

# Killed in the middle of a round: closing the device takes the breakpoints away, and the module goes.
insmod rwrace.ko kind=race
for round in 1 2; do
  ./deadheat watch --kernel --functions 'rwrace_*' --budget 60% > /out/killed.txt 2>&1 &
  while ! grep -q rwrace_ /sys/kernel/debug/kprobes/list; do :; done
  code busy ./deadheat watch --kernel --functions 'rwrace_*'
  kill -9 $!
  wait $!
  code unload$round rmmod deadheat
  grep rwrace_ /sys/kernel/debug/kprobes/list > /out/left$round.txt
  insmod deadheat.ko || exit 1
done
rmmod rwrace
rmmod deadheat

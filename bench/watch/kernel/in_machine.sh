# Runs inside the machine: the load of load.c under a watch of the functions that it uses. usage: in_machine.sh SECONDS
insmod deadheat.ko || exit 1
mkdir -p /tmp/names
./load $((3 * $1)) /tmp/names &
watch() {  # NAME PATTERN...
  name=$1
  shift
  patterns=
  for pattern in "$@"; do patterns="$patterns --functions $pattern"; done
  ./deadheat watch --kernel --budget 60% --delay 1 --time $seconds --findings /out/$name.json $patterns \
    > /out/$name.txt 2>&1
  grep 'watched the kernel' /out/$name.txt
}
set -f
seconds=$1
watch pipes 'pipe_*' 'anon_pipe_*' 'core_sys_select' 'do_select' 'do_sys_poll' 'do_poll*' 'poll_*' 'select_*' 'unix_*' \
  'vfs_read' 'vfs_write' 'ksys_*' 'file_*' 'new_sync_*' '__fget*' 'fput*'
watch names 'vfs_*' 'do_rename*' 'path_*' 'link_path_walk*' 'lookup_*' 'd_*' '__d_*' 'dput' 'dentry_*' 'step_into' \
  'walk_component' 'shmem_*' 'simple_*' 'inode_*' 'generic_fillattr' 'generic_file_*' 'current_time' 'touch_atime' \
  'file_update_time' 'notify_change' 'iput' 'ihold' 'inc_nlink' 'drop_nlink' 'may_*'
watch tasks '*signal*' 'do_send_*' 'do_exit' 'release_task' 'wait_*' 'do_wait' 'copy_process' 'wake_up_*' 'try_to_wake_up' \
  'do_notify_*' 'exit_*' 'mm_*' 'do_anonymous_page' 'handle_mm_fault' '__handle_mm_fault' 'vm_*' 'do_user_addr_fault' 'unmap_*'
set +f
kill %1 2> /dev/null
rmmod deadheat

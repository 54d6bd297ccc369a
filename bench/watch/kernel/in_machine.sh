# Runs inside the machine: each watch with the load that uses its functions. usage: in_machine.sh SECONDS
seconds=$1
now() { cut -d ' ' -f 1 /proc/uptime; }
calls() {  # NAME: many small calls, and how long they took
  begin=$(now)
  dd if=/dev/zero of=/dev/null bs=1 count=300000 2> /dev/null
  echo $1 $begin $(now) >> /out/idle.txt
}
# Loaded, but not watching.
for round in 1 2 3 4 5 6 7; do
  calls without
  insmod deadheat.ko || exit 1
  calls with
  rmmod deadheat
done
insmod deadheat.ko || exit 1
mkdir -p /tmp/names /tmp/ext4
dd if=/dev/zero of=/tmp/disk bs=1M count=32 2> /dev/null
./mke2fs -q -t ext4 -F /tmp/disk && mount -o loop /tmp/disk /tmp/ext4 || exit 1
watch() {  # NAME FOLDER KINDS PATTERN...
  name=$1 folder=$2 kinds=$3
  shift 3
  patterns=
  for pattern in "$@"; do patterns="$patterns --functions $pattern"; done
  ./load $((seconds + 30)) $folder $kinds &
  ./deadheat watch --kernel --budget 60% --delay 1 --time $seconds --findings /out/$name.json $patterns \
    > /out/$name.txt 2>&1
  grep 'watched the kernel' /out/$name.txt
  kill $! 2> /dev/null
  killall -9 load 2> /dev/null
  wait
}
set -f
watch pipes /tmp/names 'pipe_writer pipe_writer pipe_reader poller pinger' \
  'pipe_*' 'anon_pipe_*' 'core_sys_select' 'do_select' 'do_sys_poll' 'do_poll*' 'poll_*' 'select_*' 'vfs_read' 'vfs_write' \
  'ksys_*' 'new_sync_*' '__fget*' 'fput*' 'copy_page_*' 'prepare_to_wait*' 'finish_wait' '__wake_up*' 'autoremove_wake_*' \
  '*_signal*' 'send_sig*' 'complete_signal' 'dequeue_*' '*recalc_sigpending*' 'ttwu_*' 'try_to_wake_up' 'resched_curr' \
  'check_preempt_*' 'schedule*' 'kill_*' 'file_update_time' 'touch_atime' 'current_time'
watch descriptors /tmp/names 'descriptors descriptors socket_user poller' \
  'ep_*' 'eventfd_*' 'do_epoll_*' '*_fd' '__fget*' 'fget*' 'alloc_fd' '*close_fd*' 'filp_*' 'fput*' 'f_dupfd*' 'do_fcntl*' \
  'setfl' 'expand_*' 'unix_*' 'sock_*' 'skb_*' 'do_select' 'do_sys_poll' 'vfs_read' 'vfs_write' '__sys_*' 'sys_*'
watch names /tmp/names 'renamer linker small_files changer looker' \
  'vfs_*' 'do_rename*' 'path_*' 'link_path_walk*' 'lookup_*' 'd_*' '__d_*' 'dput' 'dentry_*' 'step_into' 'walk_component' \
  'shmem_*' 'simple_*' 'inode_*' 'generic_*' 'current_time' 'touch_atime' 'file_update_time' 'notify_change' 'iput' 'ihold' \
  'inc_nlink' 'drop_nlink' 'may_*' 'filemap_*' 'setattr_*' 'do_dentry_open' 'do_truncate' 'iterate_dir' 'dcache_*'
watch ext4 /tmp/ext4 'renamer linker small_files changer looker' 'ext4_*' 'jbd2_*' '__ext4_*' '__jbd2_*' 'generic_*' 'inode_*'
watch tasks /tmp/names 'forker proc_reader mapper pinger' \
  '*signal*' 'do_send_*' 'do_exit' 'release_task' 'wait_*' 'do_wait' 'copy_process' 'wake_up_*' 'try_to_wake_up' \
  'do_notify_*' 'exit_*' 'mm_*' 'do_anonymous_page' 'handle_mm_fault' '__handle_mm_fault' 'vm_*' 'do_user_addr_fault' \
  'unmap_*' 'proc_*' 'do_task_stat' 'task_*' 'thread_group_*' 'getrusage' 'update_*' 'account_*' 'render_*' 'show_*' 'get_*'
set +f
umount /tmp/ext4
rmmod deadheat

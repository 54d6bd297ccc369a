// The seccomp program that selects the calls at which the kernel stops: all except the private
// ones; of mmap only shared mappings; of the calls on signal actions and masks only those that
// change something.
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <vector>

#include "lib/process/recording/syscall_table.h"
#include "lib/process/sources/ptrace/tracer.h"

namespace deadheat::process::sources {

bool install_call_filter(bool deadlines) {
  std::vector<sock_filter> code;
  const auto load = [&](size_t offset) {
    code.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<uint32_t>(offset)));
  };
  const auto end = [&](uint32_t action) { code.push_back(BPF_STMT(BPF_RET | BPF_K, action)); };
  load(offsetof(seccomp_data, arch));
  code.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0));
  end(SECCOMP_RET_TRACE);  // 32-bit programs: their call numbers differ; they are counted as not
                           // modelled
  load(offsetof(seccomp_data, nr));
  for (uint32_t number = 0; number < recording::kMostSyscalls; number++) {
    if (recording::is_recorded(number) || is_thread_call(number) ||
        (deadlines && may_have_deadline(number)))
      continue;
    code.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1));
    end(SECCOMP_RET_ALLOW);
  }
  for (const uint32_t number : {SYS_rt_sigaction, SYS_rt_sigprocmask}) {
    code.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 6));
    load(offsetof(seccomp_data, args[1]));
    code.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 3));
    load(offsetof(seccomp_data, args[1]) + sizeof(uint32_t));
    code.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 1));
    end(SECCOMP_RET_ALLOW);
    end(SECCOMP_RET_TRACE);
  }
  code.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 0, 3));
  load(offsetof(seccomp_data, args[3]));
  code.push_back(BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, MAP_PRIVATE, 0, 1));
  end(SECCOMP_RET_ALLOW);
  end(SECCOMP_RET_TRACE);
  sock_fprog program{static_cast<unsigned short>(code.size()), code.data()};
  if (::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0) return true;
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0;
}

}  // namespace deadheat::process::sources

#include "lib/process/replay/made_names.h"

#include <fcntl.h>
#include <sys/syscall.h>

namespace deadheat::process::replay {

std::optional<uint16_t> made_name_argument(uint32_t number, const uint64_t* arguments) {
  switch (number) {
    case SYS_open:
      return (arguments[1] & O_CREAT) != 0 ? std::optional<uint16_t>(0) : std::nullopt;
    case SYS_openat:
      return (arguments[2] & O_CREAT) != 0 ? std::optional<uint16_t>(1) : std::nullopt;
    case SYS_creat:
    case SYS_mkdir:
    case SYS_mknod:
      return 0;
    case SYS_mkdirat:
    case SYS_mknodat:
    case SYS_symlink:
    case SYS_link:
    case SYS_rename:
      return 1;
    case SYS_symlinkat:
      return 2;
    case SYS_linkat:
    case SYS_renameat:
    case SYS_renameat2:
      return 3;
    default:
      return std::nullopt;
  }
}

}  // namespace deadheat::process::replay

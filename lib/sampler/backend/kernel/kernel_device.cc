#include "lib/sampler/backend/kernel/kernel_device.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "lib/base/scoped_fd.h"

namespace deadheat::sampler {
namespace {

Error failed(const char* what) {
  return {std::string("the kernel module refuses to ") + what + ": " + std::strerror(errno),
          "dmesg may say more"};
}

class OpenDevice : public KernelDevice {
 public:
  OpenDevice(ScopedFd file, uint32_t hit_ns)
      : file_(std::move(file)), hit_seconds_(hit_ns * 1e-9) {}

  Status set(const deadheat_watch_settings& settings) override {
    if (::ioctl(file_.get(), DEADHEAT_WATCH_SET, &settings) != 0)
      return failed("take these settings");
    return Ok{};
  }

  Result<std::vector<deadheat_watch_answer>> place(
      std::span<const deadheat_watch_site> sites) override {
    std::vector<deadheat_watch_answer> answers(sites.size());
    deadheat_watch_batch batch{reinterpret_cast<uint64_t>(sites.data()),
                               reinterpret_cast<uint64_t>(answers.data()),
                               static_cast<uint32_t>(sites.size()), 0};
    if (::ioctl(file_.get(), DEADHEAT_WATCH_PLACE, &batch) != 0) return failed("place breakpoints");
    return answers;
  }

  Status take(std::span<const uint32_t> slots) override {
    const deadheat_watch_slots wanted{reinterpret_cast<uint64_t>(slots.data()),
                                      static_cast<uint32_t>(slots.size()), 0};
    if (::ioctl(file_.get(), DEADHEAT_WATCH_TAKE, &wanted) != 0)
      return failed("take breakpoints away");
    return Ok{};
  }

  Result<deadheat_watch_look> look() override {
    deadheat_watch_look seen{};
    if (::ioctl(file_.get(), DEADHEAT_WATCH_LOOK, &seen) != 0)
      return failed("tell what was reached");
    return seen;
  }

  std::vector<deadheat_watch_record> read() override {
    std::vector<deadheat_watch_record> out, some(64);
    for (;;) {
      const ssize_t got = ::read(file_.get(), some.data(), some.size() * sizeof some[0]);
      if (got <= 0) return out;
      const auto count = static_cast<size_t>(got) / sizeof some[0];
      out.insert(out.end(), some.begin(), some.begin() + static_cast<ptrdiff_t>(count));
    }
  }

  deadheat_watch_counts counts() override {
    deadheat_watch_counts out{};
    if (::ioctl(file_.get(), DEADHEAT_WATCH_COUNT, &out) != 0) return {};
    return out;
  }

  double hit_seconds() const override { return hit_seconds_; }

 private:
  ScopedFd file_;
  double hit_seconds_;
};

Error cannot_open(const std::string& path, int error) {
  switch (error) {
    case ENOENT:
    case ENODEV:
    case ENXIO:
      return {"the kernel module is not loaded: there is no " + path,
              "build kernel/kmod against this kernel's headers and insmod deadheat.ko; tools/vm "
              "gives a "
              "machine to try it in"};
    case EBUSY:
      return {"the kernel is being watched already", "one watch of the kernel at a time"};
    case EACCES:
    case EPERM:
      return {"no permission to watch the kernel", "run as root"};
    default:
      return {"cannot open " + path + ": " + std::strerror(error), ""};
  }
}

}  // namespace

Result<std::unique_ptr<KernelDevice>> open_kernel_device(const std::string& path) {
  ScopedFd file(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (!file.valid()) return cannot_open(path, errno);
  deadheat_watch_info info{};
  if (::ioctl(file.get(), DEADHEAT_WATCH_INFO, &info) != 0)
    return Error{path + " is not ours", "is another module of that name loaded?"};
  if (info.version != DEADHEAT_WATCH_VERSION || info.site_size != sizeof(deadheat_watch_site) ||
      info.record_size != sizeof(deadheat_watch_record))
    return Error{"the kernel module speaks version " + std::to_string(info.version) + ", this is " +
                     std::to_string(DEADHEAT_WATCH_VERSION),
                 "load the module of this build"};
  return std::unique_ptr<KernelDevice>(new OpenDevice(std::move(file), info.hit_ns));
}

}  // namespace deadheat::sampler

// Arbitrary bytes as an ELF file: no crash, every listed site is in a section and decodes to an
// access, and the instruction that ends after it is found again.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "lib/base/scoped_fd.h"
#include "lib/sampler/code/code_list.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const deadheat::ScopedFd file(::memfd_create("fuzz", MFD_CLOEXEC));
  if (::write(file.get(), data, size) != static_cast<ssize_t>(size)) return 0;
  auto code = deadheat::sampler::ModuleCode::open("/proc/self/fd/" + std::to_string(file.get()));
  if (!code) return 0;
  const auto list = code.value()->list({});
  size_t checked = 0;
  for (const auto& site : list.sites) {
    const auto instruction = code.value()->at(site.address);
    if (!instruction || instruction->count == 0 || instruction->length != site.length) std::abort();
    if (++checked > 100) continue;
    const auto again = code.value()->ending_at(site.address + site.length);
    if (!again || again->address != site.address) std::abort();
  }
  (void)code.value()->list({"a*"});
  return 0;
}

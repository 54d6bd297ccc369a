// Replaces bpf_source.cc if the build had no clang or no libbpf.
#include "lib/process/sources/bpf/bpf_source.h"

namespace deadheat::process::sources {
namespace {

Error absent() {
  return {"this build has no bpf source",
          "install the Debian packages clang-19 and libbpf-dev and build again; the ptrace source "
          "needs neither"};
}

}  // namespace

struct BpfSource::State {};

BpfSource::BpfSource(std::unique_ptr<State> state) : state_(std::move(state)) {}
BpfSource::BpfSource(BpfSource&&) noexcept = default;
BpfSource& BpfSource::operator=(BpfSource&&) noexcept = default;
BpfSource::~BpfSource() = default;

Result<BpfSource> BpfSource::start(const BpfOptions&, recording::RecordingWriter&) {
  return absent();
}
Status BpfSource::follow(int) { return absent(); }
void BpfSource::stop() {}
BpfCounters BpfSource::counters() const { return {}; }
Status check_bpf_source() { return absent(); }

}  // namespace deadheat::process::sources

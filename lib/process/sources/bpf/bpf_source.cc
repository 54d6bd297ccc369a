#include "lib/process/sources/bpf/bpf_source.h"

#include <bpf/libbpf.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>
#include <vector>

#include "lib/base/scoped_fd.h"
#include "lib/process/recording/syscall_table.h"
#include "lib/process/sources/bpf/bpf_object.h"

namespace deadheat::process::sources {
namespace {

// Waking the consumer for each event doubles its cost. So the programs wake it only when a buffer
// is an eighth full, and the consumer polls at long intervals, but often enough that a killed
// recording has nearly everything.
constexpr int kShortestSleep_ms = 100, kLongestSleep_ms = 400;
// Runs before what is recorded when processors are scarce: late means lost. With real-time priority
// an event cost it more than twice as much.
constexpr int kNice = -10;
constexpr uint64_t kPiece = 1u << 20;
constexpr uint64_t kMostBuffer = 1u
                                 << 30;  // what a BPF program can address is less than twice that

double thread_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

}  // namespace

struct BpfSource::State {
  explicit State(recording::RecordingWriter& to) : writer(to) {}
  ~State() { stop(); }

  static int take(void* state, void* bytes, size_t size) {
    static_cast<State*>(state)->writer.append({static_cast<const char*>(bytes), size});
    return 0;
  }

  Status prepare();
  bool drain();
  bool drain_ring(size_t processor);
  void move(deadheat_bpf_ring& from, const char* bytes, uint64_t size);
  void consume();
  void stop();

  recording::RecordingWriter& writer;
  std::unique_ptr<BpfObject> object;
  struct FreeRing {
    void operator()(ring_buffer* one) const { ring_buffer__free(one); }
  };
  std::unique_ptr<ring_buffer, FreeRing> ring;
  ScopedFd poll, ending;
  std::vector<uint64_t> taken;  // events per processor
  std::thread consumer;
  BpfCounters counters;
};

// Edge-triggered: the ring buffer is readable whenever it contains anything, which would be always.
Status BpfSource::State::prepare() {
  taken.resize(object->processors());
  ring.reset(ring_buffer__new(object->aside_map(), take, this, nullptr));
  poll = ScopedFd(::epoll_create1(EPOLL_CLOEXEC));
  ending = ScopedFd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  epoll_event wake{};
  wake.events = EPOLLIN | EPOLLET;
  if (ring == nullptr || !poll.valid() || !ending.valid() ||
      ::epoll_ctl(poll.get(), EPOLL_CTL_ADD, object->aside_map(), &wake) != 0)
    return Error{std::string("cannot read the BPF ring buffer: ") + std::strerror(errno), ""};
  wake.data.u64 = 1;
  if (::epoll_ctl(poll.get(), EPOLL_CTL_ADD, ending.get(), &wake) != 0)
    return Error{std::string("cannot wait for the BPF ring buffer: ") + std::strerror(errno), ""};
  return Ok{};
}

// Events lie one after the other, so they are written without a look at each. The one that reaches
// the ring's end goes on past it, and the next begins as far into the ring. False: there were none.
bool BpfSource::State::drain_ring(size_t processor) {
  deadheat_bpf_ring& from = object->ring(processor);
  const uint64_t events = __atomic_load_n(&from.events, __ATOMIC_ACQUIRE);
  const uint64_t end = __atomic_load_n(&from.produced, __ATOMIC_ACQUIRE);
  const uint64_t all = end - from.consumed;
  if (all == 0) return false;
  const uint64_t size = object->ring_size(), offset = from.consumed & (size - 1);
  const uint64_t first = offset + all < size ? all : size + from.past_end - offset;
  writer.append_all({}, events - taken[processor]);
  taken[processor] = events;
  move(from, object->ring_bytes(processor) + offset, first);
  if (first < all) move(from, object->ring_bytes(processor) + offset + first - size, all - first);
  return true;
}

// In pieces, so that the ring has room again early.
void BpfSource::State::move(deadheat_bpf_ring& from, const char* bytes, uint64_t size) {
  while (size > 0) {
    const uint64_t piece = std::min(size, kPiece);
    writer.append_all({bytes, piece}, 0);
    bytes += piece;
    size -= piece;
    __atomic_store_n(&from.consumed, from.consumed + piece, __ATOMIC_RELEASE);
  }
}

bool BpfSource::State::drain() {
  bool any = ring_buffer__consume(ring.get()) > 0;
  for (size_t processor = 0; processor < object->processors(); processor++)
    any = drain_ring(processor) || any;
  return any;
}

void BpfSource::State::consume() {
  ::setpriority(PRIO_PROCESS, static_cast<id_t>(::syscall(SYS_gettid)), kNice);
  int sleep_ms = kShortestSleep_ms;
  for (bool more = true; more;) {
    epoll_event events[2];
    const int count = ::epoll_wait(poll.get(), events, 2, sleep_ms);
    for (int i = 0; i < count; i++)
      if (events[i].data.u64 == 1) more = false;
    sleep_ms = drain() ? kShortestSleep_ms : std::min(2 * sleep_ms, kLongestSleep_ms);
  }
  counters.consumer_seconds = thread_seconds();
}

void BpfSource::State::stop() {
  if (!object) return;
  object->detach();
  if (consumer.joinable()) {
    const uint64_t one = 1;
    if (::write(ending.get(), &one, sizeof one) != sizeof one) return;
    consumer.join();
  }
  const deadheat_bpf_counters seen = object->counters();
  counters.events = writer.count();
  counters.lost = seen.lost + object->missed();
  counters.unfollowed = seen.unfollowed;
  counters.foreign = seen.foreign;
  for (uint32_t number = 0; number < DEADHEAT_BPF_SYSCALLS; number++)
    if (seen.unmodelled[number] != 0)
      counters.unmodelled[number + 1 < DEADHEAT_BPF_SYSCALLS ? recording::syscall_name(number)
                                                             : "other numbers"] =
          seen.unmodelled[number];
  ring.reset();
  object.reset();
}

BpfSource::BpfSource(std::unique_ptr<State> state) : state_(std::move(state)) {}
BpfSource::BpfSource(BpfSource&&) noexcept = default;
BpfSource& BpfSource::operator=(BpfSource&&) noexcept = default;
BpfSource::~BpfSource() = default;

Result<BpfSource> BpfSource::start(const BpfOptions& options, recording::RecordingWriter& writer) {
  const uint64_t bytes = options.buffer_bytes;
  if (bytes > kMostBuffer)
    return Error{"a buffer of " + std::to_string(bytes) + " bytes is too large",
                 "give at most 1 GiB"};
  auto state = std::make_unique<State>(writer);
  auto object = BpfObject::load(bytes);
  if (!object) return object.error();
  state->object = std::move(object).value();
  if (const Status ready = state->prepare(); !ready) return ready.error();
  if (const Status attached = state->object->attach(); !attached) return attached.error();
  return BpfSource(std::move(state));
}

Status BpfSource::follow(int pid) {
  if (const Status marked = state_->object->mark(pid); !marked) return marked;
  if (!state_->consumer.joinable())
    state_->consumer = std::thread([state = state_.get()] { state->consume(); });
  return Ok{};
}

void BpfSource::stop() { state_->stop(); }
BpfCounters BpfSource::counters() const { return state_->counters; }

Status check_bpf_source() {
  const auto object = BpfObject::load(4096);
  if (!object) return object.error();
  return object.value()->attach();
}

}  // namespace deadheat::process::sources

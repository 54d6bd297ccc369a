#include "lib/trace/container_source.h"

#include <algorithm>
#include <set>

#include "lib/base/text.h"
#include "lib/trace/container_stream.h"

namespace deadheat::trace {
namespace {

// A trace that names more threads than this is broken or hostile; the others share the last number
// and are counted.
constexpr size_t kMaxThreads = 1 << 20;

std::string count_of(uint64_t count, const char* noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

}  // namespace

ContainerSource::ContainerSource(Input input, const ContainerOptions& options)
    : input_(std::move(input)), options_(options) {
  options_.batch_events = std::max<size_t>(options_.batch_events, 1);
  events_.resize(options_.batch_events);
}

ContainerSource::~ContainerSource() = default;

Result<std::unique_ptr<ContainerSource>> ContainerSource::open(Input input,
                                                               const ContainerOptions& options) {
  std::unique_ptr<ContainerSource> source(new ContainerSource(std::move(input), options));
  auto index = index_chunks(source->input_, source->problems_);
  if (!index) return index.error();
  source->index_ = std::move(*index);
  for (const Chunk& chunk : source->index_.chunks) {
    if (chunk.header.domain == DHT_DOMAIN_META)
      source->metadata_.add_chunk(source->input_, chunk, source->problems_);
  }
  for (const Module& module : source->metadata_.modules) {
    source->sites.describe_module(source->sites.module(module.pid, module.generation, module.id),
                                  module.path, module.build_id);
  }
  source->build_streams();
  source->name_threads();
  if (source->index_.chunks.empty()) {
    source->problems_.add("the trace holds no complete chunk after its header (offset " +
                          std::to_string(source->index_.file.header_size) + ")");
  }
  source->problems_at_open_ = source->problems_;
  source->start_over();
  return source;
}

ThreadId ContainerSource::thread(const StreamKey& key) {
  const auto found = threads_.find(key);
  if (found != threads_.end()) return found->second;
  if (thread_keys_.size() >= kMaxThreads) {
    ++threads_dropped_;
    return kMaxThreads - 1;
  }
  thread_keys_.push_back(key);
  return threads_[key] = static_cast<ThreadId>(thread_keys_.size() - 1);
}

void ContainerSource::build_streams() {
  std::map<StreamKey, std::unique_ptr<Stream>> found;
  for (uint32_t number = 0; number < index_.chunks.size(); ++number) {
    const dht_chunk_header& header = index_.chunks[number].header;
    if (header.domain != DHT_DOMAIN_THREAD) {
      unknown_domains_ += header.domain != DHT_DOMAIN_META ? 1 : 0;
      continue;
    }
    const StreamKey key{header.pid, header.generation, header.tid};
    auto& stream = found[key];
    if (stream == nullptr) stream = std::make_unique<Stream>();
    stream->key = key;
    stream->chunks.push_back(number);
  }
  auto sequence = [&](uint32_t chunk) { return index_.chunks[chunk].header.sequence; };
  for (auto& [key, stream] : found) {
    auto& chunks = stream->chunks;
    std::sort(chunks.begin(), chunks.end(), [&](uint32_t a, uint32_t b) {
      return std::pair(sequence(a), a) < std::pair(sequence(b), b);
    });
    const auto same = [&](uint32_t a, uint32_t b) { return sequence(a) == sequence(b); };
    const auto kept = std::unique(chunks.begin(), chunks.end(), same);
    if (kept != chunks.end()) {
      duplicate_chunks_ += static_cast<uint64_t>(chunks.end() - kept);
      problems_.add("stream " + std::to_string(key.pid) + "/" + std::to_string(key.tid) +
                    ": chunk number " + std::to_string(sequence(*(kept - 1))) +
                    " appears twice or more (offset " +
                    std::to_string(index_.chunks[*kept].offset) + "); the first is used");
      chunks.erase(kept, chunks.end());
    }
    streams_.push_back(std::move(stream));
  }
  auto start = [&](const Stream& stream) {
    return std::pair(index_.chunks[stream.chunks[0]].header.base_stamp, stream.key);
  };
  std::sort(streams_.begin(), streams_.end(),
            [&](const auto& a, const auto& b) { return start(*a) < start(*b); });
  for (const NamedThread& named : metadata_.threads) thread(named.key);
  for (uint32_t i = 0; i < streams_.size(); ++i) {
    streams_[i]->number = i;
    streams_[i]->thread = thread(streams_[i]->key);
  }
  for (const auto& stream : streams_) {
    const Chunk& last = index_.chunks[stream->chunks.back()];
    if (last.is_open() && (last.header.commit_flags & DHT_COMMIT_STAMPING) != 0) ++killed_stamping_;
  }
  if (total_order()) return;
  std::map<std::pair<uint32_t, uint32_t>, uint64_t> processes;
  for (auto& stream : streams_) {
    const uint64_t number = processes.size();
    const auto process = std::pair(stream->key.pid, stream->key.generation);
    stream->space = (processes.try_emplace(process, number).first->second % kSpaces) * kSpaceSize;
  }
}

void ContainerSource::name_threads() {
  thread_names_.resize(thread_keys_.size());
  std::set<std::string> taken;
  for (const NamedThread& named : metadata_.threads) {
    const ThreadId number = thread(named.key);
    if (named.name.empty() || number >= thread_names_.size()) continue;
    std::string name = named.name;
    // Names set by programs are not unique; reports and the text form need unique ones.
    if (taken.contains(name))
      name += " (" + std::to_string(named.key.pid) + "/" + std::to_string(named.key.tid) + ")";
    if (taken.insert(name).second) thread_names_[number] = name;
  }
}

std::string ContainerSource::thread_name(ThreadId thread) const {
  if (thread < thread_names_.size() && !thread_names_[thread].empty()) return thread_names_[thread];
  if (thread >= thread_keys_.size()) return "T?" + std::to_string(thread);
  const StreamKey& key = thread_keys_[thread];
  if (metadata_.processes.size() <= 1) return "T" + std::to_string(key.tid);
  const std::string generation = key.generation == 0 ? "" : "." + std::to_string(key.generation);
  return std::to_string(key.pid) + generation + "/" + std::to_string(key.tid);
}

std::string ContainerSource::object_name(uint64_t address, EventKind kind) const {
  if (address >= kSpaceSize && address < kSpaces * kSpaceSize && !total_order())
    address %= kSpaceSize;
  const auto& names = metadata_.names[static_cast<size_t>(name_space(kind))];
  const auto found = names.find(address);
  return found != names.end() ? found->second : hex(address);
}

void ContainerSource::start_over() {
  problems_ = problems_at_open_;
  losses_ = {};
  turns_.clear();
  active_.clear();
  current_ = nullptr;
  last_stamp_ = index_.file.first_stamp - 1;
  loaded_bytes_ = 0;
  finished_ = stopped_at_gap_ = ends_checked_ = false;
  for (auto& stream : streams_) {
    stream->start_over();
    const dht_chunk_header& first = index_.chunks[stream->chunks[0]].header;
    // A stream that lost its beginning may have lost stamps from the first on: then nothing can be
    // trusted, and the stream must come up at once. (Dense stamps show the hole by themselves.)
    const bool headless = first.sequence != 0 && !dense_stamps();
    turns_.push_back({headless ? 0 : first.base_stamp, true, stream->number});
  }
  // Streams are sorted by start. Reversed, the vector is a stack of streams still to start; for
  // merging, make it a heap.
  if (total_order() && dense_stamps()) {
    std::reverse(turns_.begin(), turns_.end());
  } else {
    std::make_heap(turns_.begin(), turns_.end(), std::greater<>());
  }
}

Status ContainerSource::rewind() {
  start_over();
  return Ok{};
}

Result<Batch> ContainerSource::next() {
  ranges_.clear();
  Batch batch;
  while (batch.events.empty() && !finished_) {
    batch = total_order() && dense_stamps() ? next_window() : next_merged();
  }
  losses_.events_read += batch.events.size();
  if (batch.events.empty()) finish();
  return batch;
}

// Reports once, at the end, what is missing.
void ContainerSource::finish() {
  if (ends_checked_) return;
  ends_checked_ = true;
  if (stopped_at_gap_) {
    uint64_t known = 0;
    for (const auto& stream : streams_) {
      for (const uint32_t chunk : stream->chunks) known += index_.chunks[chunk].header.events;
    }
    const uint64_t used = losses_.events_read + losses_.events_lost;
    losses_.events_beyond_gap = known > used ? known - used : 0;
    problems_.add("stopped after stamp " + std::to_string(last_stamp_) +
                  ": the next stamped event is missing (killed writer or damage); left out: " +
                  count_of(losses_.events_beyond_gap, "event") + " beyond it");
  }
  check_ends();
}

void ContainerSource::check_ends() {
  uint64_t not_closed = 0, streams_missing = 0;
  for (const Process& process : metadata_.processes) {
    const auto count = static_cast<uint64_t>(
        std::count_if(streams_.begin(), streams_.end(), [&](const auto& stream) {
          return stream->key.pid == process.pid && stream->key.generation == process.generation;
        }));
    if (!process.closed) ++not_closed;
    if (process.closed && process.streams > count) streams_missing += process.streams - count;
  }
  if (streams_missing > 0)
    problems_.add(count_of(streams_missing, "stream") + " of a closed trace are missing entirely");
  losses_.chunks_lost += streams_missing;
  if (losses_.streams_unfinished == 0 && not_closed == 0) return;
  problems_.add("the end is missing: " + count_of(losses_.streams_unfinished, "stream") + " and " +
                std::to_string(not_closed) + (not_closed == 1 ? " process" : " processes") +
                " without an end mark up to offset " + std::to_string(index_.file_size) +
                " (killed, or still writing); events after their last chunk are not here");
}

Counters ContainerSource::counters() const {
  uint64_t unnamed_modules = sites.unknown_modules();
  uint64_t not_recorded = 0, handlers_not_recorded = 0;
  for (const Process& process : metadata_.processes) {
    not_recorded += process.events_not_recorded;
    handlers_not_recorded += process.handlers_not_recorded;
  }
  return {
      {"events_read", losses_.events_read, "events read", false},
      {"chunks", index_.chunks.size(), "chunks in the trace", false},
      {"chunks_unsealed", losses_.chunks_unsealed,
       "chunks read that were still open, without a checksum", false},
      {"events_beyond_gap", losses_.events_beyond_gap,
       "events left out because an earlier stamped event is missing", true},
      {"events_lost", losses_.events_lost, "events in damaged chunks", true},
      {"events_not_recorded", not_recorded,
       "events after recording stopped (full disk, or a limit)", true},
      {"handlers_not_recorded", handlers_not_recorded,
       "events of signal handlers that interrupted the recorder", true},
      {"chunks_lost", losses_.chunks_lost + index_.damaged_headers + metadata_.damaged_chunks,
       "chunks missing or damaged", true},
      {"stamps_unwritten", losses_.stamps_unwritten,
       "events that a killed thread was about to write", false},
      {"gaps_ignored", losses_.gaps_ignored,
       "places where stamped events are missing and reading went on as asked", true},
      {"streams_unfinished", losses_.streams_unfinished,
       "streams without an end mark: their last events may be missing", true},
      {"streams_broken", losses_.streams_broken,
       "streams given up at an impossible stamp or record", true},
      {"garbage_bytes", index_.garbage_bytes, "bytes that belong to no chunk", true},
      {"unknown_records", losses_.unknown_records + metadata_.unknown_records,
       "records of unknown type skipped", true},
      {"unknown_domains", unknown_domains_, "chunks of a domain that this version does not read",
       true},
      {"duplicate_chunks", duplicate_chunks_, "chunks with a number that an earlier one had", true},
      {"regions_coarsened", losses_.regions_coarsened,
       "regions with too many ranges, read as one range over all of them", true},
      {"sites_dropped", sites.dropped(),
       "site definitions past the limit; their events have no site", true},
      {"threads_dropped", threads_dropped_, "threads past the limit, shown as one", true},
      {"modules_unnamed", unnamed_modules, "modules whose name record is missing", true},
      {"meta_left_out", metadata_.chunks_left_out, "meta chunks past the limit of names", true},
  };
}

}  // namespace deadheat::trace

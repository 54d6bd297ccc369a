#include "lib/trace/writer.h"

#include <fcntl.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "lib/base/file.h"
#include "lib/base/hex_digits.h"
#include "lib/trace/chunk_header.h"
#include "lib/trace/varint.h"

namespace deadheat::trace {
namespace {

// A region with more ranges is written as one range that covers them all: it then reaches more
// than it did, which can hide a race but never invents one. Keeps a record far below
// DHT_MAX_RAW_SIZE.
constexpr size_t kMaxRanges = DHT_MAX_RANGES;

void put_text(std::vector<uint8_t>& out, std::string_view text) {
  text = text.substr(0, DHT_MAX_TEXT);
  out.insert(out.end(), text.begin(), text.end());
}

}  // namespace

StreamWriter::StreamWriter(TraceWriter& writer, uint32_t tid, uint64_t base_stamp)
    : writer_(writer), tid_(tid), encoder_(bytes_) {
  begin_chunk(base_stamp);
}

void StreamWriter::begin_chunk(uint64_t base_stamp) {
  base_stamp_ = base_stamp;
  bytes_.assign(sizeof(dht_chunk_header), 0);
  encoder_.begin(base_stamp, writer_.options_.total_order);
}

void StreamWriter::append(const Event& event, std::span<const Range> ranges) {
  const bool stamped = event.stamped || writer_.options_.total_order;
  append_at(stamped ? writer_.counter_->fetch_add(1, std::memory_order_acq_rel) + 1 : kUnstamped,
            event, ranges);
}

void StreamWriter::append_at(uint64_t stamp, const Event& event, std::span<const Range> ranges,
                             const StreamKey* other_process) {
  Range everything;
  if (ranges.size() > kMaxRanges) {
    everything = ranges[0];
    for (const Range& range : ranges)
      everything = {std::min(everything.begin, range.begin), std::max(everything.end, range.end)};
    ranges = {&everything, 1};
  }
  uint32_t slot = 0;
  if (event.site != kNoSite) {
    slot = encoder_.slot_of(event.site);
    if (slot == 0) slot = encoder_.define(event.site, writer_.definition(event.site));
  }
  encoder_.append(event, slot, stamp, ranges, other_process);
  if (bytes_.size() >= writer_.options_.chunk_size) flush();
}

void StreamWriter::flush() {
  if (encoder_.events() > 0) write_chunk(0);
}

void StreamWriter::finish() {
  if (!finished_) write_chunk(DHT_COMMIT_LAST);
  finished_ = true;
}

void StreamWriter::write_chunk(uint32_t commit_flags) {
  dht_chunk_header header{};
  header.domain = DHT_DOMAIN_THREAD;
  header.flags = writer_.options_.total_order ? DHT_CHUNK_EVERY_STAMPED : 0;
  header.pid = writer_.options_.pid;
  header.generation = writer_.options_.generation;
  header.tid = tid_;
  header.sequence = sequence_++;
  header.base_stamp = base_stamp_;
  header.commit_flags = commit_flags;
  header.last_stamp = encoder_.last_stamp();
  header.events = encoder_.events();
  writer_.flush_meta();
  writer_.write_chunk(header, bytes_);
  begin_chunk(encoder_.last_stamp());
}

TraceWriter::TraceWriter(const WriterOptions& options, std::string path)
    : options_(options),
      path_(std::move(path)),
      counter_(options.shared_counter != nullptr ? options.shared_counter : &own_counter_) {
  options_.chunk_size = std::clamp<size_t>(options_.chunk_size, 64, DHT_MAX_RAW_SIZE / 4);
  std::vector<uint8_t> tool;
  put_text(tool, "deadheat " DEADHEAT_VERSION);
  put_meta(DHT_META_TOOL, tool);
  std::vector<uint8_t> process = {0, 0};
  put_text(process, options_.command);
  put_meta(DHT_META_PROCESS, process);
}

TraceWriter::~TraceWriter() = default;

Result<std::unique_ptr<TraceWriter>> TraceWriter::create(const std::string& path,
                                                         const WriterOptions& options) {
  std::unique_ptr<TraceWriter> writer(new TraceWriter(options, path));
  writer->fd_ =
      ScopedFd(path == "-" ? ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0)
                           : ::open(path.c_str(),
                                    O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666));
  if (!writer->fd_.valid()) return errno_error("cannot create", path, errno);
  auto written = writer->write_file_header();
  if (!written) return written.error();
  return writer;
}

Result<std::unique_ptr<TraceWriter>> TraceWriter::join(const std::string& path,
                                                       const WriterOptions& options) {
  auto reading = open_for_reading(path);
  if (!reading) return reading.error();
  dht_file_header header{};
  const ssize_t got = ::pread(reading->get(), &header, sizeof header, 0);
  if (got != static_cast<ssize_t>(sizeof header) || !is_valid(header) ||
      header.version != DHT_VERSION) {
    return Error{
        path + " is not a trace of version " + std::to_string(DHT_VERSION) + " to append to",
        "record into a new file"};
  }
  WriterOptions joined = options;
  joined.total_order = (header.flags & DHT_FILE_TOTAL_ORDER) != 0;
  joined.dense_stamps = (header.flags & DHT_FILE_DENSE_STAMPS) != 0;
  std::unique_ptr<TraceWriter> writer(new TraceWriter(joined, path));
  writer->fd_ = ScopedFd(::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
  if (!writer->fd_.valid()) return errno_error("cannot append to", path, errno);
  return writer;
}

Status TraceWriter::write_file_header() {
  dht_file_header header = make_file_header((options_.total_order ? DHT_FILE_TOTAL_ORDER : 0) |
                                            (options_.dense_stamps ? DHT_FILE_DENSE_STAMPS : 0));
  bytes_written_ += sizeof header;
  return write_all(fd_.get(), {reinterpret_cast<const char*>(&header), sizeof header}, path_);
}

StreamWriter& TraceWriter::stream(uint32_t tid) {
  const std::lock_guard lock(mutex_);
  auto& stream = streams_[tid];
  if (stream == nullptr)
    stream.reset(new StreamWriter(*this, tid, counter_->load(std::memory_order_acquire)));
  return *stream;
}

void TraceWriter::name_thread(uint32_t tid, std::string_view name) {
  const std::lock_guard lock(mutex_);
  if (!named_threads_.emplace(tid, true).second) return;
  std::vector<uint8_t> payload;
  put_varint(payload, tid);
  put_text(payload, name);
  put_meta(DHT_META_THREAD, payload);
}

uint32_t TraceWriter::module(std::string_view path, std::string_view build_id_hex,
                             uint64_t load_address, uint64_t size) {
  const std::lock_guard lock(mutex_);
  std::string key = std::string(path) + '\n' + std::string(build_id_hex);
  const auto [entry, added] =
      modules_.emplace(std::move(key), static_cast<uint32_t>(modules_.size()));
  if (!added) return entry->second;
  const std::string build_id = bytes_of_hex(build_id_hex.substr(0, 128)).value_or("");
  std::vector<uint8_t> payload;
  put_varint(payload, entry->second);
  put_varint(payload, load_address);
  put_varint(payload, size);
  put_varint(payload, build_id.size());
  payload.insert(payload.end(), build_id.begin(), build_id.end());
  put_text(payload, path);
  put_meta(DHT_META_MODULE, payload);
  return entry->second;
}

SiteId TraceWriter::site(const SiteInfo& info) {
  SiteDefinition made;
  made.is_label = info.module.empty();
  if (!made.is_label) made.module = module(info.module, info.build_id);
  made.offset = info.offset;
  made.label = made.is_label ? info.label : std::string();
  std::string key = made.is_label
                        ? 'L' + made.label
                        : 'M' + std::to_string(made.module) + '+' + std::to_string(made.offset);
  const std::lock_guard lock(mutex_);
  const auto [entry, added] =
      site_numbers_.emplace(std::move(key), static_cast<SiteId>(sites_.size()));
  if (added) sites_.push_back(std::move(made));
  return entry->second;
}

SiteDefinition TraceWriter::definition(SiteId site) {
  const std::lock_guard lock(mutex_);
  return site < sites_.size()
             ? sites_[site]
             : SiteDefinition{.is_label = true, .module = 0, .offset = 0, .label = "?"};
}

void TraceWriter::name_object(NameSpace space, uint64_t address, uint64_t size,
                              std::string_view name) {
  const std::lock_guard lock(mutex_);
  std::vector<uint8_t> payload = {static_cast<uint8_t>(space)};
  put_varint(payload, address);
  put_varint(payload, size);
  put_text(payload, name);
  put_meta(DHT_META_NAME, payload);
}

void TraceWriter::put_meta(uint8_t tag, const std::vector<uint8_t>& payload) {
  if (meta_.empty()) meta_.assign(sizeof(dht_chunk_header), 0);
  meta_.push_back(tag);
  put_varint(meta_, payload.size());
  meta_.insert(meta_.end(), payload.begin(), payload.end());
}

void TraceWriter::flush_meta() {
  const std::lock_guard lock(mutex_);
  if (meta_.empty()) return;
  dht_chunk_header header{};
  header.domain = DHT_DOMAIN_META;
  header.pid = options_.pid;
  header.generation = options_.generation;
  header.sequence = meta_sequence_++;
  std::vector<uint8_t> bytes = std::move(meta_);
  meta_.clear();
  write_chunk(header, bytes);
}

void TraceWriter::write_chunk(dht_chunk_header header, std::vector<uint8_t>& bytes) {
  const size_t raw_size = bytes.size() - sizeof header;
  std::vector<uint8_t> packed;
  std::vector<uint8_t>* chunk = &bytes;
  if (options_.zstd_level != 0 && raw_size > 0) {
    packed.resize(sizeof header + ZSTD_compressBound(raw_size));
    const size_t size = ZSTD_compress(packed.data() + sizeof header, packed.size() - sizeof header,
                                      bytes.data() + sizeof header, raw_size, options_.zstd_level);
    if (!ZSTD_isError(size) && size < raw_size) {
      packed.resize(sizeof header + size);
      header.flags |= DHT_CHUNK_ZSTD;
      chunk = &packed;
    }
  }
  header.stored_size = chunk->size() - sizeof header;
  header.raw_size = raw_size;
  header.payload_crc = dht_crc32c(chunk->data() + sizeof header, header.stored_size);
  chunk->resize((chunk->size() + 7) & ~size_t{7}, 0);
  header.capacity = chunk->size();
  seal(header);
  std::memcpy(chunk->data(), &header, sizeof header);
  bytes_written_ += chunk->size();
  const Status written =
      append_whole({reinterpret_cast<const char*>(chunk->data()), chunk->size()});
  if (!written) {
    const std::lock_guard lock(failure_mutex_);
    if (failure_.empty()) failure_ = written.error().message;
  }
}

Status TraceWriter::append_whole(std::string_view chunk) {
  if (path_ == "-") return write_all(fd_.get(), chunk, "standard output");
  ssize_t put = 0;
  do {
    put = ::write(fd_.get(), chunk.data(), chunk.size());
  } while (put < 0 && errno == EINTR);
  if (put < 0) return errno_error("cannot write", path_, errno);
  // Never write the rest separately: another process may have appended in between.
  if (static_cast<size_t>(put) != chunk.size())
    return errno_error("cannot write all of a chunk to", path_, ENOSPC);
  return Ok{};
}

Status TraceWriter::status() const {
  const std::lock_guard lock(failure_mutex_);
  if (failure_.empty()) return Ok{};
  return Error{
      failure_,
      "the trace keeps every chunk that was written before; free some disk space and record again"};
}

Status TraceWriter::close() {
  std::vector<StreamWriter*> open;
  {
    const std::lock_guard lock(mutex_);
    for (auto& [tid, stream] : streams_) open.push_back(stream.get());
  }
  for (StreamWriter* stream : open) stream->finish();
  std::vector<uint8_t> end;
  put_varint(end, open.size());
  put_varint(end, counter_->load(std::memory_order_acquire));
  {
    const std::lock_guard lock(mutex_);
    put_meta(DHT_META_END, end);
  }
  flush_meta();
  return status();
}

}  // namespace deadheat::trace

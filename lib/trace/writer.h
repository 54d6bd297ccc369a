// Writes a trace: one StreamWriter per thread, each filling its own chunks. A full chunk is
// appended to the file in one write, so several processes can write one file, and a killed writer
// loses only its unfilled chunks.
//
// A trace without close() looks like that of a killed process: its streams have no end, and readers
// report that.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "abi/trace_format.h"
#include "lib/base/result.h"
#include "lib/base/scoped_fd.h"
#include "lib/trace/encoder.h"
#include "lib/trace/event.h"
#include "lib/trace/event_names.h"

namespace deadheat::trace {

struct WriterOptions {
  size_t chunk_size = 256 << 10;  // bytes of records, before compression
  int zstd_level = 0;             // 0: not compressed
  bool total_order = true;        // every event is stamped, regardless of Event::stamped
  bool dense_stamps = true;
  uint32_t pid = 1;
  uint32_t generation = 0;
  std::string command;  // the command that ran, for information
  std::atomic<uint64_t>* shared_counter =
      nullptr;  // last stamp taken, if several processes or writers share it
};

class TraceWriter;

// Not thread-safe: one thread at a time appends to a stream. Different streams are
// independent.
class StreamWriter {
 public:
  // Gives the event the next stamp (if it is stamped). event.site is a number from
  // TraceWriter::site() or kNoSite; for fork and join, event.other is the other stream's tid.
  void append(const Event& event, std::span<const Range> ranges = {});
  // The same with the caller's stamp. Stamps must be unique in a trace and ascend in a
  // stream.
  void append_at(uint64_t stamp, const Event& event, std::span<const Range> ranges = {},
                 const StreamKey* other_process = nullptr);
  // Writes the buffered records as a chunk; the stream continues.
  void flush();
  // The thread ended: writes the last chunk.
  void finish();

 private:
  friend class TraceWriter;
  StreamWriter(TraceWriter& writer, uint32_t tid, uint64_t base_stamp);
  void begin_chunk(uint64_t base_stamp);
  void write_chunk(uint32_t commit_flags);

  TraceWriter& writer_;
  uint32_t tid_;
  uint64_t sequence_ = 0;
  uint64_t base_stamp_ = 0;
  bool finished_ = false;
  std::vector<uint8_t> bytes_;  // chunk header, then payload
  ChunkEncoder encoder_;
};

class TraceWriter {
 public:
  // Creates or replaces the file; "-" is standard output.
  static Result<std::unique_ptr<TraceWriter>> create(const std::string& path,
                                                     const WriterOptions& options);
  // Appends to a trace that another process (or writer) created; its order flags override the
  // options'.
  static Result<std::unique_ptr<TraceWriter>> join(const std::string& path,
                                                   const WriterOptions& options);
  ~TraceWriter();

  // The stream of thread `tid`, created by the first call. The reference is valid as long as the
  // writer.
  StreamWriter& stream(uint32_t tid);
  // Numbers and names the thread without starting its stream; readers number threads in the order
  // of these calls.
  void name_thread(uint32_t tid, std::string_view name);
  uint32_t module(std::string_view path, std::string_view build_id_hex, uint64_t load_address = 0,
                  uint64_t size = 0);
  SiteId site(const SiteInfo& info);
  void name_object(NameSpace space, uint64_t address, uint64_t size, std::string_view name);

  uint64_t bytes_written() const { return bytes_written_.load(std::memory_order_relaxed); }
  Status status() const;  // the first failure of any write
  // Ends every stream normally.
  Status close();

 private:
  friend class StreamWriter;
  TraceWriter(const WriterOptions& options, std::string path);
  Status write_file_header();
  void put_meta(uint8_t tag, const std::vector<uint8_t>& payload);
  void flush_meta();
  SiteDefinition definition(SiteId site);
  // Fills in `header`, compresses if requested, and appends the chunk. bytes: room for the header,
  // then the payload.
  void write_chunk(dht_chunk_header header, std::vector<uint8_t>& bytes);
  Status append_whole(std::string_view chunk);

  WriterOptions options_;
  std::string path_;
  ScopedFd fd_;
  std::atomic<uint64_t> own_counter_{0};
  std::atomic<uint64_t>* counter_;
  std::atomic<uint64_t> bytes_written_{0};

  std::mutex mutex_;  // guards the tables below
  std::map<uint32_t, std::unique_ptr<StreamWriter>> streams_;
  std::map<uint32_t, bool> named_threads_;
  std::map<std::string, uint32_t> modules_;
  std::map<std::string, SiteId> site_numbers_;
  std::vector<SiteDefinition> sites_;
  std::vector<uint8_t> meta_;
  uint64_t meta_sequence_ = 0;

  mutable std::mutex failure_mutex_;
  std::string failure_;
};

}  // namespace deadheat::trace

// Our container as one sequence of events: indexes the chunks, keeps one cursor per stream, merges
// by stamp.
//
// Two ways to merge. Total order with dense stamps: the stamp is the place, so each stream scatters
// its events into a window of the output. Otherwise: a heap of streams by next stamp; a stream runs
// through its unstamped accesses up to its next stamped event. Either way memory is one chunk a
// stream, and past `memory_limit` other streams' chunks are dropped and read again when their turn
// comes.
//
// Loss. A stamped event that is missing may be the release that orders what follows, so nothing
// stamped later is yielded: reading stops at the horizon, and what lies beyond is counted. With
// dense stamps the horizon is the first missing stamp; without, the last stamp known of a stream
// that lost something or has no end.
//
// Processes do not share addresses: what a forked child writes is no conflict with its parent. In
// partial-order traces (a recorder's) the addresses of the second process on get a number of it in
// bits that no user address has. Memory that processes really share is so not seen as shared.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "lib/trace/chunk_index.h"
#include "lib/trace/decoder.h"
#include "lib/trace/event.h"
#include "lib/trace/input.h"
#include "lib/trace/metadata.h"
#include "lib/trace/problems.h"

namespace deadheat::trace {

struct ContainerOptions {
  bool ignore_gaps = false;  // continue past the horizon; engines may then report false races
  uint64_t memory_limit =
      256ULL << 20;  // bytes of chunks and tables in memory (one stream always fits)
  size_t batch_events = 4096;
};

class ContainerSource : public Source, private DecoderContext {
 public:
  static Result<std::unique_ptr<ContainerSource>> open(Input input,
                                                       const ContainerOptions& options = {});
  ~ContainerSource() override;

  Result<Batch> next() override;
  Status rewind() override;
  std::vector<std::string> locate(std::span<const uint64_t> numbers) override;
  bool total_order() const override { return (index_.file.flags & DHT_FILE_TOTAL_ORDER) != 0; }
  size_t thread_count() const override { return thread_keys_.size(); }
  std::string thread_name(ThreadId thread) const override;
  SiteInfo site(SiteId site) const override { return sites.info(site); }
  std::string object_name(uint64_t address, EventKind kind) const override;
  Counters counters() const override;
  std::span<const std::string> problems() const override { return problems_.lines(); }

  // For `deadheat trace info`.
  const ChunkIndex& index() const { return index_; }
  const Metadata& metadata() const { return metadata_; }
  size_t stream_count() const { return streams_.size(); }
  size_t site_count() const { return sites.size(); }
  bool dense_stamps() const { return (index_.file.flags & DHT_FILE_DENSE_STAMPS) != 0; }
  // The last stamp yielded, if reading stopped at a loss; 0 otherwise.
  uint64_t horizon() const { return stopped_at_gap_ ? last_stamp_ : 0; }

 private:
  struct Stream;
  struct Losses {
    uint64_t events_read = 0, events_beyond_gap = 0, events_lost = 0, gaps_ignored = 0;
    uint64_t chunks_lost = 0, chunks_unsealed = 0, unknown_records = 0, streams_unfinished = 0,
             streams_broken = 0, regions_coarsened = 0, stamps_unwritten = 0;
  };
  static constexpr uint64_t kLastStamp = 1ULL << 63;
  static constexpr uint64_t kSpaceSize = 1ULL << 47;  // above every user address
  static constexpr uint64_t kSpaces = 1ULL << 14;     // more processes share: that hides, at worst
  struct Turn {  // whose turn it is at `stamp`; starts come after the event of that stamp
                 // stamp
    uint64_t stamp;
    bool start;
    uint32_t stream;
    friend auto operator<=>(const Turn&, const Turn&) = default;
  };

  ContainerSource(Input input, const ContainerOptions& options);
  ThreadId thread(const StreamKey& key) override;
  void build_streams();
  void name_threads();
  void check_ends();
  void start_over();

  // Moves to the next readable chunk of the stream. Returns false if there is none (or a loss
  // forbids it).
  bool open_next_chunk(Stream& stream);
  bool check_continuity(Stream& stream, const Chunk& chunk);
  bool load(Stream& stream);
  bool reload(Stream& stream);
  void count_memory(Stream& stream);
  void make_room(const Stream& keep, uint64_t bytes);
  void leave_chunk(Stream& stream, bool damaged);
  void end_stream(Stream& stream, bool in_good_order);
  void break_stream(Stream& stream, const std::string& why);
  void stop_at_gap() { stopped_at_gap_ = finished_ = true; }
  void finish();

  Batch next_merged();
  Stream* next_turn();
  bool accept_stamp(Stream& stream);
  bool was_never_written(uint64_t stamps);
  bool goes_first(const Stream& stream) const;
  void emit_pending(Stream& stream, Event* to);
  static void place_in_space(const Stream& stream, Event* from, Event* to);

  Batch next_window();
  void fill_window(Stream& stream, uint64_t& stored);
  bool place_pending(Stream& stream, uint64_t& stored);
  size_t close_window(uint64_t stored);
  size_t drop_holes();
  void note_chunk(const Stream& stream, const Event* from, const Event* to);

  Input input_;
  ContainerOptions options_;
  ChunkIndex index_;
  Metadata metadata_;
  Problems problems_, problems_at_open_;

  std::map<StreamKey, ThreadId> threads_;
  std::vector<StreamKey> thread_keys_;
  std::vector<std::string> thread_names_;
  uint64_t threads_dropped_ = 0;

  std::vector<std::unique_ptr<Stream>> streams_;  // by start
  std::vector<Turn> turns_;      // a heap (merged) or the streams still to start (window)
  std::vector<Stream*> active_;  // window only
  Stream* current_ = nullptr;    // merged only
  uint64_t last_stamp_ = 0;
  uint64_t loaded_bytes_ = 0;
  uint64_t unknown_domains_ = 0, duplicate_chunks_ = 0;
  uint64_t killed_stamping_ = 0;  // writers killed between taking a stamp and writing its event
  bool finished_ = false, stopped_at_gap_ = false, ends_checked_ = false;
  Losses losses_;

  std::vector<Event> events_;
  std::vector<Range> ranges_;
  // While locate() reads a batch with a requested event: each event's chunk.
  bool locating_ = false;
  std::vector<uint32_t> chunk_of_;
};

}  // namespace deadheat::trace

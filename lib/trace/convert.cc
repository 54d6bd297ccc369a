#include "lib/trace/convert.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <unordered_set>
#include <vector>

#include "lib/base/file.h"
#include "lib/base/text.h"
#include "lib/trace/event_names.h"
#include "lib/trace/text_writer.h"
#include "lib/trace/writer.h"

namespace deadheat::trace {
namespace {

constexpr size_t kTextBuffer = 1 << 18;

class ToContainer {
 public:
  ToContainer(Source& source, TraceWriter& writer, bool partial)
      : source_(source), writer_(writer), partial_(partial) {}

  void append(Event event, std::span<const Range> ranges) {
    number_thread(event.thread);
    if (names_thread(event.kind)) number_thread(event.other);
    name_objects(event, ranges);
    if (event.site != kNoSite) event.site = site(event.site);
    if (partial_ && !in_region_[event.thread])
      event.stamped = event.stamped && !may_be_unstamped(event);
    // Recorders stamp accesses inside regions; a conversion keeps that rule
    // (docs/formats/trace.md).
    if (event.kind == EventKind::kRegionBegin) ++in_region_[event.thread];
    if (event.kind == EventKind::kRegionEnd && in_region_[event.thread] > 0)
      --in_region_[event.thread];
    if (streams_[event.thread] == nullptr) streams_[event.thread] = &writer_.stream(event.thread);
    streams_[event.thread]->append(event, is_region(event.kind)
                                              ? ranges.subspan(event.other, event.size)
                                              : std::span<const Range>());
  }

 private:
  void number_thread(ThreadId thread) {
    if (thread < streams_.size()) return;
    for (auto next = static_cast<ThreadId>(streams_.size()); next <= thread; ++next)
      writer_.name_thread(next, source_.thread_name(next));
    streams_.resize(thread + 1);
    in_region_.resize(thread + 1);
  }

  SiteId site(SiteId site) {
    if (site >= sites_.size()) sites_.resize(site + 1, kNoSite);
    if (sites_[site] == kNoSite) sites_[site] = writer_.site(source_.site(site));
    return sites_[site];
  }

  void name_objects(const Event& event, std::span<const Range> ranges) {
    if (has_address(event.kind)) name_object(event.address, event.kind);
    if (!is_region(event.kind)) return;
    for (const Range& range : ranges.subspan(event.other, event.size))
      name_object(range.begin, EventKind::kRead);
  }

  void name_object(uint64_t address, EventKind kind) {
    const NameSpace space = name_space(kind);
    if (!named_[static_cast<size_t>(space)].insert(address).second) return;
    const std::string name = source_.object_name(address, kind);
    if (name != hex(address)) writer_.name_object(space, address, has_size(kind) ? 8 : 0, name);
  }

  Source& source_;
  TraceWriter& writer_;
  bool partial_;
  std::vector<StreamWriter*> streams_;
  std::vector<uint32_t> in_region_;
  std::vector<SiteId> sites_;
  std::unordered_set<uint64_t> named_[kNameSpaces];
};

// Calls `take` with every event. Returns their number.
template <typename Take>
Result<uint64_t> for_each(Source& source, const ConvertOptions& options, Take take) {
  uint64_t events = 0;
  for (;;) {
    auto batch = source.next();
    if (!batch) return batch.error();
    if (batch->events.empty()) return events;
    for (const Event& event : batch->events) take(event, batch->ranges);
    events += batch->events.size();
    if (options.progress) options.progress(events);
  }
}

Result<Converted> to_container(Source& source, const std::string& path,
                               const ConvertOptions& options) {
  WriterOptions writing;
  writing.zstd_level = options.zstd_level;
  writing.chunk_size = options.chunk_size;
  writing.total_order = source.total_order() && !options.partial;
  auto writer = TraceWriter::create(path, writing);
  if (!writer) return writer.error();
  ToContainer to(source, **writer, options.partial);
  auto events = for_each(source, options, [&](const Event& event, std::span<const Range> ranges) {
    to.append(event, ranges);
  });
  if (!events) return events.error();
  auto closed = (*writer)->close();
  if (!closed) return closed.error();
  return Converted{.events = *events, .bytes = (*writer)->bytes_written(), .counters = {}};
}

Result<Converted> to_text(Source& source, const std::string& path, const ConvertOptions& options) {
  ScopedFd fd(path == "-" ? ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0)
                          : ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (!fd.valid()) return errno_error("cannot create", path, errno);
  TextWriter writer(source,
                    {.strict = options.to == ConvertTo::kStd, .approximate = options.approximate});
  std::string text = writer.header();
  Converted done;
  Status written = Ok{};
  auto flush = [&] {
    done.bytes += text.size();
    if (written) written = write_all(fd.get(), text, path);
    text.clear();
  };
  auto events = for_each(source, options, [&](Event event, std::span<const Range> ranges) {
    if (options.partial && may_be_unstamped(event)) event.stamped = false;
    writer.append(event, ranges, text);
    if (text.size() >= kTextBuffer) flush();
  });
  if (!events) return events.error();
  flush();
  if (!written) return written.error();
  done.events = *events;
  done.counters = writer.counters();
  return done;
}

}  // namespace

Result<Converted> convert(Source& source, const std::string& path, const ConvertOptions& options) {
  return options.to == ConvertTo::kContainer ? to_container(source, path, options)
                                             : to_text(source, path, options);
}

}  // namespace deadheat::trace

// The text form: the meaning of lines, the fast path compared with the general parser, and round
// trips through text and container.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <map>
#include <thread>

#include "lib/trace/convert.h"
#include "lib/trace/open.h"
#include "lib/trace/std_source.h"
#include "lib/trace/text_writer.h"
#include "lib/trace/trace_fixture.h"

namespace deadheat::trace {
namespace {

std::unique_ptr<StdSource> from_text(std::string_view text, const StdOptions& options = {}) {
  return std::move(*StdSource::open(
      Input::from_memory({reinterpret_cast<const uint8_t*>(text.data()), text.size()}, "text"),
      options));
}

struct Row {
  const char* line;
  const char* meaning;  // kind order thread object size site, or the problem
};

// The event or message that a line yields, as one string.
std::string meaning_of(std::string_view text) {
  auto source = from_text(text);
  const auto events = read_all(*source);
  if (!source->problems().empty()) return std::string(source->problems()[0]);
  if (events.empty()) return "nothing";
  const Event& event = events[0].event;
  std::string shown = std::string(plain_name(event.kind)) + " " +
                      std::string(text_name(event.order)) + " " +
                      source->thread_name(event.thread) + " ";
  if (names_thread(event.kind)) shown += source->thread_name(event.other);
  if (has_address(event.kind)) shown += source->object_name(event.address, event.kind);
  if (has_tokens(event.kind))
    shown += event.other == kUnknownTokens ? " ?" : " " + std::to_string(event.other);
  shown += " " + std::to_string(event.size);
  for (const Range& range : events[0].ranges)
    shown += " " + source->object_name(range.begin, EventKind::kRead) + "+" +
             std::to_string(range.end - range.begin);
  const SiteInfo site = event.site == kNoSite ? SiteInfo{} : source->site(event.site);
  shown += " @" + site.label + site.module;
  return event.stamped ? shown : shown + " ~";
}

class StdRows : public testing::TestWithParam<Row> {};

TEST_P(StdRows, Meaning) { EXPECT_EQ(meaning_of(GetParam().line), GetParam().meaning); }

INSTANTIATE_TEST_SUITE_P(
    Rapid, StdRows,
    testing::Values(
        Row{"T0|r(V1)|345\n", "read  T0 V1 8 @345"}, Row{"T0|w(V1)|345\r\n", "write  T0 V1 8 @345"},
        Row{"T0|acq(L1)|1", "acquire  T0 L1 0 @1"}, Row{"T0|rel(L1)|1", "release  T0 L1 0 @1"},
        Row{"T0|fork(T1)|1", "fork  T0 T1 0 @1"}, Row{"T0|join(T1)|1", "join  T0 T1 0 @1"},
        Row{"T0|r(V234.23[0])|345\n", "read  T0 V234.23[0] 8 @345"},
        Row{"main thread|r(a b)|x y|z\n", "read  main thread a b 8 @x y|z"},
        Row{"T0|r(foo()V)|3\n", "read  T0 foo()V 8 @3"},
        Row{"T0|r(V007)|007\n", "read  T0 V007 8 @007"},
        Row{"T0|r(V99999999999)|99999999999\n", "read  T0 V99999999999 8 @99999999999"},
        Row{"T0|r(V1)\n", "read  T0 V1 8 @"}, Row{"T0|begin(m)|1\n", "nothing"},
        Row{"T0|end(m)|1\n", "nothing"}, Row{"T0|branch(1)|1\n", "nothing"},
        Row{"\n\n  \n", "nothing"}, Row{"# a comment | r(\n", "nothing"}, Row{"", "nothing"}));

INSTANTIATE_TEST_SUITE_P(
    Superset, StdRows,
    testing::Values(
        Row{"T0|r(0x1000:4)|1\n", "read  T0 0x1000 4 @1"},
        Row{"T0|w(0x10)|1\n", "write  T0 0x10 8 @1"}, Row{"T0|w(A:4)|1\n", "write  T0 A 4 @1"},
        Row{"T0|w(A:16)|1\n", "write  T0 A:16 8 @1"}, Row{"T0|w(A:x)|1\n", "write  T0 A:x 8 @1"},
        Row{"T0|load.acquire(Y)|1\n", "read acquire T0 Y 8 @1"},
        Row{"T0|store.release(Y:4)|1\n", "write release T0 Y 4 @1"},
        Row{"T0|rmw.acq_rel(0x8:16)|1\n", "read-modify-write acq_rel T0 0x8 16 @1"},
        Row{"T0|fence.seq_cst()|1\n", "fence seq_cst T0  0 @1"},
        Row{"T0|acq_shared(L)|1\n", "acquire-shared  T0 L 0 @1"},
        Row{"T0|rel_shared(L)|1\n", "release-shared  T0 L 0 @1"},
        Row{"T0|notify(C)|1\n", "notify  T0 C 0 @1"}, Row{"T0|wait(C)|1\n", "wait  T0 C 0 @1"},
        Row{"T0|barrier_enter(B)|1\n", "barrier-enter  T0 B 0 @1"},
        Row{"T0|barrier_leave(B)|1\n", "barrier-leave  T0 B 0 @1"},
        Row{"T0|sem_post(S)|1\n", "semaphore-post  T0 S 0 @1"},
        Row{"T0|sem_wait(S)|1\n", "semaphore-wait  T0 S 0 @1"},
        Row{"T0|sem_init(S,3)|1\n", "semaphore-init  T0 S 3 0 @1"},
        Row{"T0|sem_init(0x10,?)|1\n", "semaphore-init  T0 0x10 ? 0 @1"},
        Row{"T0|sem_seen(S)|1\n", "semaphore-seen  T0 S 0 @1"},
        Row{"T0|once_done(O)|1\n", "once-done  T0 O 0 @1"},
        Row{"T0|once_seen(O)|1\n", "once-seen  T0 O 0 @1"},
        Row{"T0|alloc(0x1000:64)|1\n", "alloc  T0 0x1000 64 @1"},
        Row{"T0|free(0x1000:64)|1\n", "free  T0 0x1000 64 @1"},
        Row{"T0|func_entry(f)|1\n", "function-entry  T0 f 0 @1"},
        Row{"T0|func_entry()|1\n", "function-entry  T0 0x0 0 @1"},
        Row{"T0|func_exit()\n", "function-exit  T0  0 @"},
        Row{"T0|region_begin(A,0x10:24,@lib)|1\n", "region-begin  T0 lib 2 A+8 0x10+24 @1"},
        Row{"T0|region_end()|1\n", "region-end  T0 0x0 0 @1"},
        Row{"T0|hb_before(X)|1\n", "happens-before  T0 X 0 @1"},
        Row{"T0|hb_after(X)|1\n", "happens-after  T0 X 0 @1"},
        Row{"~T0|r(V1)|1\n", "read  T0 V1 8 @1 ~"},
        Row{"T0|r(V1)|@/lib/a.so+0x1f#00ab\n", "read  T0 V1 8 @/lib/a.so"}));

INSTANTIATE_TEST_SUITE_P(
    Malformed, StdRows,
    testing::Values(
        Row{"\nT0|r(V1\n",
            "line 2 (offset 1): expected THREAD|OPERATION(OBJECT)|LOCATION: 'T0|r(V1'; skipped"},
        Row{"|r(V1)|1",
            "line 1 (offset 0): expected THREAD|OPERATION(OBJECT)|LOCATION: '|r(V1)|1'; skipped"},
        Row{"T0|r()|1", "line 1 (offset 0): the operand is missing: 'T0|r()|1'; skipped"},
        Row{"T0|fork()|1",
            "line 1 (offset 0): the other thread is missing: 'T0|fork()|1'; skipped"},
        Row{"T0|grab(V1)|1", "line 1 (offset 0): unknown operation: 'T0|grab(V1)|1'; skipped"},
        Row{"T0|read(V1)|1", "line 1 (offset 0): unknown operation: 'T0|read(V1)|1'; skipped"},
        Row{"T0|load(V1)|1",
            "line 1 (offset 0): a memory order is missing, as in load.acquire(X): 'T0|load(V1)|1'; "
            "skipped"},
        Row{"T0|load.strong(V1)|1",
            "line 1 (offset 0): unknown memory order: 'T0|load.strong(V1)|1'; skipped"},
        Row{"T0|acq.release(L)|1",
            "line 1 (offset 0): this operation has no memory order: 'T0|acq.release(L)|1'; "
            "skipped"},
        Row{"T0|fence.seq_cst(X)|1",
            "line 1 (offset 0): this operation takes no operand: 'T0|fence.seq_cst(X)|1'; skipped"},
        Row{"T0|region_begin(A,,B)|1",
            "line 1 (offset 0): malformed region: expected ranges such as 0x1000:16: "
            "'T0|region_begin(A,,B)|1'; skipped"},
        Row{"T0|sem_init(S)|1",
            "line 1 (offset 0): the tokens are missing, as in sem_init(S,1): 'T0|sem_init(S)|1'; "
            "skipped"},
        Row{"T0|sem_init(S,4294967295)|1",
            "line 1 (offset 0): the tokens are missing, as in sem_init(S,1): "
            "'T0|sem_init(S,4294967295)|1'; skipped"},
        Row{"T0|r(0xffffffffffffffff:8)|1",
            "line 1 (offset 0): the operand ends beyond all addresses: "
            "'T0|r(0xffffffffffffffff:8)|1'; skipped"},
        Row{"T0|r(0xffffffffffffffff)|1",
            "line 1 (offset 0): the operand ends beyond all addresses: "
            "'T0|r(0xffffffffffffffff)|1'; skipped"}));

TEST(StdNames, AreSeparatePerSpaceAndNumberedInOrder) {
  auto source = from_text("T0|r(X)|1\nT0|acq(X)|1\nT0|w(Y)|2\nT1|r(X)|1\n");
  const auto events = read_all(*source);
  ASSERT_EQ(events.size(), 4U);
  EXPECT_EQ(events[0].event.address, kNameBase[0]);
  EXPECT_EQ(events[1].event.address, kNameBase[1]);
  EXPECT_EQ(events[2].event.address, kNameBase[0] + 8);
  EXPECT_EQ(events[3].event.address, kNameBase[0]);
  EXPECT_EQ(events[3].event.thread, 1U);
  EXPECT_EQ(events[3].event.site, events[0].event.site);
  EXPECT_TRUE(source->total_order());
  ASSERT_TRUE(source->rewind());
  EXPECT_TRUE(read_all(*source) == events);
}

TEST(StdStrict, OperandsArePlainNames) {
  auto source =
      from_text("T0|r(A:4)|1\nT0|r(A)|1\nT0|r(0x10)|1\nT0|fence.seq_cst()|1\n", {.strict = true});
  const auto events = read_all(*source);
  ASSERT_EQ(events.size(), 3U);
  EXPECT_NE(events[0].event.address, events[1].event.address);
  EXPECT_EQ(source->object_name(events[0].event.address, EventKind::kRead), "A:4");
  EXPECT_EQ(counter(*source, "lines_malformed"), 1U);
}

TEST(StdProblems, AreCappedAndCounted) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += "nonsense\nT0|r(V1)|1\n";
  auto source = from_text(text);
  EXPECT_EQ(read_all(*source).size(), 1000U);
  EXPECT_EQ(counter(*source, "lines_malformed"), 1000U);
  ASSERT_EQ(source->problems().size(), Problems::kMaxLines + 1);
  EXPECT_EQ(source->problems().back(), "and 984 more problems like these");
}

TEST(StdLong, LinesBeyondTheBufferAreSkipped) {
  std::string text =
      "T0|r(V1)|1\nT0|r(" + std::string(500, 'x') + ")|2\nT0|w(V1)|3\n" + std::string(300, 'y');
  auto source = from_text(text, {.buffer_size = 128});
  const auto events = read_all(*source);
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(source->site(events[1].event.site).label, "3");
  EXPECT_EQ(counter(*source, "lines_malformed"), 2U);
}

std::string random_name(Random& random, const char* letters) {
  if (random.chance(0.6))
    return std::string(1, letters[random.below(3)]) + std::to_string(random.below(30));
  if (random.chance(0.3))
    return std::string(1, letters[0]) + std::to_string(random.next() >> random.below(64));
  std::string name;
  for (uint64_t i = 0; i < 1 + random.below(12); ++i) name += "ab0.[]7_"[random.below(8)];
  return name;
}

// The naive twin: every line through parse_std_line and a std::map. Small buffers move lines to
// every position.
TEST(StdFastPath, EqualsTheGeneralParser) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    std::string text;
    for (int i = 0; i < 400; ++i) {
      if (random.chance(0.03)) text += random.chance(0.5) ? "\n" : "T1|r(\n";
      if (random.chance(0.02)) text += "T1|branch(x)|3\n";
      text += random_name(random, "Tt#") + "|";
      text += std::vector<std::string>{"r", "w", "acq", "rel", "r", "w", "notify"}[random.below(7)];
      text += "(" + random_name(random, "VLx") + ")";
      if (random.chance(0.95))
        text += "|" + (random.chance(0.8) ? std::to_string(random.below(50))
                                          : random_name(random, "0l1"));
      text += random.chance(0.1) ? "\r\n" : "\n";
    }
    std::vector<std::vector<std::string>> expected, got;
    StdLine line;
    for (size_t at = 0; at < text.size();) {
      const size_t end = text.find('\n', at);
      parse_std_line(std::string_view(text).substr(at, end - at), false, line);
      at = end + 1;
      if (line.kind != StdLine::Kind::kEvent) continue;
      expected.push_back({std::string(line.thread), std::string(plain_name(line.event)),
                          std::string(line.object.name), std::string(line.location)});
    }
    auto source = from_text(
        text, {.batch_events = 1 + random.below(50), .buffer_size = 128 + random.below(300)});
    std::map<std::string, uint64_t> numbers;
    for (const WholeEvent& whole_event : read_all(*source)) {
      const Event& event = whole_event.event;
      got.push_back({source->thread_name(event.thread), std::string(plain_name(event.kind)),
                     source->object_name(event.address, event.kind),
                     event.site == kNoSite ? "" : source->site(event.site).label});
      // One number per name: the mapping from names must be a function.
      const std::string key =
          std::to_string(static_cast<int>(name_space(event.kind))) + got.back()[2];
      EXPECT_EQ(numbers.emplace(key, event.address).first->second, event.address);
    }
    ASSERT_EQ(got, expected);
  }
}

// Line and offset of every event, compared with a walk over the lines one by one.
TEST(StdLocate, LineAndOffsetOfEveryEvent) {
  const std::vector<std::string> kinds = {
      "T1|r(V1)|3",
      "T2|w(V77)|123456",
      "T1|acq(L1)|x",
      "T3|rel(L1)|9\r",
      "# a comment",
      "",
      "T1|begin(T1)|4",
      "malformed",
      "T1|region_begin(V1,0x10:24,@M)|5",
      "T2|r(0x1000:4)|",
      "T4|load.acquire(f)|6",
      "T1|w(" + std::string(300, 'v') + ")|7",
  };
  for (const uint64_t seed : {1, 2, 3}) {
    Random random(seed);
    std::string text;
    std::vector<std::string> expected;
    for (uint64_t line = 1; line <= 3000; ++line) {
      const std::string& made = kinds[random.below(kinds.size())];
      if (made.size() < 256 && !read_all(*from_text(made)).empty())
        expected.push_back("line " + std::to_string(line) + " (offset " +
                           std::to_string(text.size()) + ")");
      text += made + (line < 3000 ? "\n" : "");
    }
    auto source = from_text(text, {.batch_events = 7 * seed, .buffer_size = 256});
    ASSERT_EQ(read_all(*source).size(), expected.size());
    EXPECT_EQ(source->locate(numbers_to(expected.size())), expected);
    const std::vector<uint64_t> few = {2, 1000, 1000, expected.size(), expected.size() + 1};
    EXPECT_EQ(source->locate(few),
              (std::vector<std::string>{expected[1], expected[999], expected[999], expected.back(),
                                        kPlaceLost}));
    ASSERT_TRUE(source->rewind());
    EXPECT_EQ(read_all(*source).size(), expected.size());
  }
}

TEST(StdNumbers, ParseDigits) {
  for (const std::string text : {"0", "7", "10", "345", "99999999", "10203040"}) {
    EXPECT_EQ(
        parse_digits(load_chars((text + "xxxxxxxx").c_str()), static_cast<unsigned>(text.size())),
        std::stoul(text));
  }
  for (const std::string text : {"00", "07", "1a", "/1", ":1", "1:", "-1", " 1", "12345/78"}) {
    EXPECT_EQ(
        parse_digits(load_chars((text + "xxxxxxxx").c_str()), static_cast<unsigned>(text.size())),
        kNoNumber)
        << text;
  }
}

// Random events as text, back, as container, back, as text: the same text.
TEST(TextRoundTrip, LosesNothing) {
  for (const bool total : {true, false}) {
    ScratchFile container, text, second_container, second_text;
    Random random(5);
    WriterOptions options;
    options.total_order = total;
    auto writer = TraceWriter::create(container.path(), options);
    for (uint32_t i = 0; i < 40; ++i) {
      const bool label = i % 2 == 0;
      (*writer)->site({.label = label ? "l|" + std::to_string(i) : "",
                       .module = label ? "" : "/a+b/c#d",
                       .build_id = label ? "" : "0a",
                       .offset = label ? 0U : i});
    }
    for (uint32_t i = 0; i < 6; ++i) (*writer)->name_thread(i, i % 2 == 0 ? "worker" : "");
    for (int i = 0; i < 5000; ++i) {
      const WholeEvent made = random_event(random, static_cast<ThreadId>(random.below(6)), 6, 40);
      if (made.event.address + made.event.size < made.event.address) continue;
      (*writer)->stream(made.event.thread).append(made.event, made.ranges);
    }
    ASSERT_TRUE((*writer)->close());
    auto from = [](const std::string& path) { return std::move(*open_trace(path)); };
    auto original = from(container.path());
    auto done = convert(*original, text.path(), {.to = ConvertTo::kText});
    ASSERT_TRUE(done) << done.error().message;
    auto read_text = from(text.path());
    EXPECT_EQ(read_text->total_order(), total);
    done = convert(*read_text, second_container.path(),
                   {.to = ConvertTo::kContainer, .zstd_level = 1});
    ASSERT_TRUE(done) << done.error().message;
    for (const std::string& line : read_text->problems()) ADD_FAILURE() << line;
    auto again = from(second_container.path());
    ASSERT_TRUE(convert(*again, second_text.path(), {.to = ConvertTo::kText}));
    EXPECT_EQ(*read_file(text.path()), *read_file(second_text.path()));
  }
}

TEST(StdRoundTrip, TextThroughTheContainerIsTheSameText) {
  const std::string text =
      "T0|fork(T2)|1\nT0|w(V234.23[0])|2\nT2|acq(L1)|3\nT2|w(V7)|4\nmain|r(x "
      "y)|5\nT2|rel(L1)|6\nT0|join(T2)|7\n";
  ScratchFile first, container, last;
  ASSERT_TRUE(write_file(first.path(), text));
  auto source = open_trace(first.path());
  ASSERT_TRUE(source);
  ASSERT_TRUE(convert(**source, container.path(), {.to = ConvertTo::kContainer}));
  auto read = open_trace(container.path());
  ASSERT_TRUE(read);
  auto done = convert(**read, last.path(), {.to = ConvertTo::kStd});
  ASSERT_TRUE(done);
  EXPECT_EQ(*read_file(last.path()), text);
  for (const Counter& counter : done->counters) EXPECT_EQ(counter.value, 0U) << counter.name;
}

TEST(StdExport, CountsWhatItCannotSay) {
  const std::string text =
      "T0|store.release(F)|1\nT1|load.acquire(F)|2\nT1|w(A:4)|3\nT0|func_entry(f)|4\nT0|free(0x10:"
      "8)|5\nT0|acq_shared(L)|6\n";
  ScratchFile out;
  auto source = from_text(text);
  auto done = convert(*source, out.path(), {.to = ConvertTo::kStd});
  ASSERT_TRUE(done);
  EXPECT_EQ(*read_file(out.path()), "T1|w(A)|3\n");
  EXPECT_EQ(done->counters[0].value, 5U);
  EXPECT_EQ(done->counters[2].value, 1U);
  ASSERT_TRUE(source->rewind());
  done = convert(*source, out.path(), {.to = ConvertTo::kStd, .approximate = true});
  ASSERT_TRUE(done);
  EXPECT_EQ(*read_file(out.path()),
            "T0|acq(F)|1\nT0|rel(F)|1\nT1|acq(F)|2\nT1|rel(F)|2\nT1|w(A)|3\nT0|w(0x10)|5\nT0|acq(L)"
            "|6\nT0|rel(L)|6\n");
  EXPECT_EQ(done->counters[0].value, 1U);
  EXPECT_EQ(done->counters[1].value, 4U);
}

TEST(Open, TellsFormatsApart) {
  ScratchFile file;
  auto message = [&](std::string_view content) {
    EXPECT_TRUE(write_file(file.path(), content));
    auto opened = open_trace(file.path());
    return opened ? std::string("opened")
                  : opened.error().message.substr(file.path().size()) + " / " + opened.error().hint;
  };
  const std::string hint =
      " / expected a Deadheat trace (deadheat record) or STD text with lines such as T0|r(V1)|345";
  EXPECT_EQ(message("T0|r(V1)|1\n"), "opened");
  EXPECT_EQ(message("# only a comment\n"), "opened");
  EXPECT_EQ(message("garbled first line\nT0|r(V1)|1\n"), "opened");
  EXPECT_EQ(message(""), " is not a trace: it is empty" + hint);
  EXPECT_EQ(message("hello\nworld\n"),
            " is not a trace: its first bytes are \"hello\\x0aworld\\x0a\"" + hint);
  EXPECT_EQ(message(std::string_view("\x7f"
                                     "ELF\0\1",
                                     6)),
            " is not a trace: its first bytes are \"\\x7fELF\\x00\\x01\"" + hint);
  EXPECT_FALSE(open_trace("/nonexistent/trace"));
}

TEST(Open, PipesAreSpooledSoThatRewindWorks) {
  ScratchFile file;
  ::unlink(file.path().c_str());
  ASSERT_EQ(::mkfifo(file.path().c_str(), 0600), 0);
  std::thread feeder([&] { EXPECT_TRUE(write_file(file.path(), "T0|r(V1)|1\nT1|w(V1)|2\n")); });
  auto source = open_trace(file.path());
  feeder.join();
  ASSERT_TRUE(source);
  const auto events = read_all(**source);
  EXPECT_EQ(events.size(), 2U);
  ASSERT_TRUE((*source)->rewind());
  EXPECT_TRUE(read_all(**source) == events);
}

}  // namespace
}  // namespace deadheat::trace

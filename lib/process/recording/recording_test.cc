#include "lib/process/recording/recording.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "lib/base/file.h"

namespace deadheat::process::recording {
namespace {

std::string event_at(uint64_t begin, std::string_view path = "") {
  deadheat_process_event head{};
  head.kind = DEADHEAT_PROCESS_SYSCALL;
  head.task = head.process = 7;
  head.begin = begin;
  head.end = begin + 1;
  EventBuilder builder(head);
  if (!path.empty()) builder.attach(DEADHEAT_ATTACH_PATH, 1, path);
  return builder.take();
}

class RecordingFolder : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "recording-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
    folder_ = root_ + "/rec";
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  void write_three() {
    auto writer = RecordingWriter::create(folder_);
    ASSERT_TRUE(writer.ok()) << writer.error().message;
    writer->append(event_at(5, "/etc/passwd"));
    writer->append(event_at(3));
    writer->append(event_at(9, "x"));
    RecordingInfo info;
    info.source = "ptrace";
    info.command = {"sh", "-c", "printf '\xff'"};
    info.environment = {"A=b"};
    info.guarantees.time = true;
    info.unmodelled["shmget"] = 2;
    info.status = 3;
    ASSERT_TRUE(writer->finish(info).ok());
  }
  void cut(uint64_t bytes) {
    const std::string path = folder_ + "/events";
    std::filesystem::resize_file(path, std::filesystem::file_size(path) - bytes);
  }

  std::string root_, folder_;
};

TEST_F(RecordingFolder, WhatWasWrittenIsReadInTheOrderOfItsBegin) {
  write_three();
  const auto recording = Recording::open(folder_);
  ASSERT_TRUE(recording.ok()) << recording.error().message;
  EXPECT_TRUE(recording.value().problems().empty());
  ASSERT_EQ(recording.value().events().size(), 3u);
  EXPECT_EQ(recording.value().events()[0].head().begin, 3u);
  EXPECT_EQ(recording.value().events()[1].path(1), "/etc/passwd");
  EXPECT_FALSE(recording.value().events()[1].path(0).has_value());
  const RecordingInfo& info = recording.value().info();
  EXPECT_EQ(info.events, 3u);
  EXPECT_EQ(info.command[2], "printf '\xff'") << "bytes that are not UTF-8 survive";
  EXPECT_TRUE(info.guarantees.time);
  EXPECT_FALSE(info.guarantees.payload);
  EXPECT_EQ(info.unmodelled.at("shmget"), 2u);
  EXPECT_EQ(info.status, 3);
  EXPECT_EQ(info.root_task, 7);
}

TEST_F(RecordingFolder, ARecordingThatWasCutShortIsReadAsFarAsItGoes) {
  write_three();
  cut(4);
  const auto recording = Recording::open(folder_);
  ASSERT_TRUE(recording.ok());
  EXPECT_EQ(recording.value().events().size(), 2u);
  ASSERT_EQ(recording.value().problems().size(), 1u);
  EXPECT_NE(recording.value().problems()[0].find("event 3 is cut short"), std::string::npos);
  EXPECT_FALSE(recording.value().info().guarantees.order);
}

TEST_F(RecordingFolder, WholeEventsThatAreMissingAreCounted) {
  write_three();
  cut(event_at(9, "x").size());
  const auto recording = Recording::open(folder_);
  ASSERT_TRUE(recording.ok());
  ASSERT_EQ(recording.value().problems().size(), 1u);
  EXPECT_NE(recording.value().problems()[0].find("1 of the events"), std::string::npos);
}

TEST_F(RecordingFolder, AKilledRecorderLeavesWhatItWrote) {
  write_three();
  std::filesystem::remove(folder_ + "/recording.json");
  const auto recording = Recording::open(folder_);
  ASSERT_TRUE(recording.ok());
  EXPECT_EQ(recording.value().events().size(), 3u);
  ASSERT_EQ(recording.value().problems().size(), 1u);
  EXPECT_FALSE(recording.value().info().guarantees.order);
}

TEST_F(RecordingFolder, AnotherVersionIsRefusedInOneLine) {
  write_three();
  {
    std::fstream file(folder_ + "/events", std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(8);
    file.put(99);
  }
  const auto recording = Recording::open(folder_);
  ASSERT_FALSE(recording.ok());
  EXPECT_NE(recording.error().message.find("version 99"), std::string::npos);
  EXPECT_EQ(recording.error().message.find('\n'), std::string::npos);

  auto text = read_file(folder_ + "/recording.json");
  ASSERT_TRUE(text.ok());
  const size_t at = text->find("\"version\": 1");
  ASSERT_NE(at, std::string::npos);
  text->replace(at, 12, "\"version\": 7");
  const auto info = parse_recording_info(*text, "recording.json");
  ASSERT_FALSE(info.ok());
  EXPECT_NE(info.error().message.find("version 7"), std::string::npos);
}

TEST_F(RecordingFolder, WhatIsNoRecordingIsSaidSo) {
  EXPECT_FALSE(Recording::open(root_ + "/nothing").ok());
  std::filesystem::create_directories(folder_);
  ASSERT_TRUE(write_file(folder_ + "/events", std::string(64, 'x')).ok());
  EXPECT_FALSE(Recording::open(folder_).ok());
  EXPECT_FALSE(RecordingWriter::create(folder_).ok()) << "a folder with something in it is kept";
  EXPECT_FALSE(parse_recording_info("{", "x").ok());
  EXPECT_FALSE(parse_recording_info("[]", "x").ok());
}

TEST(RecordingEvents, AttachmentsThatDoNotFitEndTheReading) {
  std::string good = event_at(1, "name");
  std::string bad = event_at(2, "name");
  // The attachment's size, behind the event's head and the attachment's type and argument.
  bad[sizeof(deadheat_process_event) + 4] = 100;
  const Recording recording = Recording::of({good, bad, good}, {});
  EXPECT_EQ(recording.events().size(), 1u);
  EXPECT_EQ(recording.problems().size(), 1u);

  std::string many = event_at(2);
  reinterpret_cast<deadheat_process_event*>(many.data())->attachments = 0xffffffff;
  EXPECT_TRUE(Recording::of({many}, {}).events().empty());
  std::string small = event_at(2);
  reinterpret_cast<deadheat_process_event*>(small.data())->size = 0;
  EXPECT_TRUE(Recording::of({small}, {}).events().empty());
}

}  // namespace
}  // namespace deadheat::process::recording

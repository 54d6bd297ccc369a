// What counts as harm, each with a twin that does not.
#include "lib/process/judge/checkers.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "lib/base/mask.h"
#include "lib/base/shell_words.h"
#include "lib/base/text.h"
#include "lib/process/judge/user_checker.h"

namespace deadheat::process::judge {
namespace {

using model::ConsequenceKind;

ChangedFile text_file(const std::string& path, std::vector<std::string> lines) {
  ChangedFile file;
  file.path = file.name = path;
  file.mode = 0644;
  file.text = true;
  file.lines = std::move(lines);
  const std::string text = join(file.lines, "\n");
  file.size = text.size();
  file.digest = stable_hash(sorted_lines(text));
  return file;
}

ChangedFile gone(const std::string& path) {
  ChangedFile file;
  file.path = file.name = path;
  file.kind = FileKind::kGone;
  file.existed = true;
  return file;
}

Outcome good() {
  Outcome outcome;
  outcome.out = {"done"};
  outcome.err = {"warning: slow"};
  outcome.files = {text_file("/data/result", {"one", "two", "three"})};
  return outcome;
}

class Checkers : public ::testing::Test {
 protected:
  Checkers() {
    reference_.add(good());
    reference_.add(good());
  }
  std::string words(const Outcome& outcome) {
    std::string all;
    for (const Difference& difference : judge(outcome, reference_))
      all += difference.consequence.detail + "\n";
    return all;
  }
  ConsequenceKind worst(const Outcome& outcome) {
    const auto all = judge(outcome, reference_);
    return all.empty() ? ConsequenceKind::kNone : all[0].consequence.kind;
  }
  std::string words_of_file(ChangedFile file) {
    Outcome outcome = good();
    outcome.files = {std::move(file)};
    return words(outcome);
  }
  Reference reference_;
};

TEST_F(Checkers, TheSameIsNoHarm) {
  Outcome outcome = good();
  EXPECT_EQ(words(outcome), "");
  outcome.files[0] = text_file("/data/result", {"three", "one", "two"});  // a different order
  outcome.err = {"note: slower than usual"};                              // no error
  EXPECT_EQ(words(outcome), "");
}

TEST_F(Checkers, CrashHangAndStatus) {
  Outcome outcome = good();
  outcome.signal = SIGSEGV;
  EXPECT_EQ(worst(outcome), ConsequenceKind::kCrash);
  reference_.add(outcome);
  EXPECT_EQ(worst(outcome), ConsequenceKind::kNone) << "it does so undisturbed";

  outcome = good();
  outcome.timed_out = true;
  outcome.out.clear();
  EXPECT_EQ(words(outcome), "did not end within the time it was given\n");
  reference_.add(outcome);
  EXPECT_EQ(words(outcome), "");

  outcome = good();
  outcome.status = 2;
  EXPECT_EQ(words(outcome), "exit status 2 instead of 0\n");
  reference_.add(outcome);
  EXPECT_EQ(words(outcome), "");
}

TEST_F(Checkers, WithoutReferencesOnlyCrashAndHang) {
  reference_ = Reference();
  Outcome outcome = good();
  outcome.status = 3;
  EXPECT_EQ(words(outcome), "");
  outcome.signal = SIGABRT;
  EXPECT_EQ(words(outcome), "ended by SIGABRT\n");
}

TEST_F(Checkers, ARecordingThatFailed) {
  Outcome failed = good();
  failed.status = 1;
  reference_ = {};
  reference_.add(failed);
  EXPECT_EQ(words(good()), "ends well, and fails in the recorded order (exit status 1)\n");
  failed.status = 2;
  EXPECT_EQ(words(failed), "exit status 2 instead of 1\n");
}

TEST_F(Checkers, CommandsThatFailed) {
  Outcome outcome = good();
  outcome.failures = {make_failure({"/bin/mkdir", "lock"}, 1, 0, {})};
  EXPECT_EQ(words(outcome), "") << "nothing came of it: somebody tries until it succeeds";
  outcome.out = {"not done"};
  EXPECT_EQ(words(outcome), "\"/bin/mkdir lock\" failed with status 1\nprinted \"not done\"\n");
  outcome.out = good().out;
  Outcome known = good();
  known.failures = outcome.failures;
  reference_.add(known);
  outcome.err = {"cannot go on"};
  EXPECT_EQ(words(outcome), "an error that no other run had: \"cannot go on\"\n")
      << "it fails undisturbed";

  outcome = good();
  outcome.failures = {make_failure({"sleep", "9"}, 0, SIGTERM, {})};
  EXPECT_EQ(words(outcome), "") << "somebody ended it";
  outcome.failures = {make_failure({"sort"}, 0, SIGSEGV, {})};
  EXPECT_EQ(worst(outcome), ConsequenceKind::kCrash);
}

TEST_F(Checkers, ErrorLines) {
  Outcome outcome = good();
  outcome.err.push_back("cat: x: No such file or directory");
  EXPECT_EQ(words(outcome),
            "an error that no other run had: \"cat: x: No such file or directory\"\n");
  reference_.add(outcome);
  EXPECT_EQ(words(outcome), "");
  EXPECT_FALSE(is_error_line("42 passed, 0 failed"));
  EXPECT_TRUE(is_error_line("Database is CORRUPT"));
  EXPECT_TRUE(is_log("/var/log/messages") && is_log("/x/a.log") && !is_log("/x/catalog"));
}

TEST_F(Checkers, ErrorLinesInLogsThatVary) {
  Reference reference;
  Outcome one = good(), other = good();
  one.files.push_back(text_file("/var/log/x.log", {"began", "9 items"}));
  other.files.push_back(text_file("/var/log/x.log", {"began", "8 items"}));
  reference.add(one);
  reference.add(other);
  Outcome outcome = good();
  outcome.files.push_back(text_file("/var/log/x.log", {"began", "7 items"}));
  EXPECT_TRUE(judge(outcome, reference).empty());
  outcome.files.back() = text_file("/var/log/x.log", {"began", "fatal: lock lost"});
  ASSERT_EQ(judge(outcome, reference).size(), 1U);
  EXPECT_EQ(judge(outcome, reference)[0].object, "/var/log/x.log");
}

TEST_F(Checkers, OutputThatVariesSaysNothing) {
  Outcome outcome = good();
  outcome.out = {"other"};
  EXPECT_EQ(words(outcome), "printed \"other\"\n");
  outcome.out = {};
  EXPECT_EQ(words(outcome), "did not print \"done\"\n");
  Outcome another = good();
  another.out = {"done again"};
  reference_.add(another);
  EXPECT_EQ(words(outcome), "");
  outcome.out = {"fatal: not done"};
  EXPECT_NE(words(outcome), "");
}

TEST_F(Checkers, ResultFiles) {
  Outcome outcome = good();
  outcome.files.clear();
  EXPECT_EQ(words(outcome), "/data/result is missing\n");
  EXPECT_EQ(words_of_file(gone("/data/result")), "/data/result is missing\n");
  EXPECT_EQ(words_of_file(text_file("/data/result", {})), "/data/result is empty\n");
  EXPECT_EQ(words_of_file(text_file("/data/result", {"one", "two"})),
            "/data/result is truncated: 2 of 3 lines\n");
  EXPECT_EQ(words_of_file(text_file("/data/result", {"one", "three"})),
            "/data/result lacks \"two\"\n");
  EXPECT_EQ(words_of_file(text_file("/data/result", {"one", "two", "thr"})),
            "/data/result is torn: it has \"thr\"\n");
  EXPECT_EQ(words_of_file(text_file("/data/result", {"one", "twothree"})),
            "/data/result is torn: it has \"twothree\"\n");
  EXPECT_EQ(words_of_file(text_file("/data/result", {"one", "two", "three", "three"})),
            "/data/result also has \"three\"\n");
  EXPECT_EQ(words_of_file(text_file("/data/result", {"one", "zwei", "three"})),
            "/data/result has \"zwei\" instead of \"two\"\n");
  ChangedFile open_to_all = text_file("/data/result", {"one", "two", "three"});
  open_to_all.mode = 0666;
  EXPECT_EQ(words_of_file(open_to_all), "/data/result has mode 0666 instead of 0644\n");
}

TEST_F(Checkers, FilesThatVaryAreComparedByKind) {
  Outcome another = good();
  another.files = {text_file("/data/result", {"one", "two", "four"})};
  reference_.add(another);
  EXPECT_EQ(words_of_file(text_file("/data/result", {"five"})), "");
  EXPECT_NE(words_of_file(text_file("/data/result", {})), "") << "empty";
  Outcome outcome = good();
  outcome.files.clear();
  EXPECT_NE(words(outcome), "") << "missing";
}

// A serial run in which the others came first.
TEST_F(Checkers, WhereOnlyTheOrderOfWritersVariesWhatTheyWroteCounts) {
  const auto run = [](const char* line, const char* said) {
    Outcome outcome = good();
    outcome.files = {text_file("/data/result", {line})};
    outcome.out = {said};
    return outcome;
  };
  reference_ = {};
  reference_.add(run("start one two", "1, 2"));
  reference_.add(run("start two one", "2, 1"));
  EXPECT_EQ(words(run("one, two: start", "(2) 1")), "");
  EXPECT_EQ(words(run("start one", "1, 2")), "/data/result is torn: it has \"start one\"\n");
  EXPECT_EQ(words(run("start one two", "1, 1")), "printed \"1, 1\"\n");
  reference_.add(run("start one three", "1, 3"));
  EXPECT_EQ(words(run("start one", "1, 1")), "") << "it varies by itself";
}

TEST_F(Checkers, WhoeverTookAFileIsNoHarmIfThatVaries) {
  const auto run = [](std::vector<const char*> folders) {
    Outcome outcome;
    for (const char* const folder : folders)
      outcome.files.push_back(text_file(std::string("/done") + folder + "/task", {"4"}));
    return outcome;
  };
  reference_ = {};
  reference_.add(run({"1"}));
  EXPECT_EQ(words(run({"3"})), "/done1/task is missing\n/done3/task is left behind\n")
      << "it always lay there";
  reference_.add(run({"2"}));
  EXPECT_EQ(words(run({"3"})), "");
  EXPECT_NE(words(run({})), "") << "lost";
  EXPECT_NE(words(run({"1", "3"})), "") << "done twice";
  reference_ = {};
  reference_.add(run({"1", "2"}));
  reference_.add(run({"1", "2"}));
  EXPECT_NE(words(run({"1", "3"})), "") << "it always lies in both";
}

TEST_F(Checkers, WhoComesSecondInSilenceDoesNotFail) {
  Outcome outcome = good();
  outcome.out = {"the other won"};
  outcome.failures = {make_failure({"ln", "-s", "2", "winner"}, 1, 0, {})};
  EXPECT_FALSE(fails(judge(outcome, reference_)));
  outcome.err.push_back("ln: failed to create symbolic link");
  EXPECT_TRUE(fails(judge(outcome, reference_)));
  outcome = good();
  outcome.status = 1;
  EXPECT_TRUE(fails(judge(outcome, reference_)));
}

TEST_F(Checkers, FilesLeftBehindOrStillThere) {
  Outcome outcome = good();
  outcome.files.push_back(text_file("/data/x.lock", {"1"}));
  EXPECT_EQ(words(outcome), "/data/x.lock is left behind\n");
  outcome.files.back().name = "/tmp/x.<temp>";
  EXPECT_EQ(words(outcome), "");

  Reference reference;
  Outcome removed = good();
  removed.files.push_back(gone("/data/old"));
  reference.add(removed);
  const auto differences = judge(good(), reference);
  ASSERT_EQ(differences.size(), 1U);
  EXPECT_EQ(differences[0].consequence.detail, "/data/old is still there");
}

TEST_F(Checkers, TheWorstComesFirst) {
  Outcome outcome = good();
  outcome.out = {"x"};
  outcome.status = 1;
  outcome.failures = {make_failure({"sort"}, 0, SIGSEGV, {})};
  const auto all = judge(outcome, reference_);
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0].consequence.kind, ConsequenceKind::kCrash);
  EXPECT_EQ(all[2].consequence.kind, ConsequenceKind::kOutputDiffers);
}

TEST(UserChecker, SeesTheFilesAsTheyWereLeft) {
  std::string folder = (std::filesystem::temp_directory_path() / "checkers_test-XXXXXX").string();
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  std::filesystem::create_directories(folder + "/upper" + folder);
  std::ofstream(folder + "/upper" + folder + "/result") << "bad\n";
  std::ofstream(folder + "/result") << "good\n";
  std::ofstream(folder + "/out") << "printed\n";
  std::ofstream(folder + "/err") << "";
  CheckerRequest request;
  request.folder = folder;
  request.status = 3;
  request.environment = {"PATH=/usr/bin:/bin"};
  const auto says = [&](const std::string& script) {
    request.checker = "sh -c " + shell_quoted({script}) + " checker";
    auto consequence = run_checker(request);
    return consequence ? consequence->detail : "error: " + consequence.error().message;
  };
  if (says("true") != "") {
    const std::string why = says("true");
    std::filesystem::remove_all(folder);
    GTEST_SKIP() << "SKIPPED: " << why;
  }
  EXPECT_EQ(says("! grep bad " + folder + "/result"), "bad");
  EXPECT_EQ(says("grep -q printed $1 && test $3 = 3 && grep -q bad $4" + folder + "/result"), "");
  EXPECT_EQ(says("exit 5"), "exit status 5 of the checker");
  EXPECT_EQ(says("no-such-program"),
            "error: the checker sh -c no-such-program checker cannot be run: checker: 1: "
            "no-such-program: not found");
  request.timeout_s = 0.1;
  EXPECT_EQ(says("while :; do :; done"),
            "error: the checker sh -c 'while :; do :; done' checker did not end in time");
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace deadheat::process::judge

// Options from the environment and the project file: syntax, precedence, mistakes.
#include "apps/options.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <filesystem>

#include "apps/usage.h"
#include "lib/base/file.h"

namespace deadheat::apps {
namespace {

struct Options {
  std::string engine = "hb";
  std::string output;
  std::vector<std::string> suppressions;
  uint64_t max_pairs = 10;
  bool quiet = false;
};

struct Parser {
  Parser() {
    app.add_option("--engine", options.engine)->check(CLI::IsMember({"hb", "hybrid"}));
    app.add_option("-o,--output", options.output)->type_name("FILE");
    app.add_option("--suppressions", options.suppressions)->type_name("FILE");
    app.add_option("--max-pairs", options.max_pairs);
    app.add_flag("--quiet", options.quiet);
  }
  Options options;
  CLI::App app{"", "deadheat test"};
};

std::vector<Setting> environment(const std::string& text) {
  Result<std::vector<Setting>> settings = parse_environment(text);
  EXPECT_TRUE(settings.ok()) << text;
  return settings ? settings.value() : std::vector<Setting>{};
}

TEST(ParseEnvironment, SplitsAtColonsOutsideQuotes) {
  const std::vector<Setting> settings =
      environment("engine=hb::output='a:b':max_pairs=\"7\":quiet");
  ASSERT_EQ(settings.size(), 4U);
  EXPECT_EQ(settings[0].key, "engine");
  EXPECT_EQ(settings[1].value, "a:b");
  EXPECT_EQ(settings[2].key, "max-pairs");
  EXPECT_EQ(settings[2].value, "7");
  EXPECT_EQ(settings[3].key, "quiet");
  EXPECT_EQ(settings[3].value, "");
}

TEST(ParseEnvironment, OpenQuoteIsAnError) {
  const Result<std::vector<Setting>> settings = parse_environment("output='a:engine=hb");
  ASSERT_FALSE(settings.ok());
  EXPECT_EQ(settings.error().message, "DEADHEAT_OPTIONS: a quote is not closed");
}

TEST(ParseEnvironment, OddTextIsHarmless) {
  for (const char* text : {"", ":", "=", "==", ":=:", "a=b=c", "'", "\"\"", "=x"}) {
    static_cast<void>(parse_environment(text));
  }
  EXPECT_EQ(environment("a=b=c")[0].value, "b=c");
}

TEST(ParseProject, NumbersLinesAndSkipsComments) {
  const Result<std::vector<Setting>> settings =
      parse_project("# ours\n\n  engine = hybrid  \r\nsuppressions = a b.txt\n", "/p/.deadheat");
  ASSERT_TRUE(settings.ok());
  ASSERT_EQ(settings.value().size(), 2U);
  EXPECT_EQ(settings.value()[0].value, "hybrid");
  EXPECT_EQ(settings.value()[0].origin, "/p/.deadheat:3");
  EXPECT_EQ(settings.value()[1].value, "a b.txt");
  EXPECT_EQ(parse_project("\n= 3", "f").error().message, "f:2: not a 'key = value' line");
}

TEST(Apply, CommandLineThenEnvironmentThenProject) {
  Parser parser;
  parser.app.parse("--engine hb --quiet=false");
  std::vector<std::string> warnings;
  const std::vector<std::string> all = keys(parser.app);
  ASSERT_TRUE(apply(environment("engine=hybrid:max_pairs=5:quiet=1"), parser.app, all, warnings));
  const Result<std::vector<Setting>> project =
      parse_project("max-pairs = 6\noutput = out.json\nsuppressions = /s\n", "/p/.deadheat");
  ASSERT_TRUE(apply(project.value(), parser.app, all, warnings));
  EXPECT_EQ(parser.options.engine, "hb");
  EXPECT_FALSE(parser.options.quiet);
  EXPECT_EQ(parser.options.max_pairs, 5U);
  EXPECT_EQ(parser.options.output, "/p/out.json");
  EXPECT_EQ(parser.options.suppressions, std::vector<std::string>{"/s"});
  EXPECT_TRUE(warnings.empty());
}

TEST(Apply, RepeatedKeysAddUpOnlyWhereTheOptionDoes) {
  Parser parser;
  parser.app.parse("");
  std::vector<std::string> warnings;
  ASSERT_TRUE(apply(environment("engine=hb:engine=hybrid:suppressions=a:suppressions=b:quiet"),
                    parser.app, keys(parser.app), warnings));
  EXPECT_EQ(parser.options.engine, "hybrid");
  EXPECT_EQ(parser.options.suppressions, (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(parser.options.quiet);
}

TEST(Apply, BadValueNamesItsOrigin) {
  Parser parser;
  parser.app.parse("");
  std::vector<std::string> warnings;
  const Status status = apply(environment("engine=hybird"), parser.app, {}, warnings);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message,
            "DEADHEAT_OPTIONS: 'hybird' is not a value of --engine; expected one of hb, hybrid "
            "(did you mean 'hybrid'?)");
}

TEST(Apply, UnknownKeyWarnsButAnotherVerbsKeyDoesNot) {
  Parser parser;
  parser.app.parse("");
  std::vector<std::string> warnings;
  const std::vector<std::string> all = {"engine", "baseline"};
  ASSERT_TRUE(apply(environment("baseline=x:engin=hb"), parser.app, all, warnings));
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_EQ(warnings[0], "DEADHEAT_OPTIONS: unknown key 'engin'; did you mean 'engine'?");
}

class ProjectFile : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "deadheat_options_XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    std::filesystem::create_directories(folder_ + "/a/b");
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string folder_;
};

TEST_F(ProjectFile, NearestOneAboveWins) {
  ASSERT_TRUE(write_file(folder_ + "/.deadheat", ""));
  std::vector<std::string> warnings;
  EXPECT_EQ(find_project_file(folder_ + "/a/b", warnings), folder_ + "/.deadheat");
  std::filesystem::create_directory(folder_ + "/a/b/.deadheat");  // a folder is not a project file
  EXPECT_EQ(find_project_file(folder_ + "/a/b", warnings), folder_ + "/.deadheat");
  ASSERT_TRUE(write_file(folder_ + "/a/.deadheat", ""));
  EXPECT_EQ(find_project_file(folder_ + "/a/b", warnings), folder_ + "/a/.deadheat");
  EXPECT_TRUE(warnings.empty());
}

TEST_F(ProjectFile, SomebodyElsesIsRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, to give a file away";
  const std::string path = folder_ + "/a/.deadheat";
  ASSERT_TRUE(write_file(path, ""));
  ASSERT_EQ(::chown(path.c_str(), 12345, 12345), 0);
  std::vector<std::string> warnings;
  EXPECT_NE(find_project_file(folder_ + "/a/b", warnings), path);
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_EQ(warnings[0], path + " is ignored: it belongs to user 12345");
}

}  // namespace
}  // namespace deadheat::apps

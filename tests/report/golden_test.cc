// Every writer against its golden. UPDATE_GOLDENS=1 rewrites them; look at the difference before
// committing it.
#include <gtest/gtest.h>

#include <cstdlib>

#include "lib/base/file.h"
#include "lib/report/writers.h"
#include "tests/report/fixture.h"

namespace deadheat::report {
namespace {

void expect_golden(const std::string& name, std::string actual) {
  const std::string version = DEADHEAT_VERSION;  // goldens outlive releases
  for (const std::string& quote : {"\"" + version + "\"", "Deadheat " + version})
    for (size_t at; (at = actual.find(quote)) != std::string::npos;)
      actual.replace(at, quote.size(), quote[0] == '"' ? "\"VERSION\"" : "Deadheat VERSION");
  const std::string path = std::string(DEADHEAT_SOURCE_DIR) + "/tests/report/goldens/" + name;
  if (std::getenv("UPDATE_GOLDENS") != nullptr) {
    ASSERT_TRUE(write_file(path, actual).ok());
    return;
  }
  const auto golden = read_file(path);
  ASSERT_TRUE(golden.ok()) << golden.error().message;
  EXPECT_EQ(golden.value(), actual)
      << "if this is meant: UPDATE_GOLDENS=1 ctest -R golden, and review the difference";
}

TEST(Golden, Text) { expect_golden("bank.txt", write_text(fixture::bank_report(), {})); }
TEST(Golden, TextInColour) {
  expect_golden("bank.colour.txt", write_text(fixture::bank_report(), {.colour = true}));
}
TEST(Golden, Tsan) { expect_golden("bank.log", write_tsan(fixture::bank_report())); }
TEST(Golden, Github) { expect_golden("bank.github", write_github(fixture::bank_report())); }
TEST(Golden, Json) { expect_golden("bank.json", write_json(fixture::bank_report())); }
TEST(Golden, Sarif) {
  expect_golden("bank.sarif", write_sarif(fixture::bank_report(), {.exit_code = 66}));
}
TEST(Golden, Junit) { expect_golden("bank.xml", write_junit(fixture::bank_report())); }
TEST(Golden, Html) { expect_golden("bank.html", write_html(fixture::bank_report())); }

TEST(Golden, EmptyText) { expect_golden("empty.txt", write_text(fixture::empty_report(), {})); }
TEST(Golden, EmptyTsan) { expect_golden("empty.log", write_tsan(fixture::empty_report())); }
TEST(Golden, EmptyJunit) { expect_golden("empty.xml", write_junit(fixture::empty_report())); }
TEST(Golden, EmptySarif) { expect_golden("empty.sarif", write_sarif(fixture::empty_report(), {})); }

}  // namespace
}  // namespace deadheat::report

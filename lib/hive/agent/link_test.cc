// What the log cannot show is not sent: the address here answers nobody, so that an error that
// names it would mean that the agent tried.
#include "lib/hive/agent/link.h"

#include <gtest/gtest.h>

namespace deadheat::hive::agent {
namespace {

TEST(Link, sends_nothing_that_the_log_does_not_show) {
  http::Client nobody;
  nobody.url = "http://127.0.0.1:1";
  for (const char* log : {"/dev/full", "/nowhere/log"}) {
    Link link(nobody, "shop:id:secret", log, 1);
    const auto answer = link.poll({});
    ASSERT_FALSE(answer.ok());
    EXPECT_NE(answer.error().message.find(log), std::string::npos) << answer.error().message;
    EXPECT_EQ(answer.error().message.find("127.0.0.1"), std::string::npos);
    EXPECT_GT(link.back_off_ms(), 0);
  }
}

}  // namespace
}  // namespace deadheat::hive::agent

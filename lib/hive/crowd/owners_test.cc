#include "lib/hive/crowd/owners.h"

#include <gtest/gtest.h>

namespace deadheat::hive::crowd {
namespace {

TEST(Owners, patterns_as_in_gitignore) {
  EXPECT_TRUE(owns("*", "a/b.c"));
  EXPECT_TRUE(owns("*.c", "a/b.c"));
  EXPECT_FALSE(owns("*.c", "a/b.cc"));
  EXPECT_TRUE(owns("/src/", "src/a/b.c"));
  EXPECT_FALSE(owns("/src/", "vendor/src/b.c"));
  EXPECT_TRUE(owns("src/", "vendor/src/b.c"));
  EXPECT_FALSE(owns("src/", "src")) << "a file of that name is no folder";
  EXPECT_TRUE(owns("/text/*", "text/a.txt"));
  EXPECT_TRUE(owns("/text/*", "text/deep/a.txt")) << "a folder that fits has all below it";
  EXPECT_TRUE(owns("text/**/a.txt", "text/a.txt"));
  EXPECT_TRUE(owns("text/**/a.txt", "text/x/y/a.txt"));
  EXPECT_TRUE(owns("**/logs", "build/logs/x"));
  EXPECT_TRUE(owns("a?c", "abc"));
  EXPECT_FALSE(owns("a?c", "a/c"));
  EXPECT_FALSE(owns("", "a"));
}

TEST(Owners, the_last_rule_that_fits_decides) {
  const Owners owners = Owners::parse(
      "# a comment\n*  @all\n/src/ @core @ann  # inline\n[Section]\n/src/gen/\nwith\\ "
      "space.c\t@tab\n",
      "/home/ci/shop/");
  EXPECT_EQ(owners.of("/home/ci/shop/src/a.c"), "@core @ann");
  EXPECT_EQ(owners.of("/home/ci/shop/src/gen/a.c"), "") << "nobody's";
  EXPECT_EQ(owners.of("/home/ci/shop/x.c"), "@all");
  EXPECT_EQ(owners.of("./src/a.c"), "@core @ann");
  EXPECT_EQ(owners.of("with space.c"), "@tab");
  EXPECT_EQ(owners.of("/usr/include/stdio.h"), "") << "not of this project";
  EXPECT_EQ(owners.of("/home/ci/shopping/src/a.c"), "");
}

TEST(Owners, no_pattern_takes_long) {
  std::string pattern, path(3000, 'a');
  for (int i = 0; i < 150; ++i) pattern += "*a";
  EXPECT_FALSE(owns(pattern + "b", path));
}

}  // namespace
}  // namespace deadheat::hive::crowd

#include "lib/places/variable_text.h"

#include <gtest/gtest.h>

namespace deadheat::places {
namespace {

TEST(AccessedVariable, OneThingIsNamed) {
  EXPECT_EQ(accessed_variable("account->balance += amount;"), "balance");
  EXPECT_EQ(accessed_variable("return this->size_;  // a->b"), "size_");
  EXPECT_EQ(accessed_variable("long old = p->next.count;"), "count");
  EXPECT_EQ(accessed_variable("data[i + 1] = 0;"), "data[]");
  EXPECT_EQ(accessed_variable("*flag = 1;"), "*flag");
  EXPECT_EQ(accessed_variable("counter++;"), "counter");
  EXPECT_EQ(accessed_variable("if (x) hits_ += 2;"), "hits_");
  EXPECT_EQ(accessed_variable("printf(\"a.b %d\\n\", node->value);"), "value");
  EXPECT_EQ(accessed_variable("else total = 1;"), "total");
}

TEST(AccessedVariable, NoneOrSeveralStayUnnamed) {
  EXPECT_EQ(accessed_variable(""), "");
  EXPECT_EQ(accessed_variable("work();"), "");
  EXPECT_EQ(accessed_variable("a->x = b->y;"), "");
  EXPECT_EQ(accessed_variable("sum += account.balance;"), "");
  EXPECT_EQ(accessed_variable("int x = 1;"), "");
  EXPECT_EQ(accessed_variable("auto* p = f();"), "");
  EXPECT_EQ(accessed_variable("std::vector<int> v = g();"), "");
  EXPECT_EQ(accessed_variable("\"unclosed"), "");
  EXPECT_EQ(accessed_variable("x = a * b;"), "x");
}

}  // namespace
}  // namespace deadheat::places

// Which names are variable: learnt from the names that a recording and the serial runs created.
#include "lib/process/trials/drawn_names.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>

#include "lib/process/testing/event_script.h"

namespace deadheat::process::trials {
namespace {

using Names = std::vector<replay::MadeName>;

TEST(CommonPattern, WhatStaysAtBothEnds) {
  EXPECT_EQ(common_pattern({"tmp.a8Zk2qQQ1x", "tmp.Qx81ZkZZ2y", "tmp.7hZk2qRRRz"}), "tmp.*");
  EXPECT_EQ(common_pattern({"ccQx81Zk.o", "cca7b1Zz.o", "ccZZZZZZ.o"}), "cc*.o");
  EXPECT_EQ(common_pattern({"tmpab12cd34", "tmpzzzzzzzz", "tmp_0q1w2e3"}), "tmp*");
  EXPECT_EQ(common_pattern({"a", "bcd", "ef"}), "*");
}

TEST(CommonPattern, ALetterThatAllHaveByChance) {
  EXPECT_EQ(common_pattern({"tmp.a8Zk2qQQ1x", "tmp.ax81ZkZZ2y", "tmp.ahZk2qRRRz"}), "tmp.*");
  EXPECT_EQ(common_pattern({"s8Zk2Q", "sx81ZQ", "shZk3Q"}), "s*Q") << "both ends: not known which";
}

TEST(CommonPattern, DigitsAreNotMaskedHere) {
  EXPECT_EQ(common_pattern({"job.2913", "job.31", "job.5"}), "");
  EXPECT_EQ(common_pattern({"log-20261118-003015", "log-20261118-003017"}), "");
  EXPECT_EQ(common_pattern({"log-20261118-003015.2.77", "log-20261118-003017.2.4711"}), "");
  EXPECT_EQ(common_pattern({"job_46_22073", "job_47_111"}), "");
}

TEST(CommonPattern, ADateBesideIsTheSameWhetherItChangedOrNot) {
  EXPECT_EQ(common_pattern({"log-46-aB3xYz.tar", "log-46-Qr81Zk.tar"}), "log-46-*.tar");
  EXPECT_EQ(common_pattern({"log-46-aB3xYz.tar", "log-51-Qr81Zk.tar"}), "log-46-*.tar");
}

struct Drawn : testing::EventScript {
  Drawn() {
    fork(1, 2);
    path_call(1, "mkdir", "/tmp/tmp.a8Zk2qQQ1x", 0);
    open(2, "/tmp/tmp.a8Zk2qQQ1x/out", O_CREAT | O_WRONLY, 3);
    path_call(1, "mkdir", "/tmp/results", 0);
  }
  DrawnNames names(const std::vector<Names>& runs) const {
    const testing::Examined e(*this);
    return {e.recording, e.model, runs};
  }
};

Names run(const std::string& folder, const std::string& results = "/tmp/results") {
  return {
      {"0", SYS_mkdir, folder}, {"0.0", SYS_openat, folder + "/out"}, {"0", SYS_mkdir, results}};
}

const char kObject[] = "lock of /tmp/tmp.a8Zk2qQQ1x/out";

TEST(DrawnNames, OfAFolderAndWhatIsInIt) {
  const DrawnNames names = Drawn().names({run("/tmp/tmp.Qx81ZkZZ2y"), run("/tmp/tmp.7hZk2qRRRz")});
  EXPECT_EQ(names.masked(kObject), "lock of /tmp/tmp.*/out");
  EXPECT_EQ(names.masked("/tmp/tmp.a8Zk2qQQ1x"), "/tmp/tmp.*");
  EXPECT_EQ(names.masked("/tmp/tmp.a8Zk2qQQ1x2"), "/tmp/tmp.a8Zk2qQQ1x2") << "another name";
  EXPECT_EQ(names.masked("/tmp/results"), "/tmp/results");
}

TEST(DrawnNames, OneRunTellsTooLittle) {
  EXPECT_EQ(Drawn().names({run("/tmp/tmp.Qx81ZkZZ2y")}).masked(kObject), kObject);
}

TEST(DrawnNames, WhatTwoRunsMadeIsNotDrawn) {
  const DrawnNames names = Drawn().names({run("/tmp/failed"), run("/tmp/failed")});
  EXPECT_EQ(names.masked(kObject), kObject);
}

TEST(DrawnNames, OtherPlacesAreNotCompared) {
  // Another creation that comes first is a different place.
  const Names other = {{"0", SYS_mkdir, "/tmp/results"}};
  EXPECT_EQ(Drawn().names({other, other}).masked(kObject), kObject);
  const Names changed = run("/tmp/results", "/tmp/tmp.a8Zk2qQQ1x");
  EXPECT_EQ(Drawn().names({changed, changed}).masked(kObject), kObject);
}

}  // namespace
}  // namespace deadheat::process::trials

// The papers' figures as traces (tests/traces/figures), with exactly the results stated in the
// texts.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "lib/analysis/engine.h"
#include "lib/trace/open.h"

namespace deadheat::analysis {
namespace {

using Labels = std::set<std::pair<std::string, std::string>>;

Labels races(const std::string& figure, const Options& options) {
  auto source =
      trace::open_trace(std::string(DEADHEAT_SOURCE_DIR "/tests/traces/figures/") + figure);
  if (!source) {
    ADD_FAILURE() << source.error().message;
    return {};
  }
  auto report = analyze(**source, options);
  if (!report) {
    ADD_FAILURE() << report.error().message;
    return {};
  }
  EXPECT_TRUE((*source)->problems().empty());
  Labels labels;
  for (const RacyPair& pair : report->pairs) {
    std::string a = (*source)->site(pair.first.site).label,
                b = (*source)->site(pair.second.site).label;
    if (std::stoi(a) > std::stoi(b)) std::swap(a, b);
    labels.emplace(a, b);
  }
  return labels;
}

Options hb() { return {}; }
Options hybrid(Edges edges = Edges::kFull) {
  Options options;
  options.engine = EngineKind::kHybrid;
  options.edges = edges;
  return options;
}
Options rdit(Missing missing = Missing::kRdit) {
  Options options;
  options.engine = EngineKind::kRdit;
  options.missing = missing;
  return options;
}

TEST(Figures, RaceFuzzer1HybridReportsTheRaceAndTheFalseAlarm) {
  const Labels expected{{"5", "7"}, {"1", "10"}};
  EXPECT_EQ(races("racefuzzer_figure1.std", hybrid(Edges::kPaper)), expected);
  EXPECT_EQ(races("racefuzzer_figure1.std", hybrid()), expected);
}

TEST(Figures, RaceFuzzer1HappensBeforeReportsTheRaceOnly) {
  EXPECT_EQ(races("racefuzzer_figure1.std", hb()), (Labels{{"5", "7"}}));
}

TEST(Figures, RaceFuzzer2HappensBeforeMissesWhatTheLockSeparates) {
  EXPECT_EQ(races("racefuzzer_figure2.std", hb()), Labels{});
  EXPECT_EQ(races("racefuzzer_figure2.std", hybrid(Edges::kPaper)), (Labels{{"8", "10"}}));
  EXPECT_EQ(races("racefuzzer_figure2_close.std", hb()), (Labels{{"8", "10"}}));
  EXPECT_EQ(races("racefuzzer_figure2_close.std", hybrid(Edges::kPaper)), (Labels{{"8", "10"}}));
}

TEST(Figures, Rdit1IsSilentWherePlainHappensBeforeCriesWolf) {
  EXPECT_EQ(races("rdit_figure1.txt", rdit(Missing::kIgnore)), (Labels{{"1", "2"}}));
  EXPECT_EQ(races("rdit_figure1.txt", hb()), (Labels{{"1", "2"}}));
  EXPECT_EQ(races("rdit_figure1.txt", rdit()), Labels{});
  EXPECT_EQ(races("rdit_figure1.txt", rdit(Missing::kNaive)), Labels{});
}

TEST(Figures, Rdit1WithDifferentAddressesKeepsTheRaceThatNaiveLoses) {
  EXPECT_EQ(races("rdit_figure1_apart.txt", rdit()), (Labels{{"1", "2"}}));
  EXPECT_EQ(races("rdit_figure1_apart.txt", rdit(Missing::kNaive)), Labels{});
}

// A reconstruction: the figure is missing from the available text.
TEST(Figures, Rdit2OrdersOnlyRegionsThatOverlap) {
  EXPECT_EQ(races("rdit_figure2.txt", rdit(Missing::kIgnore)),
            (Labels{{"1", "2"}, {"1", "3"}, {"5", "6"}, {"7", "8"}, {"9", "10"}}));
  EXPECT_EQ(races("rdit_figure2.txt", rdit()), (Labels{{"7", "8"}, {"9", "10"}}));
  EXPECT_EQ(races("rdit_figure2.txt", rdit(Missing::kNaive)), (Labels{{"9", "10"}}));
}

}  // namespace
}  // namespace deadheat::analysis

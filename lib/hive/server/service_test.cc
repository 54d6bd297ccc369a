// The hive's answers without a socket, with limits and a clock of the test's own.
#include "lib/hive/server/service.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "lib/hive/api/json.h"
#include "lib/hive/server/credentials.h"

namespace deadheat::hive::server {
namespace {

class ServiceTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("hive_service." + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
    options_.database = folder_ / "hive.db";
    options_.look_every_ms = INT64_MAX / 2;
    options_.now_ms = [this] { return now_ms_; };
    auto opened = store::Store::open(options_.database, true, 1);
    ASSERT_TRUE(opened.ok());
    store_ = std::move(opened).value();
    const NewToken token = make_token("shop", store::Role::kAgent, false, "", 0, 0);
    ASSERT_TRUE(store_->add_token(token.stored, "test", 0).ok());
    token_ = token.text;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void open() {
    auto opened = Service::open(options_);
    ASSERT_TRUE(opened.ok());
    service_ = std::move(opened).value();
  }

  void push_races(int count) {
    model::FindingsFile file;
    for (int i = 0; i < count; ++i) {
      model::Finding& finding = file.findings.emplace_back();
      finding.candidate.roles.resize(2);
      for (model::Role& role : finding.candidate.roles) {
        role.site.function = "work()";
        role.site.file = "/src/server.c";
        role.site.line = static_cast<uint32_t>(10 + i);
        role.access = model::AccessKind::kWrite;
      }
    }
    ASSERT_TRUE(store_->push("shop", {"dev", false}, file, now_ms_).ok());
  }

  static http::Request ask(const std::string& path, const std::string& token,
                           const std::string& body, const std::string& peer = "1.2.3.4") {
    http::Request request;
    request.method = "POST";
    request.path = path;
    request.headers["authorization"] = "Bearer " + token;
    request.body = body;
    request.peer = peer;
    return request;
  }

  http::Request question(const std::string& instance, uint32_t room) const {
    api::Poll poll;
    poll.instance = instance;
    poll.room = room;
    poll.wait_s = 20;
    return ask("/api/v1/jobs", token_, api::encode(poll));
  }

  // As an instance of its own: takes a job and answers it.
  void answer(const std::string& instance, model::Outcome outcome) {
    http::Turn turn;
    const auto given = service_->serve(question(instance, 1), turn);
    ASSERT_TRUE(given && given->status == 200);
    auto jobs = api::decode_poll_answer(given->body);
    ASSERT_TRUE(jobs.ok() && jobs->jobs.size() == 1);
    api::Results results;
    results.instance = instance;
    api::JobResult& result = results.results.emplace_back();
    result.id = result.job = jobs->jobs[0].id;
    result.number = jobs->jobs[0].number;
    result.order = jobs->jobs[0].order;
    result.outcome = outcome;
    if (outcome == model::Outcome::kRace) result.proof = model::Proof::kCoEnabled;
    http::Turn once;
    const auto taken = service_->serve(ask("/api/v1/results", token_, api::encode(results)), once);
    ASSERT_TRUE(taken && taken->status == 200);
  }

  int64_t last_looked(const std::string& instance) {
    const auto all = store_->instances("shop", 100);
    for (const store::Instance& one : all.value())
      if (one.id == instance) return one.last_ms;
    return 0;
  }

  std::filesystem::path folder_;
  ServiceOptions options_;
  int64_t now_ms_ = 1'700'000'000'000;
  std::unique_ptr<store::Store> store_;
  std::string token_;
  std::unique_ptr<Service> service_;
};

TEST_F(ServiceTest, wrong_tokens_are_limited_by_address_before_bodies_are_read) {
  options_.burst = 2;
  options_.requests_per_s = 0;
  open();
  const auto status = [&](const std::string& token, const std::string& peer) {
    const auto admission = service_->admit(ask("/api/v1/results", token, "", peer));
    return admission.refused ? admission.refused->status : 200;
  };
  EXPECT_EQ(status("shop:x:y", "1.2.3.4"), 401);
  EXPECT_EQ(status("shop:x:y", "1.2.3.4"), 401);
  EXPECT_EQ(status("shop:x:y", "1.2.3.4"), 429);
  EXPECT_EQ(status("shop:x:y", "5.6.7.8"), 401);
  EXPECT_EQ(status(token_, "1.2.3.4"), 200) << "others behind the same balancer are served";
}

TEST_F(ServiceTest, a_parked_question_looks_again_only_after_what_may_change_its_answer) {
  push_races(3);
  open();
  const http::Request parked = question("parked", 0);  // takes no job: it stays parked
  http::Turn turn;
  const int64_t first = now_ms_;
  EXPECT_FALSE(service_->serve(parked, turn));
  ++turn.calls;
  now_ms_ += 1000;
  answer("one", model::Outcome::kNotSeen);
  EXPECT_FALSE(service_->serve(parked, turn));
  EXPECT_EQ(last_looked("parked"), first) << "a result that changes no verdict wakes nobody";
  now_ms_ += 1000;
  answer("two", model::Outcome::kRace);
  EXPECT_FALSE(service_->serve(parked, turn));
  EXPECT_EQ(last_looked("parked"), now_ms_);
}

TEST_F(ServiceTest, a_parked_question_sees_what_others_changed_in_the_database) {
  options_.look_every_ms = 0;
  open();
  const http::Request parked = question("parked", 1);
  http::Turn turn;
  EXPECT_FALSE(service_->serve(parked, turn));
  ++turn.calls;
  EXPECT_FALSE(service_->serve(parked, turn)) << "the first look remembers what is there";
  const int64_t looked = now_ms_;
  now_ms_ += 1000;
  EXPECT_FALSE(service_->serve(parked, turn));
  EXPECT_EQ(last_looked("parked"), looked) << "nothing has changed";
  push_races(1);
  const auto given = service_->serve(parked, turn);
  ASSERT_TRUE(given);
  EXPECT_EQ(api::decode_poll_answer(given->body)->jobs.size(), 1U);
}

}  // namespace
}  // namespace deadheat::hive::server

#include "lib/hive/api/json.h"

#include <limits>
#include <nlohmann/json.hpp>

#include "lib/model/enum_names.h"
#include "lib/model/json.h"

namespace deadheat::hive::api {
namespace {

using Json = nlohmann::json;

// Fields of one object. The first problem is kept; after it nothing is read.
class Fields {
 public:
  Fields(const Json& value, std::string& problem) : value_(value), problem_(problem) {
    if (!value.is_object()) fail("", "an object is expected");
  }

  void text(const char* key, std::string& into, size_t most = kMostText) {
    const Json* found = at(key);
    if (found == nullptr) return;
    if (!found->is_string()) return fail(key, "a string is expected");
    const auto& text = found->get_ref<const std::string&>();
    if (text.size() > most) return fail(key, "longer than " + std::to_string(most) + " bytes");
    into = text;
  }
  void flag(const char* key, bool& into) {
    const Json* found = at(key);
    if (found == nullptr) return;
    if (!found->is_boolean()) return fail(key, "true or false is expected");
    into = found->get<bool>();
  }
  template <typename Number>
  void number(const char* key, Number& into) {
    const Json* found = at(key);
    if (found == nullptr) return;
    const bool fits =
        found->is_number_unsigned() &&
        found->get<uint64_t>() <= static_cast<uint64_t>(std::numeric_limits<Number>::max());
    if (!fits) return fail(key, "a number that is not negative and not too large is expected");
    into = static_cast<Number>(found->get<uint64_t>());
  }
  void real(const char* key, double& into) {
    const Json* found = at(key);
    if (found == nullptr) return;
    if (!found->is_number()) return fail(key, "a number is expected");
    into = found->get<double>();
  }
  template <typename Enum>
  void name(const char* key, Enum& into) {
    std::string word;
    text(key, word);
    if (word.empty() || !problem_.empty()) return;
    const auto parsed = model::parse_name<Enum>(word);
    if (!parsed) return fail(key, "unknown word");
    into = *parsed;
  }
  template <typename T, typename Read>
  void list(const char* key, std::vector<T>& into, size_t most, Read read) {
    const Json* found = at(key);
    if (found == nullptr) return;
    if (!found->is_array()) return fail(key, "an array is expected");
    if (found->size() > most) return fail(key, "more than " + std::to_string(most) + " entries");
    for (const Json& one : *found) {
      if (!problem_.empty()) return;
      read(one, into.emplace_back());
    }
  }
  void texts(const char* key, std::vector<std::string>& into, size_t most) {
    list(key, into, most, [&](const Json& one, std::string& text) {
      if (!one.is_string() || one.get_ref<const std::string&>().size() > kMostText)
        return fail(key, "short strings are expected");
      text = one.get<std::string>();
    });
  }
  void fail(const std::string& key, const std::string& what) {
    if (problem_.empty()) problem_ = key.empty() ? what : key + ": " + what;
  }
  const Json* at(const char* key) {
    if (!problem_.empty()) return nullptr;
    const auto found = value_.find(key);
    return found == value_.end() || found->is_null() ? nullptr : &*found;
  }
  std::string& problem() { return problem_; }

 private:
  const Json& value_;
  std::string& problem_;
};

template <typename T, typename Read>
Result<T> decode(std::string_view text, size_t most_bytes, Read read) {
  if (const Status measured = measure(text, most_bytes); !measured) return measured.error();
  const Json document = Json::parse(text, nullptr, false);
  if (document.is_discarded()) return Error{"the message is no JSON", ""};
  std::string problem;
  T value;
  Fields fields(document, problem);
  if (problem.empty()) read(fields, value);
  if (!problem.empty()) return Error{problem, "docs/formats/hive-api.yaml describes the messages"};
  return value;
}

std::string dump(const Json& document) {
  return document.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json candidate_json(const model::Candidate& candidate) {
  model::FindingsFile file;
  file.findings.push_back({candidate, {}});
  return Json::parse(model::to_json(file), nullptr, false);
}

void read_candidate(Fields& fields, model::Candidate& into) {
  const Json* found = fields.at("candidate");
  if (found == nullptr) return fields.fail("candidate", "is missing");
  auto file = model::from_json(dump(*found));
  if (!file) return fields.fail("candidate", file.error().message);
  if (file->findings.size() != 1) return fields.fail("candidate", "one finding is expected");
  into = std::move(file->findings[0].candidate);
}

void read_result(Fields& fields, JobResult& into) {
  fields.text("id", into.id);
  fields.text("job", into.job);
  fields.number("number", into.number);
  fields.text("execution", into.execution);
  fields.name("outcome", into.outcome);
  fields.name("proof", into.proof);
  fields.name("order", into.order);
  fields.name("ordered", into.ordered);
  fields.name("consequence", into.consequence);
  fields.flag("maximum_timeout", into.maximum_timeout);
  fields.flag("promoted", into.promoted);
  fields.number("tau_us", into.tau_us);
  fields.number("waited_us", into.waited_us);
  if (into.id.empty()) fields.fail("id", "is missing");
}

Json result_json(const JobResult& r) {
  return {{"id", r.id},
          {"job", r.job},
          {"number", r.number},
          {"execution", r.execution},
          {"outcome", model::name(r.outcome)},
          {"proof", model::name(r.proof)},
          {"order", model::name(r.order)},
          {"ordered", model::name(r.ordered)},
          {"consequence", model::name(r.consequence)},
          {"maximum_timeout", r.maximum_timeout},
          {"promoted", r.promoted},
          {"tau_us", r.tau_us},
          {"waited_us", r.waited_us}};
}

}  // namespace

Status measure(std::string_view text, size_t most_bytes, size_t most_depth, size_t most_values) {
  if (text.size() > most_bytes)
    return Error{"the message is longer than " + std::to_string(most_bytes) + " bytes",
                 "send it in parts"};
  size_t depth = 0, values = 1;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      in_string = c != '"';
      continue;
    }
    in_string = c == '"';
    if (c == '[' || c == '{') ++depth;
    if ((c == ']' || c == '}') && depth > 0) --depth;
    if (c == ',' || c == '[' || c == '{') ++values;
    if (depth > most_depth)
      return Error{"the message is nested deeper than " + std::to_string(most_depth), ""};
    if (values > most_values)
      return Error{"the message has more than " + std::to_string(most_values) + " values",
                   "send it in parts"};
  }
  return Ok{};
}

Result<Poll> decode_poll(std::string_view text) {
  return decode<Poll>(text, kMostBytes, [](Fields& fields, Poll& into) {
    fields.text("instance", into.instance);
    fields.text("build_id", into.build_id);
    fields.text("version", into.version);
    fields.texts("holding", into.holding, kMostJobs);
    fields.number("room", into.room);
    fields.number("wait_s", into.wait_s);
    fields.number("spent_ppm", into.spent_ppm);
    fields.number("budget_ppm", into.budget_ppm);
    fields.number("dropped", into.dropped);
    if (into.instance.empty()) fields.fail("instance", "is missing");
  });
}

std::string encode(const Poll& poll) {
  return dump({{"instance", poll.instance},
               {"build_id", poll.build_id},
               {"version", poll.version},
               {"holding", poll.holding},
               {"room", poll.room},
               {"wait_s", poll.wait_s},
               {"spent_ppm", poll.spent_ppm},
               {"budget_ppm", poll.budget_ppm},
               {"dropped", poll.dropped}});
}

Result<PollAnswer> decode_poll_answer(std::string_view text) {
  return decode<PollAnswer>(text, kMostBytes, [](Fields& fields, PollAnswer& into) {
    fields.list("jobs", into.jobs, kMostJobs, [&](const Json& one, Job& job) {
      Fields of_job(one, fields.problem());
      of_job.text("id", job.id);
      of_job.number("number", job.number);
      of_job.name("order", job.order);
      of_job.number("tau_us", job.tau_us);
      of_job.number("lease_s", job.lease_s);
      of_job.flag("promoted", job.promoted);
      of_job.flag("last_tau", job.last_tau);
      read_candidate(of_job, job.candidate);
    });
    fields.texts("drop", into.drop, kMostJobs);
    fields.number("again_s", into.again_s);
  });
}

Result<Edit> decode_edit(std::string_view text) {
  return decode<Edit>(text, kMostBytes, [](Fields& fields, Edit& into) {
    fields.text("comment", into.comment, kMostComment);
    fields.text("state", into.state);
    fields.text("reason", into.reason, kMostComment);
    fields.real("days", into.days);
    if (fields.at("owner") != nullptr) fields.text("owner", into.owner.emplace());
    const bool known = into.state.empty() || into.state == "open" || into.state == "fixed" ||
                       into.state == "stale" || into.state == "suppressed";
    if (!known) fields.fail("state", "open, fixed, stale or suppressed is expected");
    constexpr double kMostDays = 36500;
    if (!(into.days >= 0 && into.days <= kMostDays)) fields.fail("days", "0 to 36500");
    if (into.state == "suppressed" && into.reason.empty())
      fields.fail("reason", "a suppression needs one");
    if (into.comment.empty() && !into.owner && into.state.empty())
      fields.fail("", "a comment, an owner or a state is expected");
  });
}

std::string encode(const PollAnswer& answer) {
  Json jobs = Json::array();
  for (const Job& job : answer.jobs)
    jobs.push_back({{"id", job.id},
                    {"number", job.number},
                    {"order", model::name(job.order)},
                    {"tau_us", job.tau_us},
                    {"lease_s", job.lease_s},
                    {"promoted", job.promoted},
                    {"last_tau", job.last_tau},
                    {"candidate", candidate_json(job.candidate)}});
  return dump({{"jobs", std::move(jobs)}, {"drop", answer.drop}, {"again_s", answer.again_s}});
}

Result<Results> decode_results(std::string_view text) {
  return decode<Results>(text, kMostBytes, [](Fields& fields, Results& into) {
    fields.text("instance", into.instance);
    fields.list("results", into.results, kMostResults, [&](const Json& one, JobResult& result) {
      Fields of_result(one, fields.problem());
      read_result(of_result, result);
    });
    if (into.instance.empty()) fields.fail("instance", "is missing");
  });
}

std::string encode(const Results& results) {
  Json list = Json::array();
  for (const JobResult& one : results.results) list.push_back(result_json(one));
  return dump({{"instance", results.instance}, {"results", std::move(list)}});
}

Result<ResultsAnswer> decode_results_answer(std::string_view text) {
  return decode<ResultsAnswer>(text, kMostBytes, [](Fields& fields, ResultsAnswer& into) {
    fields.number("accepted", into.accepted);
    fields.number("repeated", into.repeated);
    fields.list("refused", into.refused, kMostResults, [&](const Json& one, Refusal& refusal) {
      Fields of_one(one, fields.problem());
      of_one.text("id", refusal.id);
      of_one.text("why", refusal.why);
    });
  });
}

std::string encode(const ResultsAnswer& answer) {
  Json refused = Json::array();
  for (const Refusal& one : answer.refused) refused.push_back({{"id", one.id}, {"why", one.why}});
  return dump({{"accepted", answer.accepted},
               {"repeated", answer.repeated},
               {"refused", std::move(refused)}});
}

Result<PushAnswer> decode_push_answer(std::string_view text) {
  return decode<PushAnswer>(text, kMostBytes, [](Fields& fields, PushAnswer& into) {
    fields.number("added", into.added);
    fields.number("known", into.known);
    fields.number("evidence", into.evidence);
    fields.number("repeated", into.repeated);
  });
}

std::string encode(const PushAnswer& answer) {
  return dump({{"added", answer.added},
               {"known", answer.known},
               {"evidence", answer.evidence},
               {"repeated", answer.repeated}});
}

Result<RaceList> decode_race_list(std::string_view text) {
  constexpr size_t kMostRaces = 1000, kMostTitle = 4096;
  return decode<RaceList>(text, kMostBytes, [](Fields& fields, RaceList& into) {
    fields.number("total", into.total);
    fields.list("races", into.races, kMostRaces, [&](const Json& one, RaceRow& row) {
      Fields of_row(one, fields.problem());
      of_row.number("number", row.number);
      of_row.text("id", row.id);
      of_row.text("title", row.title, kMostTitle);
      of_row.text("kind", row.kind);
      of_row.text("where", row.where, kMostTitle);
      of_row.text("verdict", row.verdict);
      of_row.text("basis", row.basis);
      of_row.text("consequence", row.consequence);
      of_row.text("state", row.state);
      of_row.text("owner", row.owner);
      of_row.real("confidence", row.confidence);
      of_row.number("claimed_by", row.claimed_by);
      of_row.number("instances", row.instances);
      of_row.number("first_seen_ms", row.first_seen_ms);
      of_row.number("last_seen_ms", row.last_seen_ms);
    });
  });
}

std::string encode(const RaceList& list) {
  Json races = Json::array();
  for (const RaceRow& row : list.races)
    races.push_back({{"number", row.number},
                     {"id", row.id},
                     {"title", row.title},
                     {"kind", row.kind},
                     {"where", row.where},
                     {"verdict", row.verdict},
                     {"basis", row.basis},
                     {"consequence", row.consequence},
                     {"state", row.state},
                     {"owner", row.owner},
                     {"confidence", row.confidence},
                     {"claimed_by", row.claimed_by},
                     {"instances", row.instances},
                     {"first_seen_ms", row.first_seen_ms},
                     {"last_seen_ms", row.last_seen_ms}});
  return dump({{"total", list.total}, {"races", std::move(races)}});
}

std::string encode(const HookBody& body) {
  return dump({{"id", body.id},
               {"event", body.event},
               {"program", body.program},
               {"number", body.number},
               {"race", body.race},
               {"title", body.title},
               {"where", body.where},
               {"basis", body.basis},
               {"claimed_by", body.claimed_by},
               {"consequence", body.consequence},
               {"owner", body.owner},
               {"at_ms", body.at_ms}});
}

Result<Problem> decode_problem(std::string_view text) {
  constexpr size_t kMostWords = 4096;
  return decode<Problem>(text, kMostBytes, [](Fields& fields, Problem& into) {
    fields.text("error", into.error, kMostWords);
    fields.text("hint", into.hint, kMostWords);
  });
}

std::string encode(const Problem& problem) {
  return dump({{"error", problem.error}, {"hint", problem.hint}});
}

}  // namespace deadheat::hive::api

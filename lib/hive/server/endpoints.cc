// One function per route of the API.
#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "lib/base/text.h"
#include "lib/hive/api/json.h"
#include "lib/hive/server/borrowed.h"
#include "lib/hive/server/credentials.h"
#include "lib/hive/server/moved_json.h"
#include "lib/hive/server/reply.h"
#include "lib/model/json.h"
#include "lib/report/html_part.h"
#include "lib/report/report.h"
#include "lib/report/writers.h"

namespace deadheat::hive::server {
namespace {

using Json = nlohmann::json;

uint64_t number_of(const std::string& text, uint64_t otherwise) {
  if (text.empty() || text.size() > 18 || text.find_first_not_of("0123456789") != std::string::npos)
    return otherwise;
  return std::strtoull(text.c_str(), nullptr, 10);
}

}  // namespace

std::optional<http::Response> Service::jobs(const Caller& caller, const http::Request& request,
                                            http::Turn& turn) {
  const auto poll = api::decode_poll(request.body);
  if (!poll) return bad(poll.error());
  turn.seen = changes_;
  auto answer = Borrowed(*this)->poll(caller.program, caller.who(), poll.value(), now_ms());
  if (!answer) return broken(answer.error());
  if (answer->too_many_instances)
    return problem(429, "too many instances with this token",
                   "give each machine a token of its own");
  const auto wait_ms = int64_t{std::min(poll.value().wait_s, options_.most_wait_s)} * 1000;
  const bool nothing = answer.value().jobs.empty() && answer.value().drop.empty();
  if (nothing && steady_ms() - turn.began_ms < wait_ms) {
    turn.wait_ms = wait_ms;
    if (answer->again) turn.seen = 0;
    watch_elsewhere(caller.program);
    return std::nullopt;
  }
  answer->again_s = again_s(caller.program);
  return ok(api::encode(static_cast<const api::PollAnswer&>(answer.value())));
}

// A fleet too large for unlimited polling asks as often as the hives can bear.
uint32_t Service::again_s(const std::string& program) {
  constexpr int64_t kFresh_ms = 30'000, kActive_ms = 3'600'000;
  const int64_t now = steady_ms();
  {
    const std::lock_guard lock(mutex_);
    const auto known = fleets_.find(program);
    if (known != fleets_.end() && now - known->second.second < kFresh_ms)
      return pace(known->second.first);
  }
  auto counted = Borrowed(*this)->fleet_size(program, now_ms() - kActive_ms);
  const int64_t instances = counted ? counted.value() : 0;
  const std::lock_guard lock(mutex_);
  fleets_[program] = {instances, now};
  return pace(instances);
}

uint32_t Service::pace(int64_t instances) const {
  const double each_s = static_cast<double>(instances) / options_.polls_per_s;
  return each_s > options_.most_wait_s ? static_cast<uint32_t>(std::min(each_s, 3600.0)) : 0;
}

http::Response Service::results(const Caller& caller, const http::Request& request) {
  const auto sent = api::decode_results(request.body);
  if (!sent) return bad(sent.error());
  auto answer = Borrowed(*this)->add_results(caller.program, caller.who(), sent.value(), now_ms());
  if (!answer) return broken(answer.error());
  results_ += answer.value().accepted;
  // Most results change nothing for others; a parked question would look again for nothing, and of
  // a large fleet most questions are parked.
  if (answer.value().news) ++changes_;
  return ok(api::encode(static_cast<const api::ResultsAnswer&>(answer.value())));
}

http::Response Service::push(const Caller& caller, const http::Request& request) {
  const auto file = model::from_json(request.body);
  if (!file) return bad(file.error());
  const std::string scan_of = request.parameter("scan_of");
  if (scan_of.size() > api::kMostText) return problem(400, "scan_of: too long");
  if (!scan_of.empty() && file.value().findings.empty())
    return problem(400, "a scan that lists nothing would close every race",
                   "push without --scan-of, or close races by hand");
  auto answer =
      Borrowed(*this)->push(caller.program, caller.who(), file.value(), now_ms(), scan_of);
  if (!answer) return broken(answer.error());
  ++changes_;
  return ok(api::encode(answer.value()));
}

http::Response Service::list(const Caller& caller, const http::Request& request) {
  store::RaceQuery query;
  query.verdict = request.parameter("verdict");
  query.state = request.parameter("state");
  query.text = request.parameter("text").substr(0, api::kMostText);
  query.sort = request.parameter("sort");
  query.offset = number_of(request.parameter("offset"), 0);
  query.limit = number_of(request.parameter("limit"), query.limit);
  if (const Status ended = Borrowed(*this)->end_suppressions(caller.program, now_ms()); !ended)
    return broken(ended.error());
  auto answer = Borrowed(*this)->races(caller.program, query);
  if (!answer) return broken(answer.error());
  return ok(api::encode(answer.value()));
}

http::Response Service::show(const Caller& caller, const http::Request& request) {
  auto race =
      Borrowed(*this)->race(caller.program, number_of(last_part(request.path), UINT64_MAX >> 1));
  if (!race) return broken(race.error());
  if (!race.value()) return problem(404, "no such race", "/api/v1/findings lists them");
  const store::Race& found = *race.value();
  api::RaceList row;
  row.races.push_back(found.row);
  model::FindingsFile file;
  file.findings.push_back(found.finding);
  Json history = Json::array(), over_time = Json::array();
  for (const store::RaceEvent& event : found.history)
    history.push_back({{"at_ms", event.at_ms},
                       {"what", event.what},
                       {"detail", event.detail},
                       {"who", event.who}});
  for (const store::EvidenceCount& one : found.over_time)
    over_time.push_back({{"at_ms", one.at_ms}, {"outcome", one.outcome}, {"count", one.count}});
  const report::Report shown = report::build_report(file, {});
  // Races between processes that did no harm are no entries of a report.
  const auto& entries = shown.entries.empty() ? shown.harmless : shown.entries;
  return ok(Json{{"race", Json::parse(api::encode(row))["races"][0]},
                 {"reason", found.reason},
                 {"until_ms", found.until_ms},
                 {"findings", Json::parse(model::to_json(file), nullptr, false)},
                 {"text", report::write_text(shown, {})},
                 {"html", entries.empty() ? "" : report::html_finding(entries[0], "race")},
                 {"over_time", std::move(over_time)},
                 {"history", std::move(history)}});
}

http::Response Service::edit(const Caller& caller, const http::Request& request) {
  const auto edit = api::decode_edit(request.body);
  if (!edit) return bad(edit.error());
  auto done =
      Borrowed(*this)->edit(caller.program, number_of(last_part(request.path), UINT64_MAX >> 1),
                            caller.who(), edit.value(), now_ms());
  if (!done) return broken(done.error());
  if (!done.value()) return problem(404, "no such race", "/api/v1/findings lists them");
  ++changes_;
  return ok(std::string("{}"));
}

http::Response Service::all(const Caller& caller, const http::Request& request) {
  if (!request.parameter("people").empty()) {
    auto races = Borrowed(*this)->moved(caller.program);
    if (!races) return broken(races.error());
    return ok(encode_moved(races.value()));
  }
  auto file = Borrowed(*this)->all_findings(caller.program);
  if (!file) return broken(file.error());
  return ok(model::to_json(file.value()));
}

http::Response Service::fleet(const Caller& caller, const http::Request&) {
  constexpr size_t kMost = 1000;
  auto all = Borrowed(*this)->instances(caller.program, kMost);
  if (!all) return broken(all.error());
  Json list = Json::array();
  for (const store::Instance& one : all.value())
    list.push_back({{"instance", one.id},
                    {"credential", one.credential},
                    {"build_id", one.build_id},
                    {"version", one.version},
                    {"spent_ppm", one.spent_ppm},
                    {"budget_ppm", one.budget_ppm},
                    {"dropped", one.dropped},
                    {"jobs", one.jobs},
                    {"timeouts", one.timeouts},
                    {"in_flight", one.in_flight},
                    {"first_seen_ms", one.first_ms},
                    {"last_seen_ms", one.last_ms}});
  return ok(Json{{"instances", std::move(list)}});
}

http::Response Service::trends(const Caller& caller, const http::Request&) {
  constexpr size_t kPoints = 200;
  auto points = Borrowed(*this)->trend(caller.program, kPoints);
  if (!points) return broken(points.error());
  Json list = Json::array();
  for (const store::TrendPoint& point : points.value())
    list.push_back(
        {{"at_ms", point.at_ms}, {"open", point.open}, {"true_races", point.true_races}});
  return ok(Json{{"points", std::move(list)}});
}

http::Response Service::status(const Caller& caller, const http::Request& request) {
  auto totals = Borrowed(*this)->totals(caller.program, !request.parameter("brief").empty());
  if (!totals) return broken(totals.error());
  return ok(Json{{"program", caller.program},
                 {"role", name(caller.token.role)},
                 {"races", totals->races},
                 {"true_races", totals->true_races},
                 {"proved", totals->proved},
                 {"likely_false", totals->likely_false},
                 {"unknown", totals->unknown},
                 {"evidence", totals->evidence},
                 {"instances", totals->instances},
                 {"jobs_in_flight", totals->jobs_in_flight}});
}

http::Response Service::tokens(const Caller& caller, const http::Request&) {
  auto all = Borrowed(*this)->tokens(caller.program);
  if (!all) return broken(all.error());
  Json list = Json::array();
  for (const store::Token& token : all.value())
    list.push_back({{"id", token.id},
                    {"role", name(token.role)},
                    {"trusted", token.trusted},
                    {"label", token.label},
                    {"created_ms", token.created_ms},
                    {"expires_ms", token.expires_ms},
                    {"revoked_ms", token.revoked_ms}});
  return ok(Json{{"tokens", std::move(list)}});
}

http::Response Service::add_token(const Caller& caller, const http::Request& request) {
  if (const Status measured = api::measure(request.body); !measured) return bad(measured.error());
  const Json asked = Json::parse(request.body, nullptr, false);
  if (!asked.is_object()) return problem(400, "an object is expected");
  const auto text = [&](const char* key) {
    const auto found = asked.find(key);
    return found != asked.end() && found->is_string()
               ? found->get<std::string>().substr(0, api::kMostText)
               : std::string();
  };
  const auto role = store::parse_role(text("role"));
  if (!role) return problem(400, "role: agent, developer or admin is expected");
  if (!is_program_name(caller.program)) return problem(400, "this is no name of a program");
  const bool trusted = asked.contains("trusted") && asked["trusted"] == true;
  const NewToken token = make_token(caller.program, *role, trusted, text("label"), now_ms(), 0);
  const Status added = Borrowed(*this)->add_token(token.stored, caller.token.id, now_ms());
  if (!added) return broken(added.error());
  return ok(Json{{"token", token.text}, {"id", token.stored.id}});
}

http::Response Service::revoke(const Caller& caller, const http::Request& request) {
  auto done =
      Borrowed(*this)->revoke(caller.program, last_part(request.path), caller.token.id, now_ms());
  if (!done) return broken(done.error());
  if (!done.value()) return problem(404, "no such token, or revoked already");
  ++changes_;
  return ok(std::string("{}"));
}

http::Response Service::audit(const Caller& caller, const http::Request&) {
  constexpr size_t kMost = 1000;
  auto all = Borrowed(*this)->audit(caller.program, kMost);
  if (!all) return broken(all.error());
  Json list = Json::array();
  for (const store::AuditEntry& entry : all.value())
    list.push_back({{"at_ms", entry.at_ms},
                    {"who", entry.who},
                    {"what", entry.what},
                    {"detail", entry.detail}});
  return ok(Json{{"audit", std::move(list)}});
}

http::Response Service::metrics(const Caller& caller, const http::Request&) {
  auto totals = Borrowed(*this)->totals(caller.program);
  if (!totals) return broken(totals.error());
  std::string text;
  const auto add = [&](const std::string& name, const char* type, int64_t value,
                       const std::string& labels = "") {
    if (text.find("# TYPE deadheat_hive_" + name + " ") == std::string::npos)
      text += "# TYPE deadheat_hive_" + name + " " + type + "\n";
    text += "deadheat_hive_" + name + "{program=\"" + caller.program + "\"" + labels + "} " +
            std::to_string(value) + "\n";
  };
  add("races", "gauge", totals->true_races, ",verdict=\"true_race\"");
  add("races", "gauge", totals->likely_false, ",verdict=\"likely_false_positive\"");
  add("races", "gauge", totals->unknown, ",verdict=\"unknown\"");
  add("proved_races", "gauge", totals->proved);
  add("evidence", "gauge", totals->evidence);
  add("instances", "gauge", totals->instances);
  add("jobs_in_flight", "gauge", totals->jobs_in_flight);
  add("requests_total", "counter", static_cast<int64_t>(requests_.load()));
  add("refused_total", "counter", static_cast<int64_t>(refused_.load()));
  add("results_total", "counter", static_cast<int64_t>(results_.load()));
  http::Response response = ok(std::move(text));
  response.type = "text/plain; version=0.0.4";
  return response;
}

}  // namespace deadheat::hive::server

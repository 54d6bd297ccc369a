// Jobs are leased: one race, one instance, one order, for a time. Expired ones go to another
// instance; proved ones are revoked at the next poll.
#include <algorithm>

#include "lib/base/text.h"
#include "lib/hive/store/statements.h"
#include "lib/hive/store/store.h"
#include "lib/model/enum_names.h"

namespace deadheat::hive::store {
namespace {

constexpr int kOffers = 16;

class Desk {
 public:
  Desk(Transaction& on, const std::string& program, const Who& who, const api::Poll& poll,
       const Settings& settings, Averages& averages, Random& random, int64_t now_ms)
      : on_(on),
        program_(program),
        who_(who),
        poll_(poll),
        settings_(settings),
        averages_(averages),
        random_(random),
        now_ms_(now_ms) {}

  Polled serve() {
    if (!meet()) {
      answer_.too_many_instances = !on_.failed();
      return std::move(answer_);
    }
    expire();
    const int64_t kept = look_at_held();
    const int64_t most = std::min<int64_t>(poll_.room, 16);
    if (kept < most && !is_overloaded())
      for (int64_t i = kept; i < most && lease(); ++i) {
      }
    return std::move(answer_);
  }

 private:
  // An agent knows the build, not its version; the hive has that with the build.
  std::string version() {
    if (!poll_.version.empty() || poll_.build_id.empty()) return poll_.version;
    const auto rows = on_.run("SELECT version FROM builds WHERE program=$1 AND build_id=$2",
                              {program_, poll_.build_id});
    return rows.empty() ? "" : rows[0].text(0);
  }

  // False: the credential stands for too many instances already. What the fleet is asked to bear,
  // and how often it may ask, is counted by instance; names cost nothing, so that one credential
  // could otherwise slow everybody down.
  bool meet() {
    constexpr int64_t kActive_ms = 3'600'000;
    const auto known =
        on_.run("SELECT 1 FROM instances WHERE program=$1 AND credential=$2 AND id=$3",
                {program_, who_.credential, poll_.instance});
    if (known.empty()) {
      const auto others = on_.run(
          "SELECT count(*) FROM instances WHERE program=$1 AND credential=$2 AND last_ms>=$3",
          {program_, who_.credential, now_ms_ - kActive_ms});
      if (on_.failed() || others[0].number(0) >= settings_.most_instances) return false;
    }
    on_.run(
        "INSERT INTO instances(program,credential,id,build_id,version,spent_ppm,dropped,jobs,"
        "timeouts,first_ms,last_ms,budget_ppm) VALUES($1,$2,$3,$4,$5,$6,$7,0,0,$8,$8,$9) ON "
        "CONFLICT(program, credential, id) DO UPDATE SET build_id=$4, version=$5, spent_ppm=$6, "
        "dropped=$7, last_ms=$8, budget_ppm=$9",
        {program_, who_.credential, poll_.instance, poll_.build_id, version(),
         std::min<int64_t>(poll_.spent_ppm, 1'000'000),
         static_cast<int64_t>(poll_.dropped & INT64_MAX), now_ms_, int64_t{poll_.budget_ppm}});
    return !on_.failed();
  }

  // Ends a lease once: a result, or another question of the same instance, may try the same at
  // another hive. The race's turn goes back by what the lease had cost, so that it is given out
  // again soon.
  void end_lease(const std::string& id, const char* how, int64_t number, double stride) {
    if (on_.run("UPDATE jobs SET state=$3 WHERE program=$1 AND id=$2 AND state='leased' "
                "RETURNING 1",
                {program_, id, std::string(how)})
            .empty())
      return;
    on_.run(
        "UPDATE races SET holders=CASE WHEN holders>0 THEN holders-1 ELSE 0 END, turn=turn-$3 "
        "WHERE program=$1 AND number=$2",
        {program_, number, stride});
  }

  // So many in one poll: that bounds its time after an outage.
  void expire() {
    const std::string locks = on_.postgres() ? " FOR UPDATE SKIP LOCKED" : "";
    for (const Row& row : on_.run("SELECT id, number, stride FROM jobs WHERE program=$1 AND "
                                  "state='leased' AND expires_ms<$2 LIMIT 100" +
                                      locks,
                                  {program_, now_ms_}))
      end_lease(row.text(0), "expired", row.number(1), row.real(2));
  }

  // Leases that the instance still has are renewed; the others are listed, to be dropped. A lease
  // recorded here that the instance does not hold (it was restarted) becomes free again.
  int64_t look_at_held() {
    int64_t kept = 0;
    for (const Row& row : on_.run(
             "SELECT j.id, j.number, j.stride, r.proved, r.state, r.control FROM jobs j JOIN races "
             "r ON "
             "r.program=j.program AND r.number=j.number WHERE j.program=$1 AND j.credential=$2 AND "
             "j.instance=$3 AND j.state='leased'",
             {program_, who_.credential, poll_.instance})) {
      const bool holds =
          std::find(poll_.holding.begin(), poll_.holding.end(), row.text(0)) != poll_.holding.end();
      const bool over = row.text(5).empty() && (row.number(3) != 0 || row.text(4) != "open");
      if (holds && !over) {
        on_.run("UPDATE jobs SET expires_ms=$3 WHERE program=$1 AND id=$2",
                {program_, row.text(0), now_ms_ + settings_.lease_ms});
        kept_.push_back(row.text(0));
        ++kept;
        continue;
      }
      end_lease(row.text(0), over ? "dropped" : "lost", row.number(1), over ? 0 : row.real(2));
    }
    for (const std::string& id : poll_.holding)
      if (std::find(kept_.begin(), kept_.end(), id) == kept_.end()) answer_.drop.push_back(id);
    return kept;
  }

  bool is_overloaded() {
    const auto mine = on_.run(
        "SELECT spent_ppm, jobs, timeouts FROM instances WHERE program=$1 AND credential=$2 AND "
        "id=$3",
        {program_, who_.credential, poll_.instance});
    if (mine.empty() || (mine[0].number(0) == 0 && mine[0].number(2) == 0)) return false;
    const crowd::Load load = {mine[0].real(0), mine[0].real(1), mine[0].real(2)};
    // Left alone most of the time, not for ever: averages change only if somebody works.
    return crowd::overloaded(load, average()) && !random_.chance(0.25);
  }

  // Of the credentials' averages, so that one with many instances is one voice. It looks at the
  // whole fleet: not at every question.
  crowd::Load average() {
    constexpr int64_t kFresh_ms = 30'000;
    constexpr int kUses = 200;
    Average& known = averages_[program_];
    if (--known.uses_left > 0 && std::abs(now_ms_ - known.counted_ms) < kFresh_ms)
      return known.load;
    const auto all = on_.run(
        "SELECT avg(spent), avg(given), avg(late) FROM (SELECT avg(spent_ppm) AS spent, avg(jobs) "
        "AS given, avg(timeouts) AS late FROM instances WHERE program=$1 GROUP BY credential) c",
        {program_});
    if (all.empty()) return {};
    known = {{all[0].real(0), all[0].real(1), all[0].real(2)}, now_ms_, kUses};
    return known.load;
  }

  bool lease() {
    if (!controls_) {
      const auto any =
          on_.run("SELECT 1 FROM races WHERE program=$1 AND control<>'' LIMIT 1", {program_});
      controls_ = !any.empty();
    }
    if (*controls_ && random_.chance(settings_.policy.controls) && lease_control()) return true;
    // Others may take the same offers meanwhile: those that are still there are looked at again.
    constexpr int kRounds = 4;
    for (int i = 0; i < kRounds && !on_.failed(); ++i) {
      std::vector<Row> rows = offers_now();
      if (rows.empty()) return false;
      if (take_one(std::move(rows))) return !on_.failed();
      if (!on_.postgres()) return false;
    }
    answer_.again = true;
    return false;
  }

  std::vector<Row> offers_now() {
    std::vector<Row> rows = offered(
        "races r LEFT JOIN tried t ON t.program=r.program AND t.number=r.number AND "
        "t.credential=$2 AND t.instance=$3",
        "", {});
    // A trusted credential answers claims first; the others go on with what they exercised.
    if (who_.trusted || rows.empty()) return rows;
    std::vector<Row> begun = offered(
        "tried t JOIN races r ON r.program=t.program AND r.number=t.number",
        "t.program=$1 AND t.credential=$2 AND t.instance=$3 AND ((t.tau_primary>$4 AND "
        "t.done_primary=0) OR (t.tau_alternate>$4 AND t.done_alternate=0) OR (r.promoted=1 AND "
        "t.tau_primary+t.tau_alternate>0)) AND r.turn<=$5 AND ",
        {int64_t{settings_.policy.first_us}, rows[0].real(14) + settings_.policy.ahead});
    return begun.empty() ? rows : begun;
  }

  // The first of them that nobody else takes at this moment.
  bool take_one(std::vector<Row> rows) {
    while (!rows.empty()) {
      std::vector<crowd::Offer> offers;
      std::vector<crowd::Tried> tried;
      for (const Row& row : rows) {
        offers.push_back(offer_of(row));
        tried.push_back(tried_of(row));
      }
      const auto choice = crowd::choose(offers, tried, settings_.policy, random_);
      if (!choice) return false;
      const Row& chosen = rows[choice->index];
      if (hold(chosen)) {
        give(offers[choice->index], *choice, chosen.number(6) != 0);
        return true;
      }
      rows.erase(rows.begin() + static_cast<std::ptrdiff_t>(choice->index));
    }
    return false;
  }

  // The offer is still as it was read, and is ours until the end of the transaction. One row is
  // locked, not all that were looked at: a lock is a write.
  bool hold(const Row& offer) {
    if (!on_.postgres()) return true;
    return !on_.run(
                   "SELECT 1 FROM races WHERE program=$1 AND number=$2 AND turn=$3 AND proved=0 "
                   "AND state='open' AND control='' FOR UPDATE SKIP LOCKED",
                   {program_, offer.number(0), offer.real(14)})
                .empty();
  }

  static crowd::Offer offer_of(const Row& row) {
    crowd::Offer offer;
    offer.number = static_cast<uint64_t>(row.number(0));
    offer.state =
        model::parse_name<model::VerdictState>(row.text(1)).value_or(model::VerdictState::kUnknown);
    offer.severe = row.text(3) != "none";
    offer.promoted = row.number(6) != 0;
    offer.confidence = row.real(13);
    offer.answered[0] = static_cast<uint64_t>(row.number(4));
    offer.answered[1] = static_cast<uint64_t>(row.number(5));
    return offer;
  }

  static crowd::Tried tried_of(const Row& row) {
    crowd::Tried mine;
    for (size_t side = 0; side < 2; ++side) {
      mine.tau_us[side] = static_cast<uint32_t>(row.number(7 + side));
      mine.tries[side] = static_cast<uint32_t>(row.number(9 + side));
      mine.done[side] = row.number(11 + side) != 0;
    }
    return mine;
  }

  // Races that the instance can do something about, by turn; `which` ends in AND. The limit is part
  // of the text: PostgreSQL plans for a tenth of the table if it is a parameter, and sorts it all.
  std::vector<Row> offered(const std::string& from, const std::string& which,
                           const std::vector<Value>& more) {
    std::vector<Value> values = {program_, who_.credential, poll_.instance};
    values.insert(values.end(), more.begin(), more.end());
    return on_.run(
        "SELECT r.number, r.verdict, r.proved, r.consequence, r.answered_primary, "
        "r.answered_alternate, r.promoted, t.tau_primary, t.tau_alternate, t.tries_primary, "
        "t.tries_alternate, t.done_primary, t.done_alternate, r.confidence, r.turn FROM " +
            from + " WHERE " + which +
            "r.program=$1 AND r.proved=0 AND r.state='open' AND r.control='' AND r.kind IN "
            "('data_race','collision') AND NOT (coalesce(t.done_primary,0)=1 AND "
            "coalesce(t.done_alternate,0)=1) AND NOT EXISTS (SELECT 1 FROM jobs j WHERE "
            "j.program=$1 AND j.credential=$2 AND j.instance=$3 AND j.state='leased' AND "
            "j.number=r.number) ORDER BY " +
            std::string(who_.trusted ? "CASE WHEN r.verdict='true_race' THEN 0 ELSE 1 END, " : "") +
            "r.turn, r.shuffle LIMIT " + std::to_string(kOffers),
        values);
  }

  // A random one, as if it were new here: the first tau, either order.
  bool lease_control() {
    const auto rows = on_.run(
        "SELECT r.number FROM races r WHERE r.program=$1 AND r.control<>'' AND NOT EXISTS (SELECT "
        "1 "
        "FROM jobs j WHERE j.program=$1 AND j.credential=$2 AND j.instance=$3 AND j.state='leased' "
        "AND j.number=r.number) ORDER BY r.turn, r.shuffle LIMIT 1" +
            std::string(on_.postgres() ? " FOR UPDATE OF r SKIP LOCKED" : ""),
        {program_, who_.credential, poll_.instance});
    if (rows.empty()) return false;
    crowd::Offer offer;
    offer.number = static_cast<uint64_t>(rows[0].number(0));
    crowd::Choice choice;
    choice.order = random_.chance(0.5) ? model::Order::kAlternate : model::Order::kPrimary;
    choice.tau_us = settings_.policy.first_us +
                    static_cast<uint32_t>(random_.below(4)) * settings_.policy.step_us;
    give(offer, choice, false);
    return !on_.failed();
  }

  void give(const crowd::Offer& offer, const crowd::Choice& choice, bool promoted) {
    const auto number = static_cast<int64_t>(offer.number);
    const auto race =
        on_.run("SELECT document FROM races WHERE program=$1 AND number=$2", {program_, number});
    auto finding = race.empty() ? std::nullopt : from_document(race[0].text(0));
    if (!finding) return on_.fail({"race " + std::to_string(number) + " cannot be read", ""});
    api::Job job;
    job.id = hex(random_.next()).substr(2) + hex(random_.next()).substr(2);
    job.number = offer.number;
    job.candidate = std::move(finding->candidate);
    job.order = choice.order;
    job.tau_us = choice.tau_us;
    job.last_tau = choice.last_tau;
    job.lease_s = static_cast<uint32_t>(settings_.lease_ms / 1000);
    job.promoted = promoted;
    const double stride = crowd::stride(offer, settings_.policy);
    on_.run("INSERT INTO jobs VALUES($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,'leased')",
            {program_, job.id, number, who_.credential, poll_.instance,
             std::string(model::name(job.order)), int64_t{job.tau_us}, stride, now_ms_,
             now_ms_ + settings_.lease_ms});
    on_.run(
        "UPDATE races SET holders=holders+1, turn=turn+$3, shuffle=$4 WHERE program=$1 AND "
        "number=$2",
        {program_, number, stride, static_cast<int64_t>(random_.next() >> 1)});
    on_.run("UPDATE instances SET jobs=jobs+1 WHERE program=$1 AND credential=$2 AND id=$3",
            {program_, who_.credential, poll_.instance});
    answer_.jobs.push_back(std::move(job));
  }

  Transaction& on_;
  const std::string& program_;
  const Who& who_;
  const api::Poll& poll_;
  const Settings& settings_;
  Averages& averages_;
  Random& random_;
  int64_t now_ms_;
  Polled answer_;
  std::vector<std::string> kept_;
  std::optional<bool> controls_;  // whether there are any
};

}  // namespace

Result<Polled> Store::poll(const std::string& program, const Who& who, const api::Poll& poll,
                           int64_t now_ms) {
  if (const Status ended = end_suppressions(program, now_ms); !ended) return ended.error();
  return retried(*connection_, [&] { return poll_once(program, who, poll, now_ms); });
}

Result<Polled> Store::poll_once(const std::string& program, const Who& who, const api::Poll& poll,
                                int64_t now_ms) {
  Transaction on(*connection_);
  Polled answer = Desk(on, program, who, poll, settings, averages_, random_, now_ms).serve();
  if (const Status committed = on.commit(); !committed) return committed.error();
  return answer;
}

// Offers depend on races and their states, which have a history, on what people do, which is in the
// audit log, and on the instance's own answers. Of the history only the last minutes are counted:
// the clocks of several hives do not differ by more, and what leaves them makes a question look
// once more for nothing.
Result<std::string> Store::change_mark(const std::string& program, int64_t now_ms) {
  constexpr int64_t kRecent_ms = 600'000;
  Statements on(*connection_);
  const auto rows = on.run(
      "SELECT next_audit, (SELECT count(*) FROM history WHERE program=$1 AND at_ms>=$2) FROM "
      "programs WHERE program=$1",
      {program, now_ms - kRecent_ms});
  if (on.failed()) return on.error();
  return rows.empty() ? std::string() : rows[0].text(0) + " " + rows[0].text(1);
}

}  // namespace deadheat::hive::store

// Stores answers. Only answers that a credential was asked for are accepted, however late: an agent
// cannot answer about races that it was not given.
#include <set>

#include "lib/hive/store/statements.h"
#include "lib/hive/store/store.h"
#include "lib/model/enum_names.h"

namespace deadheat::hive::store {
namespace {

class Clerk {
 public:
  Clerk(Transaction& on, const std::string& program, const Who& who, const std::string& instance,
        const Settings& settings, int64_t now_ms)
      : on_(on),
        program_(program),
        who_(who),
        instance_(instance),
        settings_(settings),
        now_ms_(now_ms) {}

  void take(const api::JobResult& result) {
    const auto job = on_.run(
        "SELECT number, ord, tau_us, state, stride FROM jobs WHERE program=$1 AND id=$2 AND "
        "credential=$3 AND instance=$4",
        {program_, result.job, who_.credential, instance_});
    if (on_.failed()) return;
    if (job.empty() || job[0].number(0) != static_cast<int64_t>(result.number)) {
      answer.refused.push_back({result.id, "the hive did not ask this instance for it"});
      return;
    }
    if (!keep(result, job[0])) {
      ++answer.repeated;
      return;
    }
    ++answer.accepted;
    if (result.outcome == model::Outcome::kRace)
      reopen(on_, program_, job[0].number(0), who_.credential, version(), now_ms_);
    // What the execution did afterwards is no further try.
    const bool afterwards =
        job[0].text(3) == "done" && result.consequence != model::ConsequenceKind::kNone;
    if (!afterwards) learn(result, job[0]);
    if (result.promoted) promote(job[0].number(0));
    // Unless the lease ended meanwhile, perhaps at another hive.
    if (!on_.run("UPDATE jobs SET state='done' WHERE program=$1 AND id=$2 AND state='leased' "
                 "RETURNING 1",
                 {program_, result.job})
             .empty()) {
      if (result.outcome == model::Outcome::kNotSeen) give_back(job[0]);
      on_.run(
          "UPDATE races SET holders=CASE WHEN holders>0 THEN holders-1 ELSE 0 END WHERE program=$1 "
          "AND number=$2",
          {program_, job[0].number(0)});
    }
    // Most answers of a fleet are NotSeen; no verdict depends on them.
    if (result.outcome != model::Outcome::kNotSeen) touched.insert(job[0].number(0));
  }

  api::ResultsAnswer answer;
  std::set<int64_t> touched;

 private:
  // That the instance runs.
  std::string version() {
    const auto rows =
        on_.run("SELECT version FROM instances WHERE program=$1 AND credential=$2 AND id=$3",
                {program_, who_.credential, instance_});
    return rows.empty() ? "" : rows[0].text(0);
  }

  // False: it is there already.
  bool keep(const api::JobResult& result, const Row& job) {
    // The largest tau is the hive's word; an agent whose own limit is lower did not try it.
    const bool maximum = result.outcome == model::Outcome::kTimeout &&
                         job.number(2) >= int64_t{settings_.policy.most_us} &&
                         int64_t{result.tau_us} >= job.number(2);
    const auto added = on_.run(
        "INSERT INTO evidence VALUES($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12,$13,$14,$15,NULL) "
        "ON CONFLICT DO NOTHING RETURNING id",
        {program_, who_.credential, result.id, job.number(0), instance_,
         int64_t{crowd::execution_slot(instance_ + "/" + result.execution, settings_.rules)},
         std::string(model::name(result.outcome)), std::string(model::name(result.proof)),
         std::string(model::name(result.order)), std::string(model::name(result.ordered)),
         int64_t{maximum}, std::string(model::name(result.consequence)), job.number(2),
         int64_t{result.waited_us}, now_ms_});
    return !added.empty();
  }

  // The first time that the sites met anywhere changes what earlier answers are worth
  // (crowd::judge), and the race is asked for at once.
  void promote(int64_t number) {
    const auto first = on_.run(
        "UPDATE races SET promoted=1 WHERE program=$1 AND number=$2 AND promoted=0 RETURNING "
        "number",
        {program_, number});
    if (first.empty()) return;
    join_queue(on_, program_, number);
    touched.insert(number);
  }

  void give_back(const Row& job) {
    on_.run("UPDATE races SET turn=turn-$3 WHERE program=$1 AND number=$2 AND promoted=1",
            {program_, job.number(0), job.real(4) * settings_.policy.unseen_back});
  }

  void learn(const api::JobResult& result, const Row& job) {
    const int64_t number = job.number(0);
    const auto order =
        model::parse_name<model::Order>(job.text(1)).value_or(model::Order::kPrimary);
    const auto old = on_.run(
        "SELECT tau_primary, tau_alternate, tries_primary, tries_alternate, done_primary, "
        "done_alternate FROM tried WHERE program=$1 AND number=$2 AND credential=$3 AND "
        "instance=$4",
        {program_, number, who_.credential, instance_});
    crowd::Tried tried;
    for (size_t side = 0; side < 2 && !old.empty(); ++side) {
      tried.tau_us[side] = static_cast<uint32_t>(old[0].number(side));
      tried.tries[side] = static_cast<uint32_t>(old[0].number(2 + side));
      tried.done[side] = old[0].number(4 + side) != 0;
    }
    tried = crowd::after(tried, order, static_cast<uint32_t>(job.number(2)), result.outcome,
                         settings_.policy);
    on_.run(
        "INSERT INTO tried VALUES($1,$2,$3,$4,$5,$6,$7,$8,$9,$10) ON CONFLICT(program, number, "
        "credential, instance) DO UPDATE SET tau_primary=$5, tau_alternate=$6, tries_primary=$7, "
        "tries_alternate=$8, done_primary=$9, done_alternate=$10",
        {program_, number, who_.credential, instance_, int64_t{tried.tau_us[0]},
         int64_t{tried.tau_us[1]}, int64_t{tried.tries[0]}, int64_t{tried.tries[1]},
         int64_t{tried.done[0]}, int64_t{tried.done[1]}});
    const bool alternate = order == model::Order::kAlternate;
    on_.run(
        "UPDATE races SET answered_primary=answered_primary+$3, "
        "answered_alternate=answered_alternate+$4, last_ms=$5, instances=instances+$6 WHERE "
        "program=$1 AND number=$2",
        {program_, number, int64_t{!alternate}, int64_t{alternate}, now_ms_, int64_t{old.empty()}});
    if (result.outcome == model::Outcome::kTimeout)
      on_.run(
          "UPDATE instances SET timeouts=timeouts+1 WHERE program=$1 AND credential=$2 AND id=$3",
          {program_, who_.credential, instance_});
  }

  Transaction& on_;
  const std::string& program_;
  const Who& who_;
  const std::string& instance_;
  const Settings& settings_;
  int64_t now_ms_;
};

}  // namespace

Result<Kept> Store::add_results(const std::string& program, const Who& who,
                                const api::Results& results, int64_t now_ms) {
  return retried(*connection_, [&] { return add_results_once(program, who, results, now_ms); });
}

Result<Kept> Store::add_results_once(const std::string& program, const Who& who,
                                     const api::Results& results, int64_t now_ms) {
  Transaction on(*connection_);
  hold_token(on, program, who);
  Clerk clerk(on, program, who, results.instance, settings, now_ms);
  for (const api::JobResult& result : results.results) clerk.take(result);
  for (const int64_t number : clerk.touched)
    judge_again(on, program, number, settings.rules, random_, now_ms);
  if (const Status committed = on.commit(); !committed) return committed.error();
  return Kept{std::move(clerk.answer), on.news()};
}

}  // namespace deadheat::hive::store

// Stores findings: matches each with a race of the program and adds its evidence. Also judges.
//
// A finding is compared (model::add_finding, which alone decides sameness) with the races that
// share a key with it: display id, exact key, or the lines of its places. A race that shares none
// although it is the same (moved and edited at once) becomes a second row; nothing is ever merged
// wrongly.
#include <algorithm>
#include <map>
#include <set>

#include "lib/base/text.h"
#include "lib/hive/store/statements.h"
#include "lib/hive/store/store.h"
#include "lib/model/enum_names.h"
#include "lib/model/identity.h"

namespace deadheat::hive::store {
namespace {

constexpr size_t kMostCompared = 64;
constexpr size_t kMostLine = 1000;

std::string shortened(std::string text) {
  if (text.size() > kMostLine) text.resize(kMostLine);
  return text;
}

std::vector<std::string> keys_of(const model::Candidate& candidate) {
  std::set<std::string> keys = {"id " + model::display_id(candidate)};
  if (const std::string exact = model::exact_key(candidate); !exact.empty())
    keys.insert("exact " + hex(stable_hash(exact)));
  std::vector<std::string> places;
  for (const model::Role& role : candidate.roles) {
    const model::Site& site = role.site;
    places.push_back(site.file.substr(site.file.rfind('/') + 1) + ":" + std::to_string(site.line));
  }
  std::sort(places.begin(), places.end());
  if (std::all_of(candidate.roles.begin(), candidate.roles.end(),
                  [](const model::Role& role) { return role.site.line != 0; }))
    keys.insert(shortened("lines " + join(places, " ")));
  return {keys.begin(), keys.end()};
}

std::string place_of(const model::Candidate& candidate) {
  std::vector<std::string> places;
  for (const model::Role& role : candidate.roles) places.push_back(model::describe(role.site));
  return shortened(join(places, ", "));
}

class Pusher {
 public:
  Pusher(Transaction& on, const std::string& program, const Who& who, const std::string& version,
         Random& random, int64_t now_ms)
      : on_(on),
        program_(program),
        who_(who),
        version_(version),
        owners_(owners_of(on, program)),
        random_(random),
        now_ms_(now_ms) {}

  int64_t push(const model::Finding& finding) {
    model::Finding merged;
    int64_t number = known_race(finding, merged);
    if (number == 0) {
      merged = finding;
      number = add_race(finding);
      ++answer.added;
    } else {
      ++answer.known;
    }
    for (const model::Evidence& e : merged.evidence) add_evidence(number, merged.candidate, e);
    touched.insert(number);
    return number;
  }

  api::PushAnswer answer;
  std::set<int64_t> touched;

 private:
  // The race that this finding is, and the finding with its roles in the race's order. 0: none.
  int64_t known_race(const model::Finding& finding, model::Finding& merged) {
    std::set<int64_t> numbers;
    for (const std::string& key : keys_of(finding.candidate))
      for (const Row& row :
           on_.run("SELECT number FROM race_keys WHERE program=$1 AND name=$2 LIMIT 64",
                   {program_, key}))
        if (numbers.size() < kMostCompared) numbers.insert(row.number(0));
    for (const int64_t number : numbers) {
      const auto row =
          on_.run("SELECT document FROM races WHERE program=$1 AND number=$2", {program_, number});
      auto known = row.empty() ? std::nullopt : from_document(row[0].text(0));
      if (!known) continue;
      model::FindingsFile file;
      file.findings.push_back(*known);
      model::add_finding(file, finding);
      if (file.findings.size() != 1) continue;
      merged = std::move(file.findings[0]);
      if (merged.candidate != known->candidate || merged.suspicions != known->suspicions)
        learn(number, merged);
      return number;
    }
    return 0;
  }

  void add_keys(int64_t number, const model::Candidate& candidate) {
    for (const std::string& key : keys_of(candidate))
      on_.run("INSERT INTO race_keys VALUES($1,$2,$3) ON CONFLICT DO NOTHING",
              {program_, key, number});
  }

  void learn(int64_t number, const model::Finding& finding) {
    const model::Candidate& candidate = finding.candidate;
    on_.run(
        "UPDATE races SET document=$3, title=$4, place=$5, display=$6, "
        "words=lower($4 || ' ' || $5 || ' ' || $6), owner=CASE WHEN owner_by='person' THEN owner "
        "ELSE $7 END WHERE program=$1 AND number=$2",
        {program_, number, to_document(finding), shortened(model::title(candidate)),
         place_of(candidate), model::display_id(candidate), owner_of(owners_, candidate)});
    add_keys(number, candidate);
  }

  int64_t add_race(const model::Finding& finding) {
    const auto next = on_.run(
        "UPDATE programs SET next_number=next_number+1 WHERE program=$1 RETURNING next_number-1",
        {program_});
    if (next.empty()) {
      on_.fail({"there is no program " + program_, "`deadheat hive token` makes one"});
      return 0;
    }
    const int64_t number = next[0].number(0);
    const model::Candidate& candidate = finding.candidate;
    // It joins the others where they are, or it would be given to everybody until it caught up.
    on_.run(
        "INSERT INTO races(program,number,display,kind,title,place,document,state,owner,verdict,"
        "basis,confidence,consequence,claimed_by,proved,promoted,turn,shuffle,holders,"
        "answered_primary,answered_alternate,first_ms,last_ms,words) SELECT "
        "$1,$2,$3,$4,$5,$6,$7,'open',$10,'unknown','none',0,'none',0,0,0,"
        "coalesce((SELECT min(turn) FROM races WHERE program=$1 AND proved=0 AND state='open'),0),"
        "$8,0,0,0,$9,$9,lower($5 || ' ' || $6 || ' ' || $3)",
        {program_, number, model::display_id(candidate), std::string(model::name(candidate.kind)),
         shortened(model::title(candidate)), place_of(candidate), to_document(finding), shuffle(),
         now_ms_, owner_of(owners_, candidate)});
    add_keys(number, candidate);
    note_history(on_, program_, number, {"found", "", who_.credential, 1, 0}, now_ms_);
    return number;
  }

  void add_evidence(int64_t number, const model::Candidate& candidate, const model::Evidence& e) {
    const auto added = on_.run(
        "INSERT INTO evidence VALUES($1,$2,$3,$4,'',0,$5,$6,$7,$8,$9,$10,0,0,$11,$12) "
        "ON CONFLICT DO NOTHING RETURNING id",
        {program_, who_.credential, shortened(e.id), number, std::string(model::name(e.outcome)),
         std::string(model::name(e.proof)), std::string(model::name(e.order)),
         std::string(model::name(e.ordered)), int64_t{e.maximum_timeout},
         std::string(model::name(e.consequence.kind)), now_ms_, to_document(candidate, e)});
    ++(added.empty() ? answer.repeated : answer.evidence);
    if (!added.empty() && e.outcome == model::Outcome::kRace)
      reopen(on_, program_, number, who_.credential, version_, now_ms_);
  }

  int64_t shuffle() { return static_cast<int64_t>(random_.next() >> 1); }

  Transaction& on_;
  const std::string& program_;
  const Who& who_;
  const std::string& version_;
  const crowd::Owners owners_;
  Random& random_;
  int64_t now_ms_;
};

// True races first, proved ones before claimed ones, then what is unknown. One number, so that an
// index has the list in its order.
int64_t place_in_list(const crowd::Judgement& judged) {
  constexpr int64_t kApart = 1'000'000'000, kMostClaims = 1'000'000;
  const auto state = judged.verdict.state;
  const int64_t group = state == model::VerdictState::kTrueRace  ? 0
                        : state == model::VerdictState::kUnknown ? 1
                                                                 : 2;
  return group * kApart - (judged.proved ? kApart / 2 : 0) -
         std::min<int64_t>(judged.claimed_by, kMostClaims);
}

model::Evidence evidence_from(const Row& row) {
  model::Evidence e;
  e.id = row.text(1);
  e.execution = row.text(3);
  e.source = row.text(0);
  e.outcome = model::parse_name<model::Outcome>(row.text(4)).value_or(model::Outcome::kNotSeen);
  e.proof = model::parse_name<model::Proof>(row.text(5)).value_or(model::Proof::kNone);
  e.order = model::parse_name<model::Order>(row.text(6)).value_or(model::Order::kUnknown);
  e.ordered = model::parse_name<model::Ordered>(row.text(7)).value_or(model::Ordered::kUnknown);
  e.maximum_timeout = row.number(8) != 0;
  e.consequence.kind = model::parse_name<model::ConsequenceKind>(row.text(9))
                           .value_or(model::ConsequenceKind::kNone);
  return e;
}

}  // namespace

std::vector<crowd::Said> evidence_of(Statements& on, const std::string& program, int64_t number,
                                     bool all) {
  std::vector<crowd::Said> said;
  const std::string which = all ? "" : "e.outcome<>'not_seen' AND ";
  // What agents sent is grouped: a credential's executions are numbered below a bound
  // (crowd::execution_slot), so that a race with a million results folds a few rows a credential.
  const auto rows = on.run(
      "SELECT e.credential, min(e.id), t.trusted, e.execution, e.outcome, e.proof, e.ord, "
      "e.ordered,"
      "e.maximum, e.consequence FROM evidence e JOIN tokens t ON t.program=e.program AND "
      "t.id=e.credential WHERE e.program=$1 AND e.number=$2 AND t.revoked_ms=0 AND " +
          which +
          "e.document IS NULL GROUP BY e.credential, t.trusted, e.execution, e.outcome, e.proof, "
          "e.ord,"
          "e.ordered, e.maximum, e.consequence",
      {program, number});
  said.reserve(rows.size());
  for (const Row& row : rows) said.push_back({evidence_from(row), row.text(0), row.number(2) != 0});
  for (const Row& row :
       on.run("SELECT e.credential, t.trusted, e.document FROM evidence e JOIN tokens t ON "
              "t.program=e.program AND t.id=e.credential WHERE e.program=$1 AND e.number=$2 AND "
              "t.revoked_ms=0 AND e.document IS NOT NULL",
              {program, number}))
    if (auto finding = from_document(row.text(2)); finding && !finding->evidence.empty())
      said.push_back({std::move(finding->evidence[0]), row.text(0), row.number(1) != 0});
  return said;
}

void join_queue(Statements& on, const std::string& program, int64_t number) {
  on.run(
      "UPDATE races SET turn=coalesce((SELECT o.turn FROM races o WHERE o.program=$1 AND "
      "o.proved=0 AND o.state='open' AND o.control='' AND o.kind IN ('data_race','collision') AND "
      "o.number<>$2 ORDER BY o.turn LIMIT 1), turn) WHERE program=$1 AND number=$2",
      {program, number});
}

void judge_again(Statements& on, const std::string& program, int64_t number,
                 const crowd::Rules& rules, Random& random, int64_t now_ms) {
  // Locked before the evidence is read: concurrent additions are judged after us.
  const auto race =
      on.run("SELECT kind, verdict, basis, promoted FROM races WHERE program=$1 AND number=$2" +
                 on.row_lock(),
             {program, number});
  if (race.empty()) return;
  const auto kind = model::parse_name<model::CandidateKind>(race[0].text(0))
                        .value_or(model::CandidateKind::kDataRace);
  const crowd::Judgement judged =
      crowd::judge(evidence_of(on, program, number, false), kind, race[0].number(3) != 0, rules);
  const std::string verdict(model::name(judged.verdict.state));
  const std::string basis(model::name(judged.verdict.basis));
  const std::string consequence(model::name(judged.verdict.consequence.kind));
  on.run(
      "UPDATE races SET verdict=$3, basis=$4, confidence=$5, consequence=$6, claimed_by=$7, "
      "proved=$8, place_in_list=$9 WHERE program=$1 AND number=$2",
      {program, number, verdict, basis, judged.verdict.confidence, consequence,
       int64_t{judged.claimed_by}, int64_t{judged.proved}, place_in_list(judged)});
  if (verdict == race[0].text(1) && basis == race[0].text(2)) return;
  // Its turn is far away: nobody would answer the claim for long.
  if (race[0].text(1) == "likely_false_positive" && verdict == "true_race")
    join_queue(on, program, number);
  Change change;
  change.what = "verdict";
  change.detail = verdict + (basis == "none" ? "" : " " + basis) +
                  (judged.claimed_by > 0 ? " by " + std::to_string(judged.claimed_by) : "");
  change.true_delta = int64_t{verdict == "true_race"} - int64_t{race[0].text(1) == "true_race"};
  note_history(on, program, number, change, now_ms);
  if (verdict == "true_race") call_hooks(on, program, number, random, now_ms);
}

Result<api::PushAnswer> Store::push(const std::string& program, const Who& who,
                                    const model::FindingsFile& file, int64_t now_ms,
                                    const std::string& scan_of) {
  return retried(*connection_, [&] { return push_once(program, who, file, now_ms, scan_of); });
}

Result<api::PushAnswer> Store::push_once(const std::string& program, const Who& who,
                                         const model::FindingsFile& file, int64_t now_ms,
                                         const std::string& scan_of) {
  Transaction on(*connection_);
  std::vector<int64_t> numbers;
  api::PushAnswer answer = push_into(on, program, who, file, now_ms, scan_of, numbers);
  note_audit(on, program, who.credential, "push",
             std::to_string(answer.added) + " races added, " + std::to_string(answer.evidence) +
                 " pieces of evidence",
             now_ms);
  if (const Status committed = on.commit(); !committed) return committed.error();
  return answer;
}

api::PushAnswer Store::push_into(Transaction& on, const std::string& program, const Who& who,
                                 const model::FindingsFile& file, int64_t now_ms,
                                 const std::string& scan_of, std::vector<int64_t>& numbers) {
  // One push of a program at a time, or two would both find a new race unknown.
  on.run("SELECT 1 FROM programs WHERE program=$1" + on.row_lock(), {program});
  hold_token(on, program, who);
  Pusher pusher(on, program, who, scan_of, random_, now_ms);
  numbers.clear();
  for (const model::Finding& finding : file.findings) {
    if (on.failed()) break;
    numbers.push_back(pusher.push(finding));
  }
  for (const int64_t number : pusher.touched)
    judge_again(on, program, number, settings.rules, random_, now_ms);
  if (!scan_of.empty())
    take_scan(on, program, {scan_of, pusher.touched, pusher.answer.added}, who.credential, now_ms);
  return pusher.answer;
}

}  // namespace deadheat::hive::store

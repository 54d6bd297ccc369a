// Web hooks: notify a team's chat or tracker about new true races. A call is stored in the
// transaction that changed the verdict, so that a hive that dies loses none; a serving hive takes
// calls with a lease, so that of several hives one makes each. A call may still arrive twice (a
// hive died after taking it): its id is the same then.
#include <algorithm>

#include "lib/base/text.h"
#include "lib/hive/api/json.h"
#include "lib/hive/store/statements.h"
#include "lib/hive/store/store.h"

namespace deadheat::hive::store {
namespace {

constexpr int64_t kLease_ms = 60'000, kFirstWait_ms = 5'000, kLongestWait_ms = 3'600'000;
constexpr int64_t kMostTries = 12;  // about 8 hours
constexpr size_t kMostAnswer = 200;

}  // namespace

void call_hooks(Statements& on, const std::string& program, int64_t number, Random& random,
                int64_t now_ms) {
  const auto hooks = on.run("SELECT id FROM hooks WHERE program=$1", {program});
  if (hooks.empty()) return;
  const auto race = on.run(
      "SELECT display, title, place, basis, claimed_by, consequence, owner, proved FROM races "
      "WHERE "
      "program=$1 AND number=$2",
      {program, number});
  if (race.empty()) return;
  api::HookBody body;
  body.event = race[0].number(7) != 0 ? "race_proved" : "race_claimed";
  body.program = program;
  body.number = static_cast<uint64_t>(number);
  body.race = race[0].text(0);
  body.title = race[0].text(1);
  body.where = race[0].text(2);
  body.basis = race[0].text(3);
  body.claimed_by = static_cast<uint32_t>(race[0].number(4));
  body.consequence = race[0].text(5);
  body.owner = race[0].text(6);
  body.at_ms = now_ms;
  for (const Row& hook : hooks) {
    body.id = hex(random.next()).substr(2) + hex(random.next()).substr(2);
    on.run("INSERT INTO hook_calls VALUES($1,$2,$3,$4,0,$5,$5)",
           {program, body.id, hook.text(0), api::encode(body), now_ms});
  }
}

Status Store::add_hook(const std::string& program, const Hook& hook, const std::string& who,
                       int64_t now_ms) {
  Transaction on(*connection_);
  on.run("INSERT INTO hooks VALUES($1,$2,$3,$4,$5,'',0)",
         {program, hook.id, hook.url, hook.secret, now_ms});
  note_audit(on, program, who, "hook", hook.id + " " + hook.url, now_ms);
  return on.commit();
}

Result<bool> Store::remove_hook(const std::string& program, const std::string& id,
                                const std::string& who, int64_t now_ms) {
  Transaction on(*connection_);
  const auto done =
      on.run("DELETE FROM hooks WHERE program=$1 AND id=$2 RETURNING id", {program, id});
  on.run("DELETE FROM hook_calls WHERE program=$1 AND hook=$2", {program, id});
  if (!done.empty()) note_audit(on, program, who, "unhook", id, now_ms);
  if (const Status committed = on.commit(); !committed) return committed.error();
  return !done.empty();
}

Result<std::vector<Hook>> Store::hooks(const std::string& program) {
  Statements on(*connection_);
  std::vector<Hook> all;
  for (const Row& row :
       on.run("SELECT id, url, secret, created_ms, answer, answer_ms, (SELECT count(*) FROM "
              "hook_calls c WHERE c.program=h.program AND c.hook=h.id AND c.next_ms>0), (SELECT "
              "count(*) FROM hook_calls c WHERE c.program=h.program AND c.hook=h.id AND "
              "c.next_ms=0) FROM hooks h WHERE program=$1 ORDER BY created_ms, id",
              {program})) {
    Hook hook;
    hook.id = row.text(0);
    hook.url = row.text(1);
    hook.secret = row.text(2);
    hook.created_ms = row.number(3);
    hook.answer = row.text(4);
    hook.answer_ms = row.number(5);
    hook.waiting = row.number(6);
    hook.given_up = row.number(7);
    all.push_back(std::move(hook));
  }
  if (on.failed()) return on.error();
  return all;
}

Result<std::optional<HookCall>> Store::next_call(int64_t now_ms) {
  using Found = std::optional<HookCall>;
  constexpr char kDue[] =
      "SELECT c.program, c.id, c.hook, h.url, h.secret, c.body, c.tries FROM hook_calls c JOIN "
      "hooks h ON h.program=c.program AND h.id=c.hook WHERE c.next_ms>0 AND c.next_ms<=$1 "
      "ORDER BY c.next_ms LIMIT 1";
  Statements look(*connection_);
  const bool none = look.run(kDue, {now_ms}).empty();
  if (look.failed()) return look.error();
  if (none) return Found();
  Transaction on(*connection_);
  const auto rows =
      on.run(kDue + std::string(on.postgres() ? " FOR UPDATE OF c SKIP LOCKED" : ""), {now_ms});
  Found found;
  if (!rows.empty()) {
    found = HookCall{rows[0].text(0), rows[0].text(1), rows[0].text(2),  rows[0].text(3),
                     rows[0].text(4), rows[0].text(5), rows[0].number(6)};
    on.run("UPDATE hook_calls SET next_ms=$3, tries=tries+1 WHERE program=$1 AND id=$2",
           {found->program, found->id, now_ms + kLease_ms});
  }
  if (const Status committed = on.commit(); !committed) return committed.error();
  return found;
}

Status Store::end_call(const HookCall& call, const std::string& answer, bool taken,
                       int64_t now_ms) {
  Transaction on(*connection_);
  on.run("UPDATE hooks SET answer=$3, answer_ms=$4 WHERE program=$1 AND id=$2",
         {call.program, call.hook, answer.substr(0, kMostAnswer), now_ms});
  if (taken) {
    on.run("DELETE FROM hook_calls WHERE program=$1 AND id=$2", {call.program, call.id});
  } else {
    const bool over = call.tries + 1 >= kMostTries;
    const int64_t wait_ms = std::min(kFirstWait_ms << call.tries, kLongestWait_ms);
    on.run("UPDATE hook_calls SET next_ms=$3 WHERE program=$1 AND id=$2",
           {call.program, call.id, over ? int64_t{0} : now_ms + wait_ms});
    if (over) note_audit(on, call.program, "", "hook", call.hook + " given up: " + call.id, now_ms);
  }
  return on.commit();
}

}  // namespace deadheat::hive::store

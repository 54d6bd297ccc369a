#include "lib/validate/campaign.h"

#include <algorithm>

#include "lib/base/text.h"
#include "lib/model/identity.h"
#include "lib/symbols/elf_image.h"
#include "lib/validate/hooked.h"

namespace deadheat::validate {
namespace {

std::string key_of(const Options& options, uint64_t fingerprint) {
  std::string text = "validate " + hex(fingerprint) + "\n" + options.target.directory + "\n" +
                     options.target.input;
  for (const std::string& word : options.target.program) text += "\n" + word;
  if (!options.binaries.empty()) {
    const auto image = symbols::ElfImage::open(options.binaries[0]);
    if (image) text += "\n" + image.value()->build_id();
  }
  return "validate-" + hex(stable_hash(text)).substr(2);
}

Error not_built(const Options& options) {
  const std::string program = options.binaries.empty() ? "the program" : options.binaries[0];
  return {
      program + " was not built for validation",
      "build it with deadheat-cc --candidates findings.json and clang 19, or, at a higher price "
      "while it runs, with plain deadheat-cc"};
}

}  // namespace

Campaign::Campaign(const Options& options, model::FindingsFile& file, List list, Built built)
    : options_(&options), file_(&file), wanted_(std::move(list)), built_(std::move(built)) {
  key_ = key_of(options, built_.list.fingerprint);
}

Result<Campaign> Campaign::begin(const Options& options, model::FindingsFile& file,
                                 uint64_t fingerprint) {
  List wanted = make_list(file);
  if (wanted.pairs.empty())
    return Error{"the findings hold no pair of accesses that could be validated", ""};
  std::vector<Built> all = read_binaries(options.binaries);
  if (fingerprint != 0)
    std::erase_if(all, [&](const Built& one) { return one.list.fingerprint != fingerprint; });
  std::string sites;
  if (all.empty() && !options.binaries.empty())
    if (auto hooked = read_hooked(options.binaries[0], wanted, file)) {
      // A program that runs already has read its file: of these candidates, or of others.
      if (fingerprint != 0 && fingerprint != hooked->built.list.fingerprint)
        return Error{"the program was started for other candidates",
                     "start it with the file that --prepare makes of these"};
      sites = std::move(hooked->sites);
      all.push_back(std::move(hooked->built));
    }
  if (all.empty()) return not_built(options);
  size_t best = 0;
  Mapping mapping;
  for (size_t i = 0; i < all.size(); ++i) {
    Mapping one = map_candidates(wanted, all[i].list);
    if (i > 0 && one.mapped <= mapping.mapped) continue;
    best = i;
    mapping = std::move(one);
  }
  if (mapping.mapped == 0)
    return Error{"none of the " + std::to_string(wanted.pairs.size()) +
                     " candidates is one that the program was built for",
                 "build it again with --candidates and this file"};
  const bool any =
      std::any_of(all[best].fates.begin(), all[best].fates.end(),
                  [](const auto& fate) { return fate.second.fate == DHV_FATE_INSTRUMENTED; });
  if (!any)
    return Error{"the candidates match nothing in the program: " + describe(all[best]),
                 "they are of another program, or of a very different version"};
  Campaign campaign(options, file, std::move(wanted), std::move(all[best]));
  campaign.sites_ = std::move(sites);
  campaign.make_courses(mapping);
  return campaign;
}

std::string Campaign::evidence_id(const std::string& execution, size_t finding) const {
  return execution + "/" + std::to_string(finding);
}

void Campaign::leave_out(size_t finding, const std::string& why, uint64_t& counter) {
  ++counter;
  model::Evidence e;
  e.id = key_ + "/left out/" + std::to_string(finding);
  e.execution = key_ + "/left out";
  e.source = "validate";
  e.outcome = model::Outcome::kNotSeen;
  e.why = why;
  e.trial = model::Trial{"validate", model::Order::kUnknown, 0};
  auto& evidence = file_->findings[finding].evidence;
  const bool known = std::any_of(evidence.begin(), evidence.end(),
                                 [&](const model::Evidence& old) { return old.id == e.id; });
  if (!known) evidence.push_back(std::move(e));
}

void Campaign::make_courses(const Mapping& mapping) {
  for (size_t i = 0; i < wanted_.pairs.size(); ++i) {
    const size_t finding = wanted_.findings[i];
    const model::Candidate& candidate = file_->findings[finding].candidate;
    if (!options_->only.empty() && !options_->only.contains(model::display_id(candidate))) continue;
    if (mapping.numbers[i] < 0) {
      leave_out(finding, "the program was not built for this candidate", elsewhere_);
      continue;
    }
    const auto number = static_cast<uint32_t>(mapping.numbers[i]);
    const Pair pair = built_.list.pairs[number];
    const auto fate = [&](uint32_t site) {
      const auto at = built_.fates.find(site);
      return at == built_.fates.end() ? 0U : at->second.fate;
    };
    const uint32_t first = fate(pair.first), second = fate(pair.second);
    if (first == DHV_FATE_SPIN || second == DHV_FATE_SPIN) {
      leave_out(finding,
                "one side only waits in an empty loop: it is not instrumented, for its cost, and "
                "such a wait without an atomic is a race by itself",
                spins_);
      continue;
    }
    if (first != DHV_FATE_INSTRUMENTED || second != DHV_FATE_INSTRUMENTED) {
      leave_out(finding,
                first == DHV_FATE_GONE || second == DHV_FATE_GONE
                    ? "a site is not in this build: optimised away, or edited"
                    : "a site's function is not in this program",
                first == DHV_FATE_GONE || second == DHV_FATE_GONE ? gone_ : elsewhere_);
      continue;
    }
    Tried tried{finding, Course(number, candidate, options_->taus), {pair.first, pair.second}};
    for (const model::Evidence& e : file_->findings[finding].evidence) {
      if (!e.execution.starts_with(key_ + "/")) continue;
      tried.course.restore(e);
      ++restored_;
    }
    courses_.push_back(std::move(tried));
  }
}

std::vector<Campaign::Job> Campaign::next_jobs(size_t most, const std::string& execution) {
  std::vector<size_t> open;
  for (size_t i = 0; i < courses_.size(); ++i)
    if (!is_over(courses_[i])) open.push_back(i);
  std::sort(open.begin(), open.end(), [&](size_t a, size_t b) {
    const uint64_t of_a = courses_[a].course.attempts(), of_b = courses_[b].course.attempts();
    return of_a != of_b ? of_a < of_b : a < b;
  });
  const auto suspect = std::find_if(open.begin(), open.end(),
                                    [&](size_t i) { return courses_[i].course.is_suspect(); });
  if (suspect != open.end()) open = {*suspect};
  open.resize(std::min({open.size(), most, size_t{DHV_JOBS}}));
  std::vector<Job> jobs;
  for (const size_t i : open) {
    Job job;
    job.course = i;
    job.wish = courses_[i].course.next(job.attempt);
    job.attempt.execution = key_ + "/" + execution;
    job.attempt.id = evidence_id(job.attempt.execution, courses_[i].finding);
    job.attempt.repeat = options_->repeat;
    jobs.push_back(std::move(job));
  }
  return jobs;
}

Orders Campaign::orders_for(const std::vector<Job>& jobs) const {
  Orders orders;
  orders.fingerprint = built_.list.fingerprint;
  orders.budget_ppm = options_->budget_ppm;
  orders.standstill_us = options_->standstill_us;
  if (!options_->steer) orders.switches &= ~uint32_t{DHV_SWITCH_STEER};
  for (const Job& job : jobs) {
    orders.wishes.push_back(job.wish);
    orders.sites.push_back(courses_[job.course].sites);
  }
  return orders;
}

void Campaign::learn(const Page& page) {
  for (Tried& tried : courses_) {
    Context context;
    const uint8_t first = page.site_fact(tried.sites.first),
                  second = page.site_fact(tried.sites.second),
                  both = page.candidate_fact(tried.course.number());
    context.reached[0] = (first & DHV_SITE_REACHED) != 0;
    context.reached[1] = (second & DHV_SITE_REACHED) != 0;
    context.several_threads = ((first | second) & DHV_SITE_SEVERAL_THREADS) != 0;
    context.same_bytes = (both & DHV_CANDIDATE_SAME_BYTES) != 0;
    context.promoted = (both & DHV_CANDIDATE_PROMOTED) != 0;
    tried.course.learn(context);
  }
}

void Campaign::look_again(Page& page) const {
  for (const Tried& tried : courses_) {
    if (tried.course.enough() ||
        (page.candidate_fact(tried.course.number()) & DHV_CANDIDATE_PROMOTED) != 0)
      continue;
    page.add_state(tried.sites.first, DHV_STATE_INFER);
    page.add_state(tried.sites.second, DHV_STATE_INFER);
  }
}

void Campaign::take(const Job& job, const Answer* answer, const model::Consequence& consequence) {
  ++attempts_;
  Tried& tried = courses_[job.course];
  const bool raced = tried.course.raced();
  model::Evidence evidence = tried.course.take(job.attempt, answer);
  evidence.consequence = consequence;
  evidence.trial->reproducer.kind = model::ReproducerKind::kValidation;
  evidence.trial->reproducer.campaign = key_;
  tried.course.note_consequence(job.attempt, consequence);
  if (!raced && tried.course.raced() && options_->say)
    options_->say("race: " + model::display_id(file_->findings[tried.finding].candidate) + ", " +
                  evidence.why);
  file_->findings[tried.finding].evidence.push_back(std::move(evidence));
}

bool Campaign::is_over(const Tried& tried) const {
  return tried.course.enough() ||
         (options_->only_open &&
          model::fold(file_->findings[tried.finding]).state == model::VerdictState::kTrueRace);
}

bool Campaign::decided() const {
  return std::all_of(courses_.begin(), courses_.end(),
                     [this](const Tried& tried) { return is_over(tried); });
}

void Campaign::say_last_words() {
  for (Tried& tried : courses_) {
    if (tried.over || !tried.course.enough()) continue;
    tried.over = true;
    Attempt attempt;
    attempt.execution = key_ + "/context";
    attempt.id = evidence_id(attempt.execution, tried.finding);
    attempt.repeat = options_->repeat;
    auto& evidence = file_->findings[tried.finding].evidence;
    const bool known = std::any_of(evidence.begin(), evidence.end(),
                                   [&](const auto& old) { return old.id == attempt.id; });
    if (known) continue;
    if (auto word = tried.course.last_word(attempt)) evidence.push_back(std::move(*word));
  }
}

void Campaign::count(const dhv_counters& counters) {
  counters_.watches += counters.watches;
  counters_.ended_bound += counters.ended_bound;
  counters_.ended_memory += counters.ended_memory;
  counters_.waits += counters.waits;
  counters_.no_credit += counters.no_credit;
  counters_.common_lock += counters.common_lock;
  counters_.no_room += counters.no_room;
  counters_.no_module += counters.no_module;
  counters_.unwatched += counters.unwatched;
  counters_.moved += counters.moved;
}

void Campaign::fill(Outcome& outcome) const {
  confirm::Progress& progress = outcome.progress;
  progress.candidates = courses_.size();
  progress.trials = attempts_;
  progress.seconds = options_->time.used_s();
  progress.gone = gone_ + elsewhere_;
  progress.decided = progress.true_races = progress.harmful = 0;
  for (const Tried& tried : courses_) {
    const model::Verdict verdict = model::fold(file_->findings[tried.finding]);
    progress.decided += tried.course.enough() ? 1 : 0;
    progress.true_races += tried.course.raced() ? 1 : 0;
    progress.harmful += verdict.consequence.kind != model::ConsequenceKind::kNone ? 1 : 0;
  }
  outcome.counters = {
      {"validate_gone", gone_, "candidates were not tried: a site is not in this build"},
      {"validate_elsewhere", elsewhere_, "candidates were not tried: not of this program"},
      {"validate_spins", spins_, "candidates were not tried: one side only waits in an empty loop"},
      {"validate_no_pair", wanted_.left_out, "findings are no pairs of accesses"},
      {"validate_refused", refused, "processes did not take part: another list, or no page"},
      {"validate_no_credit", counters_.no_credit, "waits were left out: the budget was used up"},
      {"validate_common_lock", counters_.common_lock,
       "waits were left out: the other side holds the same lock", false},
      {"validate_bound", counters_.ended_bound,
       "watches ended at their bound, before a second access came"},
      {"validate_memory", counters_.ended_memory, "watches ended with their memory", false},
      {"validate_moved", counters_.moved, "watches went on to other bytes of their site", false},
      {"validate_no_room", counters_.no_room,
       "watches ended early: too many synchronisation objects"},
      {"validate_unwatched", counters_.unwatched,
       "first accesses began no watch: too many were watched"},
      {"validate_no_module", counters_.no_module,
       "modules or places were too many: the candidates' sites there stayed off"},
      {"validate_undecided", progress.candidates - progress.decided,
       "candidates were not tried to the end", true, true}};
}

}  // namespace deadheat::validate

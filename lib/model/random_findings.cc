#include "lib/model/random_findings.h"

#include <algorithm>
#include <array>

namespace deadheat::model {
namespace {

template <typename T>
void make_set(std::vector<T>& values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

}  // namespace

std::string RandomFindings::text() {
  static const std::array<std::string, 14> kTexts = {
      "",
      "transfer",
      "bank::Account::move<int>(int) [clone .part.0]",
      "(anonymous namespace)::f()::{lambda(int)#1}::operator()(int) const",
      "src/bank.cc",
      "/tmp/sort.k3Xa9Q",
      "g_total",
      "x++;",
      "a \"quoted\" \\ text",
      std::string("nul\0inside", 10),
      "tab\tnewline\nreturn\r\x01\x7f",
      "caf\xc3\xa9 \xe2\x86\x92 \xf0\x9f\x90\x8e",
      "</script><b>",
      "operator<<(("};
  std::string out = kTexts[random_.below(kTexts.size())];
  if (random_.chance(0.1)) out += std::to_string(random_.below(100));
  return out;
}

uint64_t RandomFindings::number() {
  return often() ? random_.below(1000) : random_.next() >> random_.below(64);
}

std::vector<std::string> RandomFindings::texts() {
  std::vector<std::string> out(random_.below(3));
  for (std::string& one : out) one = text();
  return out;
}

Site RandomFindings::site() {
  Site site;
  site.kind = any<SiteKind>(3);
  if (often()) site.module = text();
  if (often()) site.build_id = "b" + std::to_string(random_.below(3));
  for (uint64_t n = random_.below(4); n > 0; --n) site.pcs.push_back(number());
  make_set(site.pcs);
  for (std::string* field : {&site.function, &site.file, &site.source_text, &site.variable,
                             &site.program, &site.syscall, &site.object, &site.label}) {
    if (often()) *field = text();
  }
  for (uint32_t* field : {&site.line, &site.column, &site.function_line}) {
    if (often()) *field = static_cast<uint32_t>(number());
  }
  return site;
}

Access RandomFindings::access() {
  Access access;
  access.kind = any<AccessKind>();
  access.size = number();
  access.location = text();
  access.location_origin = text();
  access.thread = text();
  access.thread_origin = text();
  access.locks = texts();
  for (uint64_t n = random_.below(3); n > 0; --n)
    access.stack.push_back(
        Frame{text(), text(), static_cast<uint32_t>(number()), text(), number()});
  access.event = number();
  return access;
}

Story RandomFindings::story() {
  Story story;
  for (uint64_t n = random_.below(4); n > 0; --n)
    story.processes.push_back(StoryProcess{number(), number(), text()});
  if (story.processes.empty()) return story;
  const size_t calls = random_.below(5);
  for (size_t i = 0; i < calls; ++i) {
    const auto process = static_cast<uint32_t>(random_.below(story.processes.size()));
    story.calls.push_back({process, text(), text(), number(), number(), random_.chance(0.3)});
  }
  for (uint32_t to = 1; to < calls; ++to) {
    const auto from = static_cast<uint32_t>(random_.below(to));
    if (often()) story.edges.push_back({from, to, any<EdgeKind>(), text()});
  }
  return story;
}

Evidence RandomFindings::evidence(size_t roles, std::string id) {
  Evidence e;
  e.id = std::move(id);
  e.execution = text();
  e.source = text();
  e.outcome = any<Outcome>();
  e.proof = any<Proof>();
  e.order = any<Order>();
  e.ordered = any<Ordered>();
  e.schedulable = any<Schedulable>();
  e.maximum_timeout = random_.chance(0.5);
  e.consequence = Consequence{any<ConsequenceKind>(), text()};
  for (uint64_t n = random_.below(roles + 1); n > 0; --n) e.accesses.push_back(access());
  for (uint64_t n = random_.below(4); n > 0; --n) {
    Step step;
    step.role = static_cast<uint32_t>(random_.below(roles));
    step.what = text();
    if (often()) step.site = site();
    step.event = number();
    step.racing = random_.chance(0.5);
    e.steps.push_back(std::move(step));
  }
  e.why = text();
  e.repeat = text();
  if (random_.chance(0.1)) e.withdraws = text();
  for (uint64_t n = random_.below(3); n > 0; --n)
    e.differences.push_back(Consequence{any<ConsequenceKind>(), text()});
  if (random_.chance(0.4)) e.recorded = story();
  if (random_.chance(0.4)) e.failed = story();
  if (random_.chance(0.3)) e.repetitions = static_cast<uint32_t>(random_.below(4));
  if (random_.chance(0.3)) e.unseen = texts();
  e.context = any<Context>();
  if (random_.chance(0.3)) e.trial = Trial{text(), any<Order>(), number(), reproducer()};
  return e;
}

Reproducer RandomFindings::reproducer() {
  Reproducer out;
  out.kind = any<ReproducerKind>();
  for (std::string* field :
       {&out.campaign, &out.candidate, &out.strategy, &out.recording, &out.branch})
    if (often()) *field = text();
  for (uint64_t* field : {&out.seed, &out.depth, &out.length})
    if (often()) *field = number();
  out.spins = random_.chance(0.3);
  return out;
}

Suspicion RandomFindings::suspicion(size_t roles, std::string id) {
  const Evidence like = evidence(roles, std::move(id));
  return {like.id,       text(),     text(),           like.why,
          like.accesses, like.steps, like.schedulable, like.repeat};
}

Finding RandomFindings::finding() {
  Finding finding;
  finding.candidate.kind = any<CandidateKind>();
  if (finding.candidate.kind == CandidateKind::kCollision)  // never stored
    finding.candidate.kind = CandidateKind::kDataRace;
  const bool failure = finding.candidate.kind == CandidateKind::kFailure;
  const size_t roles = failure ? 1 : random_.between(2, 4);
  for (size_t i = 0; i < roles; ++i)
    finding.candidate.roles.push_back(Role{text(), site(), any<AccessKind>()});
  finding.candidate.found_by = texts();
  make_set(finding.candidate.found_by);
  for (uint64_t n = random_.below(4); n > 0; --n)
    finding.evidence.push_back(evidence(roles, "e" + std::to_string(next_id_++)));
  for (uint64_t n = random_.below(3); n > 0; --n)
    finding.suspicions.push_back(suspicion(roles, "s" + std::to_string(next_id_++)));
  return finding;
}

FindingsFile RandomFindings::file() {
  FindingsFile file;
  for (uint64_t n = random_.below(3); n > 0; --n) {
    Origin origin{text(), text(), texts(), text(), text(), {}, texts()};
    origin.campaign = text();
    origin.strategy = text();
    if (often()) origin.target = {texts(), text(), text(), text()};
    for (uint64_t c = random_.below(3); c > 0; --c)
      origin.counters.push_back(
          Counter{text(), number(), text(), random_.chance(0.5), random_.chance(0.2)});
    file.origins.push_back(std::move(origin));
  }
  for (uint64_t n = random_.below(5); n > 0; --n) file.findings.push_back(finding());
  return file;
}

}  // namespace deadheat::model

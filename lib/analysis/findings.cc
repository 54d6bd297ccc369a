#include "lib/analysis/findings.h"

#include "lib/base/text.h"

namespace deadheat::analysis {

using trace::Event;
using trace::EventKind;
using trace::Source;

namespace {

model::AccessKind model_access(Access access) {
  switch (access) {
    case Access::kRead:
      return model::AccessKind::kRead;
    case Access::kWrite:
      return model::AccessKind::kWrite;
    case Access::kAtomicRead:
      return model::AccessKind::kAtomicRead;
    case Access::kAtomicWrite:
      return model::AccessKind::kAtomicWrite;
    case Access::kFree:
      return model::AccessKind::kFree;
    case Access::kAcquire:
    case Access::kAcquireShared:
      return model::AccessKind::kAcquire;
  }
  return model::AccessKind::kUnknown;
}

model::Schedulable model_schedulable(Schedulable schedulable) {
  if (schedulable == Schedulable::kYes) return model::Schedulable::kYes;
  return schedulable == Schedulable::kNo ? model::Schedulable::kNo : model::Schedulable::kUnknown;
}

model::Site model_site(trace::SiteId id, const Source& source) {
  model::Site site;
  if (id == trace::kNoSite) {
    site.kind = model::SiteKind::kLabel;
    return site;
  }
  const trace::SiteInfo info = source.site(id);
  site.label = info.label;
  site.kind = info.label.empty() ? model::SiteKind::kCode : model::SiteKind::kLabel;
  if (site.kind == model::SiteKind::kCode) {
    site.module = info.module;
    site.build_id = info.build_id;
    site.pcs = {info.offset};
  }
  return site;
}

// Innermost first; empty if the trace has no calls.
std::vector<model::Frame> model_stack(const Side& side, const Source& source) {
  std::vector<model::Frame> stack;
  if (side.calls.empty()) return stack;
  const auto put = [&](trace::SiteId id) {
    if (id == trace::kNoSite) return;
    const trace::SiteInfo info = source.site(id);
    stack.push_back({info.label, "", 0, info.module, info.offset});
  };
  put(side.site);
  for (auto call = side.calls.rbegin(); call != side.calls.rend(); ++call) put(*call);
  return stack;
}

model::Access model_access(const Side& side, const Source& source) {
  model::Access access;
  access.kind = model_access(side.access);
  access.size = side.size;
  const bool is_lock = side.access == Access::kAcquire || side.access == Access::kAcquireShared;
  access.location =
      source.object_name(side.address, is_lock ? EventKind::kAcquire : EventKind::kRead);
  access.thread = source.thread_name(side.thread);
  for (const uint64_t lock : side.locks)
    access.locks.push_back(source.object_name(lock, EventKind::kAcquire));
  access.event = side.event;
  access.stack = model_stack(side, source);
  return access;
}

std::string what(const Event& event, const Source& source) {
  const auto with_object = [&](std::string verb) {
    return std::move(verb) + " " + source.object_name(event.address, event.kind);
  };
  const bool is_atomic = event.order != trace::MemoryOrder::kPlain;
  switch (event.kind) {
    case EventKind::kRead:
      return with_object(is_atomic ? "atomic load" : "read");
    case EventKind::kWrite:
      return with_object(is_atomic ? "atomic store" : "write");
    case EventKind::kReadModifyWrite:
      return with_object("atomic update");
    case EventKind::kFence:
      return "fence";
    case EventKind::kAcquire:
      return with_object("lock");
    case EventKind::kRelease:
      return with_object("unlock");
    case EventKind::kAcquireShared:
      return with_object("read-lock");
    case EventKind::kReleaseShared:
      return with_object("read-unlock");
    case EventKind::kFork:
      return "start " + source.thread_name(event.other);
    case EventKind::kJoin:
      return "join " + source.thread_name(event.other);
    case EventKind::kNotify:
      return with_object("notify");
    case EventKind::kWait:
      return with_object("woken by");
    case EventKind::kBarrierEnter:
      return with_object("enter barrier");
    case EventKind::kBarrierLeave:
      return with_object("leave barrier");
    case EventKind::kSemaphorePost:
      return with_object("post");
    case EventKind::kSemaphoreWait:
      return with_object("wait for");
    case EventKind::kOnceDone:
      return with_object("initialise once");
    case EventKind::kOnceSeen:
      return with_object("see initialised");
    case EventKind::kAlloc:
      return with_object("allocate");
    case EventKind::kFree:
      return with_object("free");
    case EventKind::kRegionBegin:
      return "enter uninstrumented code";
    case EventKind::kRegionEnd:
      return "leave uninstrumented code";
    case EventKind::kHappensBefore:
      return with_object("happens-before");
    case EventKind::kHappensAfter:
      return with_object("happens-after");
    case EventKind::kSemaphoreInit:
      return with_object("initialise");
    case EventKind::kSemaphoreSeen:
      return with_object("read the count of");
    default:
      return "event";
  }
}

std::string why(const RacyPair& pair, const Options& options, std::string_view loss) {
  const Engine& engine = engine_of(options.engine);
  std::string text(engine.why);
  if (!engine.predicts) {
    if (loss == "regions_ignored") {
      text += ", but synchronisation inside uninstrumented code was ignored";
    } else if (!loss.empty()) {
      text += ", but the trace lacks synchronisation (" + std::string(loss) +
              "), which may have ordered them";
    }
  }
  if (pair.near_region && loss.empty())
    text +=
        "; a thread passed through uninstrumented code nearby, and nothing was found there that "
        "both could have synchronised on";
  return text;
}

// The part common to evidence and suspicions of a pair.
template <typename Entry>
void describe_pair(const RacyPair& pair, size_t number, const Options& options,
                   std::string_view loss, const Source& source, const TraceIdentity& identity,
                   Entry& out) {
  out.id = identity.digest + "/" + engine_name(options) + "/" + std::to_string(number);
  out.schedulable = model_schedulable(pair.schedulable);
  out.accesses = {model_access(pair.first, source), model_access(pair.second, source)};
  out.why = why(pair, options, loss);
  out.repeat = identity.repeat;
  for (const StepEvent& step : pair.steps)
    out.steps.push_back({step.second ? 1U : 0U, what(step.event, source),
                         model_site(step.event.site, source), step.number, step.racing});
}

void add_evidence(const RacyPair& pair, size_t number, const Options& options,
                  std::string_view loss, const Source& source, const TraceIdentity& identity,
                  model::Finding& finding) {
  if (engine_of(options.engine).predicts) {
    model::Suspicion& suspicion = finding.suspicions.emplace_back();
    suspicion.finder = engine_name(options);
    suspicion.input = identity.digest;
    return describe_pair(pair, number, options, loss, source, identity, suspicion);
  }
  model::Evidence& evidence = finding.evidence.emplace_back();
  evidence.execution = identity.digest;
  evidence.source = engine_name(options);
  evidence.outcome = model::Outcome::kRace;
  evidence.order = model::Order::kPrimary;
  if (loss.empty()) {
    evidence.proof = model::Proof::kHappensBefore;
    evidence.ordered = model::Ordered::kNo;
  }
  describe_pair(pair, number, options, loss, source, identity, evidence);
}

// Losses after which an edge may be missing: an unordered pair is then a suspicion, not a proof.
constexpr std::string_view kEdgesMayBeMissing[] = {"regions_ignored",
                                                   "lines_malformed",
                                                   "gaps_ignored",
                                                   "unknown_records",
                                                   "unmatched_releases",
                                                   "contested_acquires",
                                                   "odd_forks",
                                                   "odd_joins",
                                                   "odd_barriers",
                                                   "edges_dropped",
                                                   "handlers_not_recorded",
                                                   "events_of_untracked_threads"};

// The first of these losses in this analysis, or empty.
std::string_view missing_edges(const Report& report) {
  for (const Counters* counters : {&report.counters, &report.source_counters})
    for (const Counter& counter : *counters)
      for (const std::string_view name : kEdgesMayBeMissing)
        if (counter.name == name && counter.value > 0) return name;
  return {};
}

}  // namespace

std::string engine_name(const Options& options) {
  std::string name(engine_of(options.engine).name);
  if (options.engine == EngineKind::kHybrid && options.edges == Edges::kPaper)
    name += " --edges=paper";
  if (options.engine != EngineKind::kRdit) return name;
  if (options.missing != Missing::kRdit)
    name += options.missing == Missing::kIgnore ? " --missing=ignore" : " --missing=naive";
  if (options.globals != Globals::kNone)
    name += options.globals == Globals::kModule ? " --globals=module" : " --globals=all";
  return name;
}

model::FindingsFile to_findings(const Report& report, const Options& options, const Source& source,
                                const TraceIdentity& identity) {
  model::FindingsFile file;
  const std::string_view loss = missing_edges(report);
  model::Origin origin;
  origin.tool_version = DEADHEAT_VERSION;
  origin.verb = "analyze";
  origin.engine = engine_name(options);
  origin.input = identity.path;
  origin.counters = report.source_counters;
  origin.counters.insert(origin.counters.end(), report.counters.begin(), report.counters.end());
  origin.problems = report.problems;
  origin.arguments = identity.arguments;
  file.origins.push_back(std::move(origin));

  size_t number = 0;
  for (const RacyPair& pair : report.pairs) {
    model::Finding finding;
    finding.candidate.kind = engine_of(options.engine).finds;
    finding.candidate.roles = {
        {"first", model_site(pair.first.site, source), model_access(pair.first.access)},
        {"second", model_site(pair.second.site, source), model_access(pair.second.access)}};
    finding.candidate.found_by = {std::string(engine_of(options.engine).name)};
    add_evidence(pair, ++number, options, loss, source, identity, finding);
    file.findings.push_back(std::move(finding));  // pairs of sites are already distinct
  }
  return file;
}

}  // namespace deadheat::analysis

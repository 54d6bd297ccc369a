#include "tests/report/process_findings.h"

namespace deadheat::report::fixture {

using namespace deadheat::model;

Site syscall(const char* program, const char* name, const char* object) {
  Site site;
  site.kind = SiteKind::kSyscall;
  site.program = program;
  site.syscall = name;
  site.object = object;
  return site;
}

Finding release() {
  Finding out;
  out.candidate = {CandidateKind::kLoadStore,
                   {{"first", syscall("mv", "rename", "/tmp/tmp.*/status"), AccessKind::kStore},
                    {"second", syscall("sed", "open", "/tmp/tmp.*/status"), AccessKind::kLoad}},
                   {"proc"}};
  Evidence seen;
  seen.id = "release/0.1";
  seen.execution = "release";
  seen.source = "proc";
  seen.outcome = Outcome::kRace;
  seen.proof = Proof::kFailedBranch;
  seen.ordered = Ordered::kNo;
  seen.order = Order::kAlternate;
  seen.trial = Trial{.confirmer = "branch", .wished = Order::kAlternate};
  seen.trial->reproducer.kind = ReproducerKind::kBranch;
  seen.trial->reproducer.recording = "release";
  seen.trial->reproducer.branch = "release/branches/run7";
  seen.consequence = {ConsequenceKind::kExitStatus, "exit status 1 instead of 0"};
  seen.repetitions = 8;
  seen.differences = {seen.consequence,
                      {ConsequenceKind::kOutputDiffers, "/tmp/tmp.<temp>/status: lines missing"}};
  seen.why = "no happens-before path between the calls: each can come first";
  seen.repeat = "deadheat proc replay release/branches/run7";
  const char* const object = "/tmp/tmp.mZwOPBOlk6/status";
  seen.accesses.resize(2);
  for (Access& one : seen.accesses) one.location = object;
  seen.accesses[0].kind = AccessKind::kStore;
  seen.accesses[0].thread = "process 10 (mv status.build status)";
  seen.accesses[0].event = 770;
  seen.accesses[1].kind = AccessKind::kLoad;
  seen.accesses[1].thread = "process 11 (sed ...)";
  seen.accesses[1].event = 5028;
  const std::vector<StoryProcess> processes = {{2, 1, "sh release.sh"},
                                               {4, 2, "sh release.sh"},
                                               {5, 2, "sh release.sh"},
                                               {10, 4, "mv status.build status"},
                                               {11, 5, "sed 's/}/, \"tests\": \"done\"}/' status"}};
  const StoryCall first{3, "rename(\"status.build\", \"status\")", "0", 770, 0, true};
  StoryCall second{4, "openat(\"status\")", "3", 5028, 4, true};
  seen.recorded = {processes,
                   {{0, "fork()", "4", 300, 12, false},
                    {0, "fork()", "5", 310, 0, false},
                    {1, "fork()", "10", 700, 2, false},
                    {3, "execve(\"/usr/bin/mv\")", "0", 712, 0, false},
                    first,
                    {3, "exit(0)", "", 790, 3, false},
                    {1, "wait4(any child)", "10, status 0", 795, 0, false},
                    {2, "fork()", "11", 4900, 30, false},
                    {4, "execve(\"/usr/bin/sed\")", "0", 4934, 0, false},
                    second,
                    {4, "exit(0)", "", 5060, 9, false}},
                   {{0, 2, EdgeKind::kStart, ""},
                    {1, 7, EdgeKind::kStart, ""},
                    {2, 3, EdgeKind::kStart, ""},
                    {5, 6, EdgeKind::kEnd, "children of 4"},
                    {7, 8, EdgeKind::kStart, ""}}};
  second.event = 4100;
  StoryCall later = first;
  later.event = 4230;
  seen.failed = {processes,
                 {{0, "fork()", "4", 300, 12, false},
                  {0, "fork()", "5", 310, 0, false},
                  {2, "fork()", "11", 4000, 30, false},
                  {4, "execve(\"/usr/bin/sed\")", "0", 4034, 0, false},
                  second,
                  {1, "fork()", "10", 4200, 2, false},
                  later,
                  {0, "exit(1)", "", 4400, 8, false}},
                 {{0, 5, EdgeKind::kStart, ""},
                  {1, 2, EdgeKind::kStart, ""},
                  {2, 3, EdgeKind::kStart, ""},
                  {5, 6, EdgeKind::kStart, ""}}};
  out.evidence = {seen};
  return out;
}

Finding hostile_release(const std::string& bad, const std::string& longest) {
  Finding out = release();
  for (Role& role : out.candidate.roles) role.site.program = role.site.object = bad;
  for (Evidence& evidence : out.evidence) {
    evidence.differences.assign(40, {ConsequenceKind::kCrash, bad});
    evidence.differences.front().detail = longest;
    for (Access& one : evidence.accesses) one.location = longest;
    for (Story* const story : {&evidence.recorded, &evidence.failed}) {
      for (StoryProcess& process : story->processes)
        process.command = process.number % 2 == 0 ? bad : longest;
      for (StoryCall& call : story->calls) {
        call.what += call.racing ? longest : bad;
        call.result = call.racing ? bad : longest;
      }
      for (StoryEdge& edge : story->edges) edge.what = bad;
    }
  }
  return out;
}

Finding crowd() {
  Finding out = release();
  for (Role& role : out.candidate.roles) role.site.object = "/tmp/crowd";
  for (Evidence& evidence : out.evidence) {
    Story story;
    for (uint64_t i = 0; i < 300; ++i) {
      story.processes.push_back({i + 1, i, "worker " + std::to_string(i)});
      story.calls.push_back(
          {static_cast<uint32_t>(i), "fork()", std::to_string(i + 2), i + 1, i, i % 3 == 0});
      if (i > 0)
        story.edges.push_back({static_cast<uint32_t>(i - 1), static_cast<uint32_t>(i),
                               i % 2 == 0 ? EdgeKind::kStream : EdgeKind::kEnd, ""});
    }
    evidence.recorded = evidence.failed = story;
  }
  return out;
}

}  // namespace deadheat::report::fixture

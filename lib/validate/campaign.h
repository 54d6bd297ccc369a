// Shared by run and attach: which of the file's candidates the program can validate, their courses,
// and the evidence for the file.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "lib/confirm/engine.h"
#include "lib/validate/listener.h"
#include "lib/validate/validate.h"

namespace deadheat::validate {

// The engine for one execution, or one running program.
confirm::EngineOptions engine_options(const Options& options, std::function<bool()> stopped);

class Campaign {
 public:
  static Result<Campaign> begin(const Options& options, model::FindingsFile& file,
                                uint64_t fingerprint = 0);

  const CompiledList& list() const { return built_.list; }
  const std::string& key() const { return key_; }
  // For a program that was built for detection: the file that its runtime needs; else empty.
  const std::string& sites() const { return sites_; }

  struct Job {
    size_t course = 0;
    Attempt attempt;
    Wish wish;
  };
  // Up to `most` jobs of different candidates; those that were tried least come first.
  std::vector<Job> next_jobs(size_t most, const std::string& execution);
  Orders orders_for(const std::vector<Job>& jobs) const;

  void learn(const Page& page);
  // Reactivates sites of undecided candidates that inference has left because nothing changed
  // there. Called occasionally while the program runs.
  void look_again(Page& page) const;
  // One of several jobs of an execution that failed: each of them is tried again without others.
  void suspect(const Job& job) { courses_[job.course].course.suspect(job.attempt); }
  // Adds the job's evidence; `consequence` is what the execution did, if this job may be its cause.
  void take(const Job& job, const Answer* answer, const model::Consequence& consequence);
  bool decided() const;
  // For candidates that ended without having met: the reason.
  void say_last_words();
  void fill(Outcome& outcome) const;
  void count(const dhv_counters& counters);
  uint64_t refused = 0;

 private:
  Campaign(const Options& options, model::FindingsFile& file, List list, Built built);
  void make_courses(const Mapping& mapping);
  void leave_out(size_t finding, const std::string& why, uint64_t& counter);
  std::string evidence_id(const std::string& execution, size_t finding) const;

  struct Tried {
    size_t finding;
    Course course;
    std::pair<uint32_t, uint32_t> sites;
    bool over = false;
  };
  bool is_over(const Tried& tried) const;

  const Options* options_;
  model::FindingsFile* file_;
  List wanted_;
  Built built_;
  std::string key_, sites_;
  std::vector<Tried> courses_;
  uint64_t attempts_ = 0, elsewhere_ = 0, gone_ = 0, spins_ = 0, restored_ = 0;
  dhv_counters counters_ = {};
};

}  // namespace deadheat::validate

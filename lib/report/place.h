// Converts the model's roles and steps for a report: clean names, short paths, source lines.
// Source files are read once each, at most kMostSourceBytes of each, and only if the caller allows
// it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "lib/report/report.h"

namespace deadheat::report {

class PlaceMaker {
 public:
  explicit PlaceMaker(const ReportOptions& options) : options_(options) {}

  std::vector<Place> places(const model::Candidate& candidate, const model::Evidence* example);
  std::vector<ShownStep> steps(const model::Candidate& candidate,
                               const model::Evidence& example) const;

 private:
  std::string short_path(const std::string& path) const;
  std::string where(const model::Site& site) const;
  std::vector<SourceLine> source_around(const model::Site& site);
  const std::vector<std::string>& lines_of(const std::string& path);

  const ReportOptions& options_;
  std::map<std::string, std::vector<std::string>> sources_;
};

}  // namespace deadheat::report

#include "lib/report/place.h"

#include <algorithm>

#include "lib/base/text.h"
#include "lib/report/clean_text.h"
#include "lib/report/names.h"

namespace deadheat::report {
namespace {

constexpr uint32_t kLinesAround = 3;
constexpr size_t kLongestSourceLine = 200;  // cells; generated files have longer ones
constexpr size_t kMostFrames = 64;          // for a deep recursion, the inner ones suffice
constexpr size_t kMostLocks = 16;

std::vector<std::string> clean_all(const std::vector<std::string>& names) {
  std::vector<std::string> out;
  for (const std::string& name : names) {
    if (out.size() == kMostLocks) {
      out.push_back("and " + std::to_string(names.size() - kMostLocks) + " more");
      break;
    }
    out.push_back(clean_name(name));
  }
  return out;
}

std::string with_spaces(std::string_view line) {
  std::string out;
  for (const char c : line) c == '\t' ? out.append(4 - out.size() % 4, ' ') : out.append(1, c);
  return out;
}

}  // namespace

std::string PlaceMaker::short_path(const std::string& path) const {
  return clean_name(strip_path(path, options_.strip_prefix));
}

std::string PlaceMaker::where(const model::Site& site) const {
  if (site.kind != model::SiteKind::kCode || site.file.empty())
    return clean_name(model::describe(site));
  std::string text = short_path(site.file);
  if (site.line > 0) text += ":" + std::to_string(site.line);
  return site.function.empty() ? text : clean_name(stable_place(site)) + " " + text;
}

std::vector<Place> PlaceMaker::places(const model::Candidate& candidate,
                                      const model::Evidence* example) {
  std::vector<Place> out;
  for (size_t i = 0; i < candidate.roles.size(); ++i) {
    const model::Role& role = candidate.roles[i];
    Place place;
    place.role = role.name.empty() ? "side " + std::to_string(i + 1) : clean_name(role.name);
    place.action = access_word(role.access);
    if (candidate.kind == model::CandidateKind::kFailure) {
      place.action = role.name.empty() ? "failure" : clean_name(role.name);
      place.role = "failed";
    }
    place.where = where(role.site);
    place.stable = clean_name(stable_place(role.site));
    place.function = clean_name(short_function(role.site.function));
    place.file = short_path(role.site.file);
    place.line = role.site.line;
    place.column = role.site.column;
    if (example != nullptr && i < example->accesses.size()) {
      const model::Access& access = example->accesses[i];
      place.thread = clean_name(access.thread);
      place.thread_origin = clean_name(access.thread_origin);
      place.location = clean_name(access.location);
      place.location_origin = clean_name(access.location_origin);
      place.size = access.size;
      place.event = access.event;
      place.locks = clean_all(access.locks);
      // A watchpoint does not know the held locks.
      place.locks_known = example->proof != model::Proof::kCollision || !access.locks.empty();
      for (const model::Frame& frame : access.stack) {
        if (place.stack.size() == kMostFrames) break;
        place.stack.push_back({clean_name(frame.function), short_path(frame.file), frame.line,
                               clean_name(frame.module), frame.offset});
      }
    }
    place.source = source_around(role.site);
    out.push_back(std::move(place));
  }
  return out;
}

std::vector<ShownStep> PlaceMaker::steps(const model::Candidate& candidate,
                                         const model::Evidence& example) const {
  std::vector<ShownStep> out;
  for (const model::Step& step : example.steps) {
    if (step.role >= candidate.roles.size())
      continue;  // a column that does not exist: damaged input
    ShownStep shown{step.role,  clean_name(step.what), {}, {}, step.site.line, step.event,
                    step.racing};
    const model::Site& site =
        step.site == model::Site{} && step.racing ? candidate.roles[step.role].site : step.site;
    if (site != model::Site{}) {
      shown.where = where(site);
      shown.file = short_path(site.file);
      shown.line = site.line;
    }
    out.push_back(std::move(shown));
  }
  return out;
}

const std::vector<std::string>& PlaceMaker::lines_of(const std::string& path) {
  const auto found = sources_.find(path);
  if (found != sources_.end()) return found->second;
  std::vector<std::string>& lines = sources_[path];
  const auto content = options_.read_source(path);
  if (content && content->find('\0') == std::string::npos)
    for (std::string_view line : split(*content, '\n')) {
      if (line.ends_with('\r')) line.remove_suffix(1);
      lines.push_back(with_spaces(line));
    }
  return lines;
}

std::vector<SourceLine> PlaceMaker::source_around(const model::Site& site) {
  if (options_.read_source && !site.file.empty() && site.line > 0) {
    const std::vector<std::string>& lines = lines_of(site.file);
    if (site.line <= lines.size()) {
      std::vector<SourceLine> out;
      const uint32_t first = site.line > kLinesAround ? site.line - kLinesAround : 1;
      const uint64_t last = std::min<uint64_t>(lines.size(), uint64_t{site.line} + kLinesAround);
      for (uint32_t n = first; n <= last; ++n)
        out.push_back(
            {n, clip(clean(std::string_view(lines[n - 1]).substr(0, 4096)), kLongestSourceLine),
             n == site.line});
      return out;
    }
  }
  if (site.source_text.empty()) return {};
  return {{site.line, clip(clean(site.source_text), kLongestSourceLine), true}};
}

}  // namespace deadheat::report

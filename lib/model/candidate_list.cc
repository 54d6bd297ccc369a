#include "lib/model/candidate_list.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>
#include <tuple>

#include "lib/base/file.h"
#include "lib/base/text.h"
#include "lib/model/json.h"

namespace deadheat::model {
namespace {

constexpr size_t kMostCandidates = 100'000;  // more than a campaign can try

struct Place {
  Role role;
  bool has_access = false;
};

std::vector<std::string_view> words_of(std::string_view line) {
  const bool tabs = line.find('\t') != std::string_view::npos;
  const std::string_view separators = tabs ? "\t" : " ,";
  std::vector<std::string_view> out;
  while (!line.empty()) {
    const size_t end = line.find_first_of(separators);
    const std::string_view word = trim(line.substr(0, end));
    if (!word.empty()) out.push_back(word);
    if (end == std::string_view::npos) break;
    line.remove_prefix(end + 1);
  }
  return out;
}

// Removes ":123" from the end; returns nothing if there is no such suffix.
std::optional<uint32_t> take_number(std::string_view& word) {
  const size_t colon = word.rfind(':');
  if (colon == std::string_view::npos || colon == 0 || colon + 1 == word.size())
    return std::nullopt;
  uint32_t value = 0;
  const char* end = word.data() + word.size();
  const auto [stop, error] = std::from_chars(word.data() + colon + 1, end, value);
  if (error != std::errc() || stop != end || value == 0) return std::nullopt;
  word = word.substr(0, colon);
  return value;
}

std::optional<Place> place_of(std::string_view word) {
  const auto last = take_number(word);
  if (!last) return std::nullopt;
  Place place;
  const auto before = take_number(word);
  place.role.site.line = before ? *before : *last;
  place.role.site.column = before ? *last : 0;
  place.role.site.file = std::string(word);
  return place;
}

std::optional<AccessKind> access_of(std::string_view word, bool atomic) {
  if (word == "read") return atomic ? AccessKind::kAtomicRead : AccessKind::kRead;
  if (word == "write") return atomic ? AccessKind::kAtomicWrite : AccessKind::kWrite;
  if (word == "free" && !atomic) return AccessKind::kFree;
  return std::nullopt;
}

Result<Candidate> candidate_of(std::string_view line) {
  std::vector<Place> places;
  bool atomic = false;
  for (const std::string_view word : words_of(line)) {
    // An access follows its place. In a line with tabs, "atomic write" is a single word.
    const bool joined = word.starts_with("atomic ");
    const auto access = access_of(joined ? trim(word.substr(7)) : word, atomic || joined);
    if (access && !places.empty() && !places.back().has_access) {
      places.back().role.access = *access;
      places.back().has_access = true;
      atomic = false;
    } else if (word == "atomic" && !places.empty() && !atomic) {
      atomic = true;
    } else if (const auto place = place_of(word); place && !atomic && places.size() < 2) {
      places.push_back(*place);
    } else {
      return Error{"'" + std::string(word) + "' is not expected here", ""};
    }
  }
  if (places.empty() || atomic) return Error{"a place is missing: FILE:LINE", ""};
  if (places.size() == 1) places.push_back(places[0]);
  Candidate candidate;
  candidate.roles = {std::move(places[0].role), std::move(places[1].role)};
  candidate.roles[0].name = "first";
  candidate.roles[1].name = "second";
  candidate.found_by = {"list"};
  return candidate;
}

}  // namespace

Result<FindingsFile> parse_candidate_list(std::string_view text) {
  FindingsFile file;
  std::set<std::tuple<Site, AccessKind, Site, AccessKind>> known;
  size_t number = 0;
  for (const std::string_view whole : split(text, '\n')) {
    ++number;
    // '#' starts a comment only where a word could start: file names may contain it.
    size_t comment = whole.starts_with('#') ? 0 : whole.find(" #");
    comment = std::min(comment, whole.find("\t#"));
    const std::string_view line = whole.substr(0, comment);
    if (trim(line).empty()) continue;
    auto candidate = candidate_of(line);
    if (!candidate)
      return Error{"line " + std::to_string(number) + ": " + candidate.error().message,
                   "two places a line, as in: bank.c:31 bank.c:40"};
    const Role& first = candidate->roles[0];
    const Role& second = candidate->roles[1];
    if (!known.insert({first.site, first.access, second.site, second.access}).second) continue;
    if (file.findings.size() >= kMostCandidates)
      return Error{"more than " + std::to_string(kMostCandidates) + " candidates",
                   "split the list"};
    file.findings.push_back({std::move(candidate).value(), {}});
  }
  if (file.findings.empty())
    return Error{"no candidates in it", "two places a line, as in: bank.c:31 bank.c:40"};
  return file;
}

Result<Candidates> read_candidates(const std::string& path) {
  const auto text = read_file(path);
  if (!text) return text.error();
  Candidates out;
  out.listed = !trim(text.value()).starts_with('{');
  auto file = out.listed ? parse_candidate_list(text.value()) : from_json(text.value());
  if (!file) return Error{path + ": " + file.error().message, file.error().hint};
  out.file = std::move(file).value();
  return out;
}

void set_program(FindingsFile& file, const std::string& program) {
  for (Finding& finding : file.findings)
    for (Role& role : finding.candidate.roles)
      if (role.site.kind == SiteKind::kCode && role.site.module.empty()) role.site.module = program;
}

}  // namespace deadheat::model

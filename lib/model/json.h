// findings.json: the versioned JSON form of the model (docs/formats/findings.md,
// findings.schema.json).
//
// Reading never throws, never recurses on its input and is bounded: a document that is too deep or
// has too many values is refused before it is built. Writing is deterministic: fields have a fixed
// order, and defaults are omitted.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/result.h"
#include "lib/model/finding.h"

namespace deadheat::model {

inline constexpr int kFindingsVersion = 3;
inline constexpr int kOldestFindingsVersion = 1;  // the oldest version that is still read
inline constexpr std::string_view kFindingsFormat = "deadheat-findings";

// Bytes that are not UTF-8 (in names that a program chose) are replaced by U+FFFD.
std::string to_json(const FindingsFile& file);

// The same with extra fields that readers ignore: the field "report" of each finding and of the
// document, as JSON text (empty: none). The findings may come from any container.
struct JsonParts {
  const std::vector<Origin>& origins;
  size_t count = 0;
  std::function<const Finding&(size_t)> finding;
  std::function<std::string(size_t)> report_of;
  std::string report;
};
std::string to_json(const JsonParts& parts);
// Errors name the place in the document ("findings[3].roles[0].site: ..."). Unknown fields are
// ignored; an unknown version is an Error with a hint.
Result<FindingsFile> from_json(std::string_view text);

Result<FindingsFile> read_findings(const std::string& path);  // errors name the file
Status write_findings(const std::string& path,
                      const FindingsFile& file);  // replaces the file atomically

}  // namespace deadheat::model

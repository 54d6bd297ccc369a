// findings.json: the versioned JSON form of the model (docs/formats/findings.md,
// findings.schema.json).
//
// Reading never throws, never recurses on its input and is bounded: a document that is too deep or
// has too many values is refused before it is built. Writing is deterministic: fixed order of
// fields, defaults left out.
#pragma once

#include <string>
#include <string_view>

#include "lib/base/result.h"
#include "lib/model/finding.h"

namespace deadheat::model {

inline constexpr int kFindingsVersion = 2;
inline constexpr int kOldestFindingsVersion = 1;  // that is still read
inline constexpr std::string_view kFindingsFormat = "deadheat-findings";

// Bytes that are not UTF-8 (in names that a program chose) are replaced by U+FFFD.
std::string to_json(const FindingsFile& file);
// Errors name the place in the document ("findings[3].roles[0].site: ..."). Unknown fields are
// ignored; an unknown version is an Error with a hint.
Result<FindingsFile> from_json(std::string_view text);

Result<FindingsFile> read_findings(const std::string& path);  // errors name the file
Status write_findings(const std::string& path,
                      const FindingsFile& file);  // replaces the file atomically

}  // namespace deadheat::model

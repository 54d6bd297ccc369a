// findings.json: the versioned JSON form of the model (docs/formats/findings.schema.json).
#pragma once

#include <string>
#include <string_view>

#include "lib/base/result.h"
#include "lib/model/finding.h"

namespace deadheat::model {

inline constexpr int kFindingsVersion = 1;

std::string to_json(const FindingsFile& file);
// Errors name the place in the document ("findings[3].roles[0].site: ..."). Unknown fields are ignored;
// an unknown version is an Error with a hint.
Result<FindingsFile> from_json(std::string_view text);

Result<FindingsFile> read_findings(const std::string& path);
Status write_findings(const std::string& path, const FindingsFile& file);  // replaces the file atomically

}  // namespace deadheat::model

// Candidates as other tools and people write them: a plain list of FILE:LINE pairs.
//
//   # comment
//   FILE:LINE FILE:LINE
//   FILE:LINE:COLUMN write  FILE:LINE read
//   FILE:LINE                                     one place, in two threads
//
// A column and an access (read, write, atomic read, atomic write, free) may follow a place. Spaces
// or commas separate words; in a line with tabs only tabs do, for file names with spaces. A place
// names no program: the verb that uses the list knows which one is meant (set_program).
#pragma once

#include <string>
#include <string_view>

#include "lib/base/result.h"
#include "lib/model/finding.h"

namespace deadheat::model {

struct Candidates {
  FindingsFile file;
  bool listed = false;  // a plain list, not findings.json: never write findings over it
};

// An Error names the line. A pair that is there twice counts once.
Result<FindingsFile> parse_candidate_list(std::string_view text);
// findings.json or a plain list, told apart by the first character.
Result<Candidates> read_candidates(const std::string& path);
// Sites that name no program are in this one.
void set_program(FindingsFile& file, const std::string& program);

}  // namespace deadheat::model

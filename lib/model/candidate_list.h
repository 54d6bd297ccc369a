// Candidates as people and other tools write them: a plain list of FILE:LINE pairs.
//
//   # comment
//   FILE:LINE FILE:LINE
//   FILE:LINE:COLUMN write  FILE:LINE read
//   FILE:LINE                                     one place, in two threads
//
// A column and an access (read, write, atomic read, atomic write, free) may follow a place. Spaces
// or commas separate words; a line with tabs is separated by tabs only, so that file names may
// contain spaces. A place names no program: the verb that uses the list supplies it (set_program).
#pragma once

#include <string>
#include <string_view>

#include "lib/base/result.h"
#include "lib/model/finding.h"

namespace deadheat::model {

struct Candidates {
  FindingsFile file;
  bool listed = false;  // read from a plain list, not findings.json: never write findings over it
};

// An Error names the line. A repeated pair counts once.
Result<FindingsFile> parse_candidate_list(std::string_view text);
// Reads findings.json or a plain list; the first character tells which.
Result<Candidates> read_candidates(const std::string& path);
// Sets the program of all sites that name none.
void set_program(FindingsFile& file, const std::string& program);

}  // namespace deadheat::model

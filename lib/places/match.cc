#include "lib/places/match.h"

#include "lib/model/normalize.h"
#include "lib/places/places.h"

namespace deadheat::places {

NamedPlace name_place(symbols::Symbolizer& symbolizer, symbols::Symbolizer::ModuleId module,
                      uint64_t offset) {
  const auto& frames = symbolizer.frames(module, offset);
  const symbols::SourceFrame* chosen = frames.empty() ? nullptr : &frames[0];
  for (const symbols::SourceFrame& frame : frames)
    if (!is_system_header(frame.file)) {
      chosen = &frame;
      break;
    }
  if (chosen == nullptr) return {};
  return {chosen->function, chosen->file,   symbolizer.source_text(module, *chosen),
          chosen->line,     chosen->column, chosen->function_line};
}

bool same_function(const std::string& a, const std::string& b) {
  return a == b || model::normalize_function(a).name == model::normalize_function(b).name;
}

bool same_file(const std::string& known, const std::string& named) {
  return known == named ||
         (!named.starts_with('/') && known.size() > named.size() && known.ends_with(named) &&
          known[known.size() - named.size() - 1] == '/');
}

Match match(const model::Site& site, const NamedPlace& place, bool same_build) {
  const bool same_line = place.line == site.line && same_file(place.file, site.file);
  // Columns distinguish two accesses on one line.
  const bool same_column = place.column == site.column || place.column == 0 || site.column == 0;
  const Match by_line = !same_line ? Match::kNone : same_column ? Match::kSite : Match::kLine;
  if (same_build) return by_line;
  const Match elsewhere = same_line ? Match::kLine : Match::kNone;
  if (!same_function(place.function, site.function)) return elsewhere;
  const bool same = by_line == Match::kSite ||
                    (!site.source_text.empty() && place.text == site.source_text) ||
                    place.line - place.function_line == site.line - site.function_line;
  return same ? Match::kSite : elsewhere;
}

}  // namespace deadheat::places

// Makes text safe for a report. Names come from traces, binaries and other machines and can
// contain anything.
//
// Invariant: the result of clean() is valid UTF-8 without control, bidirectional-override or
// non-character code points, so a name can neither control a terminal nor break a document.
// build_report cleans every string of a Report once; writers only add their format's own
// escapes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace deadheat::report {

// Control characters become visible ("\x1b"), invalid bytes U+FFFD, tabs one space.
std::string clean(std::string_view text);
// At most `cells` columns wide: the middle is replaced by "…". Counts every non-ASCII code point as
// two cells, which is never too few.
std::string clip(std::string_view text, size_t cells);
size_t width(std::string_view text);
// clean, then clip, for names. Longer symbols are templates that are never read in
// full.
inline constexpr size_t kLongestName = 400;
std::string clean_name(std::string_view text);

std::string html_escape(std::string_view text);  // also right for XML attributes and text
std::string uri_escape(std::string_view path);   // percent-encodes all but unreserved and '/'

}  // namespace deadheat::report

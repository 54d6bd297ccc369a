// Makes text from outside safe to show to people.
//
// Names come from traces, binaries, file names, the environment and other machines, and can hold
// anything. Invariant: the result of printable() is valid UTF-8 without control,
// bidirectional-override or non-character code points, so that it can neither drive a terminal nor
// break a document. Reports (lib/report/clean_text.h) and messages (apps/say.h) both use it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace deadheat {

// Control characters become visible ("\x1b"), invalid bytes U+FFFD, tabs one space.
std::string printable(std::string_view text);
// The same with line breaks and tabs left as they are.
std::string printable_lines(std::string_view text);

// Decodes the UTF-8 sequence at the front of `text`, which must not be empty. Returns its length
// and sets `point`; returns 0 if it is malformed.
size_t decode_utf8(std::string_view text, uint32_t& point);

}  // namespace deadheat

// Which code points change how the text around them is shown, or are forbidden in XML. They must
// reach neither a terminal nor a document as they are.
#pragma once

#include <cstdint>

namespace deadheat {

constexpr bool is_invisible(uint32_t point) {
  return point < 0x20 || (point >= 0x7f && point < 0xa0) || (point >= 0x200b && point <= 0x200f) ||
         (point >= 0x2028 && point <= 0x202e) || (point >= 0x2060 && point <= 0x206f) ||
         point == 0xfeff || (point & 0xfffe) == 0xfffe;
}

}  // namespace deadheat

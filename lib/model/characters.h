// Classes of characters that do not depend on the locale.
#pragma once

namespace deadheat::model {

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace deadheat::model

// Parts of the HTML report for other pages (the hive's): the content of one finding, and the style
// sheet that it expects. All text is escaped; there is no script and no inline style.
#pragma once

#include <string>
#include <string_view>

#include "lib/report/report.h"

namespace deadheat::report {

// Facts, both sides with source and stack, and the picture. `id` makes the contained ids unique.
std::string html_finding(const Entry& entry, const std::string& id);
std::string_view html_style();

}  // namespace deadheat::report

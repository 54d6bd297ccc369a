// A race between processes on the page: a card for each racing process, then the picture of the
// recorded order and that of the failing order.
#include <algorithm>

#include "lib/report/clean_text.h"
#include "lib/report/story.h"

namespace deadheat::report {
namespace {

constexpr size_t kCellsBeside = 46, kCellsBelow = 90;
constexpr double kWidthBeside = 680;  // scaled to about three quarters on the narrowest page

std::string row(const char* label, const std::string& words) {
  return std::string("<dt>") + label + "</dt><dd>" +
         (words.empty() ? "<i>did not happen</i>" : "<code>" + html_escape(words) + "</code>") +
         "</dd>";
}

std::string card(const Racer& racer, bool has_failed) {
  std::string out = "<section class=\"side racer\"><header><h3>" + std::string(1, racer.letter) +
                    " \xc2\xb7 process " + std::to_string(racer.process.number) +
                    "</h3><p class=\"mono\">" + html_escape(racer.process.command) + "</p>";
  if (racer.process.parent > 0) {
    out += "<p>started by process " + std::to_string(racer.process.parent);
    if (!racer.parent_command.empty())
      out += ": <span class=\"mono\">" + html_escape(racer.parent_command) + "</span>";
    out += "</p>";
  }
  out += "</header><dl class=\"calls\">" + row("recorded", racer.recorded);
  if (has_failed) out += row("failed", racer.failed);
  return out + "</dl></section>";
}

std::string figure(const char* heading, const std::string& svg) {
  if (svg.empty()) return {};
  return std::string("<section class=\"order\"><h3>") + heading +
         "</h3><div class=\"scroll\" tabindex=\"0\">" + svg + "</div></section>";
}

}  // namespace

std::string story_html(const Entry& entry, const std::string& id) {
  const std::vector<Racer> all = racers(entry);
  std::string out = "<div class=\"sides\">";
  for (const Racer& racer : all) out += card(racer, !entry.failed.calls.empty());
  // Side by side if both stay legible, otherwise one below the other.
  const bool beside = std::max(story_width(entry.recorded, kCellsBeside),
                               story_width(entry.failed, kCellsBeside)) <= kWidthBeside;
  const size_t cells = beside ? kCellsBeside : kCellsBelow;
  out += std::string("</div><figure><div class=\"orders") + (beside ? "" : " below") + "\">";
  out += figure("The recorded order", story_svg(entry.recorded, all, id + "-r",
                                                "The recorded order, time downward", cells));
  out += figure("The order that failed", story_svg(entry.failed, all, id + "-x",
                                                   "The order that failed, time downward", cells));
  return out +
         "</div><figcaption>A line a process, from its start to its exit; time runs downward. "
         "Arrows "
         "are what orders processes: a start, a death that was waited for, bytes read, a signal "
         "(dotted). The dashed arrow joins the racing calls, which nothing orders. Gaps in a line "
         "are calls left out; rest the pointer on anything for its full "
         "text.</figcaption></figure>";
}

}  // namespace deadheat::report

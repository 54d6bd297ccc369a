#include "lib/report/formats.h"

#include "lib/base/text.h"

namespace deadheat::report {
namespace {

// Most writers need nothing but the report.
template <auto kWrite>
std::string plain(const Report& report, const WriteContext&) {
  return kWrite(report);
}

std::string text(const Report& report, const WriteContext& context) {
  return write_text(report, context.style);
}
std::string sarif(const Report& report, const WriteContext& context) {
  return write_sarif(report, {.exit_code = context.exit_code});
}
std::string html(const Report& report, const WriteContext&) { return write_html(report); }

constexpr Format kFormats[] = {
    {"text", ".txt", text},
    {"json", ".json", plain<write_json>},
    {"sarif", ".sarif .sarif.json", sarif},
    {"junit", ".xml", plain<write_junit>},
    {"html", ".html .htm", html},
    {"tsan", ".log", plain<write_tsan>},
    {"github", "", plain<write_github>},
};

}  // namespace

std::span<const Format> formats() { return kFormats; }

const Format* find_format(std::span<const Format> among, std::string_view name) {
  for (const Format& one : among)
    if (one.name == name) return &one;
  return nullptr;
}

const Format* format_of_path(std::span<const Format> among, std::string_view path) {
  const Format* best = nullptr;
  size_t longest = 0;
  for (const Format& one : among)
    for (const std::string_view ending : split(one.endings, ' '))
      if (ending.size() > longest && path.ends_with(ending)) {
        best = &one;
        longest = ending.size();
      }
  return best;
}

std::string format_names(std::span<const Format> among) {
  std::string names;
  for (size_t i = 0; i < among.size(); ++i)
    names += (i == 0 ? "" : i + 1 == among.size() ? " or " : ", ") + std::string(among[i].name);
  return names;
}

}  // namespace deadheat::report

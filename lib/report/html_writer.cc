// One self-contained HTML page: summary, notices, and every finding with its facts, both sides and
// the picture. Works without scripts and without a network; it loads nothing.
#include "lib/base/text.h"
#include "lib/report/clean_text.h"
#include "lib/report/facts.h"
#include "lib/report/html_part.h"
#include "lib/report/html_style.h"
#include "lib/report/names.h"
#include "lib/report/picture.h"
#include "lib/report/story.h"
#include "lib/report/writers.h"

namespace deadheat::report {
namespace {

constexpr size_t kInOnePart = 1000;  // titles that open together

class Page {
 public:
  Page(const Report& report, size_t most_details) : report_(report), most_details_(most_details) {}

  std::string write() {
    head();
    group("New",
          [](const Entry& entry) { return !entry.suppressed && entry.novelty == Novelty::kNew; });
    group("Known",
          [](const Entry& entry) { return !entry.suppressed && entry.novelty != Novelty::kNew; });
    group("Suppressed", [](const Entry& entry) { return entry.suppressed; });
    if (!report_.fixed.empty()) {
      out_ += "<h2 class=\"group\">No longer seen</h2><ul class=\"plain\">";
      for (const Entry& entry : report_.fixed) title_line(entry);
      out_ += "</ul>";
    }
    out_ +=
        "<p id=\"none\" hidden>No finding holds this "
        "text.</p></main><footer>Deadheat " DEADHEAT_VERSION
        ". This page is complete in itself and loads nothing.</footer><script>";
    out_ += kHtmlScript;
    out_ += "</script></body></html>\n";
    return std::move(out_);
  }

  std::string write_body(const Entry& entry, const std::string& anchor) {
    body(entry, anchor);
    return std::move(out_);
  }

 private:
  void text(std::string_view words) { out_ += html_escape(words); }

  void stat(uint64_t value, const char* word, bool hot = false) {
    out_ += std::string("<li class=\"") +
            (value == 0 ? "zero"
             : hot      ? "hot"
                        : "") +
            "\"><b>" + with_thousands(value) + "</b>" + word + "</li>";
  }

  void head() {
    const std::string title = headline(report_);
    out_ +=
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
        "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">"
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
        "'unsafe-inline'; "
        "script-src 'unsafe-inline'; img-src data:\"><link rel=\"icon\" href=\"data:,\"><title>";
    text(title);
    out_ += " \xc2\xb7 Deadheat</title><style>";
    out_ += kHtmlStyle;
    out_ +=
        "</style></head><body><header><div class=\"brand\"><b>Deadheat</b> race report</div><h1>";
    text(verdict_words(report_));
    out_ += "<span>";
    text(scope_words(report_));
    out_ += "</span></h1>";
    if (const std::string incomplete = incomplete_words(report_); !incomplete.empty()) {
      out_ += "<p class=\"incomplete\">";
      text(incomplete);
      out_ += "</p>";
    }
    for (const model::Origin& origin : report_.origins) {
      out_ += "<p class=\"origin-line\"><code>";
      std::string words = "deadheat " + origin.verb;
      if (!origin.strategy.empty()) {
        words += " --strategy " + origin.strategy;
      } else if (!origin.engine.empty() && origin.engine != origin.verb) {
        words += " --engine " + origin.engine;
      }
      text(clean_name(words));
      out_ += "</code> ";
      text(clean_name(origin.input));
      out_ += "</p>";
    }
    const Summary& s = report_.summary;
    out_ += "</header><main><ul class=\"stats\">";
    stat(s.harmful, "harmful", true);
    stat(s.made_to_happen, "made to happen", true);
    stat(s.observed, "observed", true);
    stat(s.candidates, s.candidates == 1 ? "candidate" : "candidates");
    stat(s.likely_false, "likely false");
    if (report_.has_baseline) stat(s.known, "known");
    stat(s.suppressed, "suppressed");
    if (report_.has_baseline) stat(s.fixed, "no longer seen");
    out_ += "</ul>";
    notices();
    if (!report_.entries.empty())
      out_ +=
          "<div class=\"tools\"><input id=\"filter\" type=\"search\" placeholder=\"Filter by "
          "function, file, variable\" "
          "aria-label=\"Filter findings\"><button id=\"open\" type=\"button\">Open all</button>"
          "<button id=\"close\" type=\"button\">Close all</button></div>";
    else
      out_ +=
          "<div hidden><input id=\"filter\"><button id=\"open\"></button><button "
          "id=\"close\"></button></div>";
  }

  void notices() {
    if (report_.notices.empty()) return;
    out_ += "<section class=\"notes\"><h2>What this report lacks, and what to look after</h2><ul>";
    for (const Notice& notice : report_.notices) {
      out_ += "<li data-code=\"" + html_escape(notice.code) + "\">";
      text(notice.text);
      out_ += "</li>";
    }
    out_ += "</ul></section>";
  }

  void title_line(const Entry& entry) {
    out_ += "<li><span class=\"id\">";
    text(entry.id);
    out_ += "</span>";
    text(entry.title);
    out_ += "</li>";
  }

  template <typename Wanted>
  void group(const char* heading, Wanted wanted) {
    bool any = false;
    size_t listed = 0;
    for (const Entry& entry : report_.entries) {
      if (!wanted(entry)) continue;
      if (!any) out_ += std::string("<h2 class=\"group\">") + heading + "</h2>";
      any = true;
      if (written_ < most_details_) {
        finding(entry);
        continue;
      }
      if (listed == 0)
        out_ += "<p>Only the first " + with_thousands(most_details_) +
                " findings have details here; findings.json and SARIF have all.</p>";
      // Closed parts cost a browser nothing, however many there are.
      if (listed % kInOnePart == 0)
        out_ += std::string(listed == 0 ? "" : "</ul></details>") +
                "<details class=\"more\"><summary>Titles from " + with_thousands(listed + 1) +
                " on</summary><ul class=\"plain\">";
      ++listed;
      title_line(entry);
    }
    if (listed > 0) out_ += "</ul></details>";
  }

  void finding(const Entry& entry) {
    const std::string anchor = "f" + std::to_string(++written_);
    out_ += "<details class=\"finding\" id=\"" + anchor + "\"" +
            (written_ == 1 && !entry.suppressed ? " open" : "") +
            "><summary><span class=\"head\"><span class=\"title\"><span class=\"badge " +
            std::string(rank_id(entry.rank)) + "\">" + std::string(rank_title(entry.rank)) +
            "</span>";
    text(entry.title);
    out_ += "</span><span class=\"where\">";
    const std::vector<Racer> processes = racers(entry);
    for (const Racer& racer : processes)
      text((racer.letter == 'A' ? "" : " \xc2\xb7 ") + clip(racer.process.command, 80));
    for (const Place& place : entry.places) {
      if (!processes.empty()) break;
      if (&place != entry.places.data()) out_ += " \xc2\xb7 ";
      text(place.where);
    }
    out_ += "</span></span><span class=\"id\">";
    text(entry.id);
    out_ += "</span></summary><div class=\"body\">";
    body(entry, anchor);
    out_ += "</div></details>";
  }

  void body(const Entry& entry, const std::string& anchor) {
    facts(entry);
    if (!entry.recorded.calls.empty()) {
      out_ += story_html(entry, anchor);
    } else {
      out_ += "<div class=\"sides\">";
      for (const Place& place : entry.places) side(place);
      out_ += "</div>";
      picture(entry, anchor);
    }
  }

  void fact(const char* label, const std::string& words, bool code = false) {
    if (words.empty()) return;
    out_ += std::string("<dt>") + label + "</dt><dd>" + (code ? "<code>" : "");
    text(words);
    out_ += code ? "</code></dd>" : "</dd>";
  }

  void facts(const Entry& entry) {
    out_ += "<dl class=\"facts\">";
    if (entry.suppressed)
      fact("Suppressed",
           "by " + entry.suppressed_by +
               (entry.suppression_reason.empty() ? "" : ": " + entry.suppression_reason));
    if (entry.novelty == Novelty::kKnown) fact("Known", "It is in the baseline.");
    if (entry.novelty == Novelty::kLikelyKnown)
      fact("Known", "It is likely the one in the baseline; the code around it changed.");
    if (!entry.memory.empty()) fact("Memory", entry.memory);
    if (!entry.recorded.calls.empty() && !entry.places.empty())
      fact("Object", entry.places.front().location);
    fact("Why", entry.why + (entry.locks.empty() ? "" : " " + entry.locks));
    fact("How sure", entry.sureness + (entry.dependence.empty() ? "" : " " + entry.dependence));
    if (entry.broken.size() < 2) {
      fact("What it does", entry.effect);
    } else {
      out_ += "<dt>What broke</dt><dd><ul class=\"broken\">";
      for (const std::string& one : entry.broken) out_ += "<li>" + html_escape(one) + "</li>";
      out_ += "</ul></dd>";
    }
    fact("Repeat", entry.repeat, true);
    fact("Silence", entry.silence, true);
    out_ += "</dl>";
  }

  void side(const Place& place) {
    out_ += "<section class=\"side\"><header><h3>";
    std::string heading = place.action;
    if (place.size > 0) heading += " of " + plural(place.size, "byte");
    if (!place.location.empty()) heading += " at " + place.location;
    heading[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(heading[0])));
    text(heading);
    out_ += "</h3><p>";
    text(place.role + (place.thread.empty() ? "" : ", " + place.thread) +
         (place.thread_origin.empty() ? "" : " (" + place.thread_origin + ")") +
         (place.event > 0 ? ", event " + with_thousands(place.event) : ""));
    out_ += "</p><p class=\"mono\">";
    text(place.where);
    out_ += "</p>";
    if (place.locks_known) {
      out_ += "<p>";
      text(place.locks.empty() ? "No lock held" : "Holds " + join(place.locks, ", "));
      out_ += "</p>";
    }
    out_ += "</header>";
    if (!place.source.empty()) {
      out_ += "<pre class=\"code\">";
      for (const SourceLine& line : place.source) {
        out_ += std::string("<span") + (line.here ? " class=\"here\"" : "") + "><i>" +
                (line.number > 0 ? std::to_string(line.number) : "") + "</i>";
        text(line.text);
        out_ += "</span>";
      }
      out_ += "</pre>";
    }
    stack(place);
    out_ += "</section>";
  }

  void stack(const Place& place) {
    if (place.stack.empty()) return;
    out_ += "<ol class=\"stack\" start=\"0\">";
    for (const model::Frame& frame : place.stack) {
      out_ += "<li>";
      text(frame.function.empty() ? "??" : frame.function);
      out_ += " <span>";
      if (!frame.file.empty()) {
        text(frame.file + (frame.line > 0 ? ":" + std::to_string(frame.line) : ""));
      } else if (!frame.module.empty()) {
        text(frame.module + "+" + hex(frame.offset));
      }
      out_ += "</span></li>";
    }
    out_ += "</ol>";
  }

  void picture(const Entry& entry, const std::string& anchor) {
    const std::string svg = picture_svg(draw_picture(entry), anchor);
    if (svg.empty()) return;
    out_ += "<figure><div class=\"scroll\" tabindex=\"0\">" + svg + "</div><figcaption>";
    out_ += entry.steps.empty() ? "The accesses; the steps around them were not recorded. "
                                : "The observed order, time downward. ";
    out_ += "Grey bars are locks held, solid arrows order the threads";
    out_ += entry.ordered ? "." : ", the dashed arrow is the edge that is missing.";
    out_ += "</figcaption></figure>";
  }

  const Report& report_;
  const size_t most_details_;
  size_t written_ = 0;
  std::string out_;
};

}  // namespace

std::string write_html(const Report& report, size_t most_details) {
  return Page(report, most_details).write();
}

std::string html_finding(const Entry& entry, const std::string& id) {
  const Report none;
  return Page(none, 0).write_body(entry, id);
}

std::string_view html_style() { return kHtmlStyle; }

}  // namespace deadheat::report

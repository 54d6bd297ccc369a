#include "lib/process/judge/checkers.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>
#include <set>
#include <tuple>

#include "lib/base/text.h"
#include "lib/process/judge/file_checker.h"

namespace deadheat::process::judge {
namespace {

using model::ConsequenceKind;

constexpr size_t kMostShown = 200;  // of a line

constexpr std::string_view kNewError = "an error that no other run had: ";

// Signals that a program causes itself; others are sent, and ending a program with them is often
// intended.
constexpr std::array kCrashes = {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};

// In lower case. "fail" covers failed and failure.
constexpr std::array<std::string_view, 26> kErrorWords = {
    "error",          "fail",      "cannot",        "can't",       "could not",
    "couldn't",       "unable to", "no such",       "denied",      "fatal",
    "corrupt",        "not found", "not permitted", "panic",       "segmentation fault",
    "core dumped",    "aborted",   "traceback",     "exception",   "file exists",
    "already exists", "timed out", "refused",       "broken pipe", "unexpected",
    "damaged"};

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

std::string signal_name(int signal) {
  const char* name = ::sigabbrev_np(signal);
  return name == nullptr ? "signal " + std::to_string(signal) : "SIG" + std::string(name);
}

std::string shown(std::string_view line) {
  return "\"" + std::string(line.substr(0, kMostShown)) + "\"";
}

std::vector<std::string> sorted(std::vector<std::string> lines) {
  std::sort(lines.begin(), lines.end());
  return lines;
}

class Judge {
 public:
  Judge(const Outcome& seen, const Reference& reference, const Reference& more) : seen_(seen) {
    for (const Reference* const one : {&reference, &more})
      for (const Outcome& run : one->outcomes()) (run.timed_out ? hung_ : good_).push_back(&run);
  }

  std::vector<Difference> run() {
    end();
    if (!seen_.timed_out && !good_.empty()) {
      printed();
      error_lines();
      const std::vector<Difference> files = judge_files(seen_.files, good_);
      found_.insert(found_.end(), files.begin(), files.end());
      failures(!found_.empty());
    }
    std::sort(found_.begin(), found_.end(), [](const Difference& a, const Difference& b) {
      if (a.consequence.kind != b.consequence.kind) return a.consequence.kind > b.consequence.kind;
      return std::tie(a.object, a.consequence.detail) < std::tie(b.object, b.consequence.detail);
    });
    return std::move(found_);
  }

 private:
  void add(ConsequenceKind kind, std::string detail, std::string object = "") {
    found_.push_back({{kind, std::move(detail)}, std::move(object)});
  }
  template <typename Holds>
  bool in_any(Holds holds) const {
    return std::any_of(good_.begin(), good_.end(), [&](const Outcome* run) { return holds(*run); });
  }

  void end() {
    if (seen_.timed_out) {
      if (hung_.empty()) add(ConsequenceKind::kHang, "did not end within the time it was given");
      return;
    }
    const auto same_signal = [&](const Outcome& run) { return run.signal == seen_.signal; };
    if (seen_.signal != 0 && !in_any(same_signal))
      return add(ConsequenceKind::kCrash, "ended by " + signal_name(seen_.signal));
    const auto same_status = [&](const Outcome& run) {
      return run.signal == 0 && run.status == seen_.status;
    };
    if (seen_.signal != 0 || good_.empty() || in_any(same_status)) return;
    const std::string usual = std::to_string(good_[0]->status);
    // A recording that failed: this order is the cure, and the race is just as true.
    add(ConsequenceKind::kExitStatus,
        seen_.status == 0 && good_[0]->signal == 0
            ? "ends well, and fails in the recorded order (exit status " + usual + ")"
            : "exit status " + std::to_string(seen_.status) + " instead of " + usual);
  }

  void printed() {
    std::set<std::vector<std::string>> known;
    for (const Outcome* run : good_) known.insert(sorted(run->out));
    output_varies_ = known.size() > 1;
    const std::vector<std::string>& usual = *known.begin();
    const std::vector<std::string> words = words_in(usual);
    // If only the order differs, the printed text counts all the same.
    if (output_varies_ && (words.empty() || words_in(seen_.out) == words ||
                           std::any_of(known.begin(), known.end(),
                                       [&](const auto& run) { return words_in(run) != words; })))
      return;
    std::vector<std::string> lines = sorted(seen_.out), extra, missing;
    std::set_difference(lines.begin(), lines.end(), usual.begin(), usual.end(),
                        std::back_inserter(extra));
    std::set_difference(usual.begin(), usual.end(), lines.begin(), lines.end(),
                        std::back_inserter(missing));
    if (!extra.empty())
      add(ConsequenceKind::kOutputDiffers, "printed " + shown(extra[0]), "standard output");
    else if (!missing.empty())
      add(ConsequenceKind::kOutputDiffers, "did not print " + shown(missing[0]), "standard output");
  }

  void error_lines() {
    std::set<std::string_view> known;
    for (const Outcome* run : good_) {
      for (const std::vector<std::string>* stream : {&run->out, &run->err})
        known.insert(stream->begin(), stream->end());
      for (const ChangedFile& file : run->files)
        if (is_log(file.path)) known.insert(file.lines.begin(), file.lines.end());
    }
    const auto look = [&](const std::vector<std::string>& lines, const std::string& where) {
      for (const std::string& line : lines)
        if (is_error_line(line) && !known.contains(line))
          return add(ConsequenceKind::kOutputDiffers, std::string(kNewError) + shown(line), where);
    };
    look(seen_.err, "standard error");
    if (output_varies_) look(seen_.out, "standard output");  // otherwise compared as a whole
    for (const ChangedFile& file : seen_.files)
      if (is_log(file.path)) look(file.lines, file.path);
  }

  // `visible`: something else differs too. Otherwise the program that started the failed command
  // handled the failure, like one that tries until it succeeds (until mkdir lock; do ...).
  void failures(bool visible) {
    for (const CommandFailure& failure : seen_.failures) {
      const auto failed_too = [&](const Outcome& run) {
        return std::any_of(
            run.failures.begin(), run.failures.end(), [&](const CommandFailure& other) {
              return other.words == failure.words && (other.signal != 0) == (failure.signal != 0);
            });
      };
      if (in_any(failed_too)) continue;
      const bool crashed =
          std::find(kCrashes.begin(), kCrashes.end(), failure.signal) != kCrashes.end();
      const std::string words = shown(failure.words);
      if (crashed) {
        add(ConsequenceKind::kCrash, words + " ended by " + signal_name(failure.signal),
            failure.words);
      } else if (failure.signal == 0 && visible) {
        add(ConsequenceKind::kExitStatus,
            words + " failed with status " + std::to_string(failure.status), failure.words);
      }
    }
  }

  const Outcome& seen_;
  std::vector<const Outcome*> good_, hung_;
  std::vector<Difference> found_;
  bool output_varies_ = false;
};

}  // namespace

void Reference::add(Outcome outcome) { runs_.push_back(std::move(outcome)); }

std::vector<Difference> judge(const Outcome& outcome, const Reference& reference,
                              const Reference& more) {
  return Judge(outcome, reference, more).run();
}

bool fails(const std::vector<Difference>& differences) {
  const auto any = [&](auto holds) {
    return std::any_of(differences.begin(), differences.end(), holds);
  };
  const auto of_a_command = [](const Difference& one) {
    return one.consequence.kind == ConsequenceKind::kExitStatus && !one.object.empty();
  };
  return any([&](const Difference& one) {
           return one.consequence.kind > ConsequenceKind::kOutputDiffers && !of_a_command(one);
         }) ||
         (any(of_a_command) &&
          any([](const Difference& one) { return one.consequence.detail.starts_with(kNewError); }));
}

std::string what_broke(const std::vector<Difference>& differences) {
  std::vector<std::string> broken;
  for (const Difference& one : differences) broken.push_back(one.consequence.detail);
  std::sort(broken.begin(), broken.end());
  return join(broken, "\n");
}

bool is_error_line(std::string_view line) {
  const std::string small = lower(line);
  // Not an error: a summary that reports none.
  for (const std::string_view none :
       {"0 errors", "no errors", "0 failed", "0 failures", "without error"})
    if (small.find(none) != std::string::npos) return false;
  return std::any_of(kErrorWords.begin(), kErrorWords.end(),
                     [&](std::string_view word) { return small.find(word) != std::string::npos; });
}

bool is_log(std::string_view path) {
  return path.ends_with(".log") || path.find("/log/") != std::string_view::npos ||
         path.find("/logs/") != std::string_view::npos;
}

}  // namespace deadheat::process::judge

#include "lib/process/judge/outcome.h"

#include <sys/stat.h>

#include "lib/base/file.h"
#include "lib/base/text.h"

namespace deadheat::process::judge {
namespace {

constexpr size_t kMostPrinted = 4 << 20;  // bytes of a stream; the rest is not compared

std::string read_start(const std::string& path) {
  auto text = read_file(path);
  return text ? text.value().substr(0, kMostPrinted) : std::string();
}

}  // namespace

CommandFailure make_failure(const std::vector<std::string>& words, int status, int signal,
                            const RunMask& mask) {
  CommandFailure failure;
  failure.status = status;
  failure.signal = signal;
  if (!words.empty()) failure.program = words[0].substr(words[0].rfind('/') + 1);
  failure.words = mask_run_text(join(words, " "), mask);
  return failure;
}

std::vector<std::string> masked_lines(std::string_view text, const RunMask& mask) {
  std::vector<std::string> lines;
  if (text.empty()) return lines;
  if (text.back() == '\n') text.remove_suffix(1);
  const std::string masked = mask_run_text(text, mask);
  for (const std::string_view line : split(masked, '\n')) lines.emplace_back(line);
  return lines;
}

Result<Outcome> read_outcome(const std::string& folder, const RunMask& mask) {
  Outcome outcome;
  outcome.out = masked_lines(read_start(folder + "/out"), mask);
  outcome.err = masked_lines(read_start(folder + "/err"), mask);
  struct stat info = {};
  if (::stat((folder + "/upper").c_str(), &info) != 0) return outcome;
  auto files = read_changed_files(folder + "/upper", mask);
  if (!files) return files.error();
  outcome.files = std::move(*files);
  return outcome;
}

}  // namespace deadheat::process::judge

#include "lib/symbols/source_text.h"

#include <sys/stat.h>

#include <algorithm>

#include "lib/base/file.h"

namespace deadheat::symbols {
namespace {

std::string folded(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool blank = c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v';
    if (blank && (out.empty() || out.back() == ' ')) continue;
    out += blank ? ' ' : c;
  }
  if (out.ends_with(' ')) out.pop_back();
  return out;
}

}  // namespace

const SourceText::File& SourceText::file(const std::string& path) {
  const auto [entry, added] = files_.try_emplace(path);
  File& file = entry->second;
  struct stat info{};
  if (!added || ::stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode) ||
      static_cast<uint64_t>(info.st_size) > kMostBytes)
    return file;
  auto content = read_file(path);
  if (!content || content->find('\0') != std::string::npos) return file;
  file.modified_ns =
      static_cast<int64_t>(info.st_mtim.tv_sec) * 1'000'000'000 + info.st_mtim.tv_nsec;
  file.content = std::move(*content);
  file.starts.push_back(0);
  for (size_t at = 0; (at = file.content.find('\n', at)) != std::string::npos;)
    file.starts.push_back(++at);
  return file;
}

std::string SourceText::line(const std::string& path, uint32_t number, int64_t built_ns,
                             size_t bytes) {
  if (number == 0 || !path.starts_with('/')) return {};
  const File& from = file(path);
  if (number > from.starts.size()) return {};
  if (built_ns != 0 && from.modified_ns > built_ns) {
    if (!from.told) newer_.push_back(path);
    files_[path].told = true;
    return {};
  }
  const size_t begin = from.starts[number - 1];
  const size_t end = number < from.starts.size() ? from.starts[number] - 1 : from.content.size();
  std::string text = folded(
      std::string_view(from.content).substr(begin, std::min({end - begin, bytes, 4 * kLongest})));
  if (text.size() > kLongest) text.resize(kLongest);
  return text;
}

}  // namespace deadheat::symbols

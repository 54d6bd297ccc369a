#include "compiler/scan/cache.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <utility>
#include <vector>

#include "lib/base/file.h"
#include "lib/base/text.h"

namespace deadheat::scan {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostFiles = 40;
constexpr const char* kFindings = ".findings.json";
constexpr const char* kFacts = ".facts.json";

// Another build of the scanner may come to other results.
std::string own_identity() {
  struct stat info{};
  if (::stat("/proc/self/exe", &info) != 0) return {};
  return std::to_string(info.st_size) + " " + std::to_string(info.st_mtim.tv_sec) + " " +
         std::to_string(info.st_mtim.tv_nsec);
}

// Whole or not at all: a scan that is killed here leaves no half of a file under its name.
bool copy(const std::string& from, const std::string& to) {
  const auto text = read_file(from);
  if (!text) return false;
  const std::string temporary = to + ".tmp." + std::to_string(::getpid());
  std::error_code error;
  if (const Status written = write_file(temporary, text.value()); !written) {
    fs::remove(temporary, error);
    return false;
  }
  fs::rename(temporary, to, error);
  return !error;
}

}  // namespace

Cache::Cache(const std::string& folder, const std::string& key) : folder_(folder) {
  if (!folder.empty())
    stem_ = folder + "/" + hex(stable_hash(key, stable_hash(own_identity()))).substr(2);
}

bool Cache::fetch(const std::string& findings, const std::string& facts) const {
  if (folder_.empty()) return false;
  const std::pair<std::string, std::string> wanted[] = {{stem_ + kFindings, findings},
                                                        {stem_ + kFacts, facts}};
  for (const auto& [kept, path] : wanted)
    if (!path.empty() && ::access(kept.c_str(), R_OK) != 0) return false;
  for (const auto& [kept, path] : wanted) {
    if (path.empty()) continue;
    const auto text = read_file(kept);
    if (!text || !write_file(path, text.value())) return false;
  }
  return true;
}

void Cache::keep(const std::string& findings, const std::string& facts) const {
  if (folder_.empty()) return;
  std::error_code error;
  fs::create_directories(folder_, error);
  if (!findings.empty()) copy(findings, stem_ + kFindings);
  if (!facts.empty()) copy(facts, stem_ + kFacts);
  forget_oldest();
}

void Cache::forget_oldest() const {
  std::error_code error;
  std::vector<std::pair<fs::file_time_type, fs::path>> files;
  for (fs::directory_iterator at(folder_, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (!name.ends_with(kFindings) && !name.ends_with(kFacts)) continue;
    std::error_code gone;
    const auto time = fs::last_write_time(at->path(), gone);
    if (!gone) files.emplace_back(time, at->path());
  }
  std::sort(files.begin(), files.end());
  for (size_t i = 0; i + kMostFiles < files.size(); ++i) fs::remove(files[i].second, error);
}

}  // namespace deadheat::scan

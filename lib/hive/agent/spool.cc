#include "lib/hive/agent/spool.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <set>

#include "lib/base/file.h"
#include "lib/base/scoped_fd.h"
#include "lib/base/text.h"
#include "lib/hive/api/json.h"

namespace deadheat::hive::agent {
namespace {

constexpr char kLost[] = ".lost";

std::string line_of(const std::string& instance, const api::JobResult& result) {
  api::Results one;
  one.instance = instance;
  one.results.push_back(result);
  return api::encode(one) + "\n";
}

}  // namespace

Status Spool::load() {
  const std::lock_guard lock(mutex_);
  constexpr uint64_t kMostDigits = 32;
  if (const auto lost = read_file(path_ + kLost, kMostDigits); lost)
    dropped_ = std::strtoull(lost.value().c_str(), nullptr, 10);
  if (struct stat status = {}; ::stat(path_.c_str(), &status) != 0) return Ok{};
  auto text = read_file(path_);
  if (!text) return text.error();
  for (const std::string_view line : split(text.value(), '\n')) {
    if (line.empty()) continue;
    auto one = api::decode_results(line);
    if (!one || one->results.size() != 1) {
      lose(1);  // the agent was killed in the middle of a line
      continue;
    }
    entries_.push_back({one->instance, std::string(line) + "\n", one->results[0]});
    bytes_ += line.size() + 1;
  }
  rewrite();
  return Ok{};
}

void Spool::add(const std::string& instance, const api::JobResult& result) {
  const std::lock_guard lock(mutex_);
  Entry entry{instance, line_of(instance, result), result};
  if (sent_bytes_ > 0 && bytes_ + sent_bytes_ + entry.line.size() > most_bytes_) rewrite();
  if (bytes_ + entry.line.size() > most_bytes_) {
    const size_t before = entries_.size();
    std::erase_if(entries_,
                  [](const Entry& old) { return old.result.outcome == model::Outcome::kNotSeen; });
    if (before != entries_.size()) {
      lose(before - entries_.size());
      rewrite();
    }
  }
  if (bytes_ + entry.line.size() > most_bytes_) {
    lose(1);
    return;
  }
  const ScopedFd file(::open(path_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600));
  // On a full disk the result is still sent from memory while this agent lives. An incomplete line
  // is removed, or the next one would continue it and be lost with it.
  struct stat before = {};
  if (file.valid() && ::fstat(file.get(), &before) == 0 &&
      !write_all(file.get(), entry.line, path_) && ::ftruncate(file.get(), before.st_size) != 0)
    damaged_ = true;
  bytes_ += entry.line.size();
  entries_.push_back(std::move(entry));
  if (damaged_) rewrite();
}

api::Results Spool::oldest(size_t most) const {
  const std::lock_guard lock(mutex_);
  api::Results results;
  for (const Entry& entry : entries_) {
    if (results.results.empty()) results.instance = entry.instance;
    if (entry.instance != results.instance) continue;
    results.results.push_back(entry.result);
    if (results.results.size() >= most) break;
  }
  return results;
}

void Spool::remove(const api::Results& sent) {
  const std::lock_guard lock(mutex_);
  std::set<std::string> ids;
  for (const api::JobResult& result : sent.results) ids.insert(result.id);
  std::erase_if(entries_, [&](const Entry& entry) {
    if (entry.instance != sent.instance || !ids.contains(entry.result.id)) return false;
    bytes_ -= entry.line.size();
    sent_bytes_ += entry.line.size();
    return true;
  });
  if (sent_bytes_ >= bytes_) rewrite();
}

// The number is kept beside the spool: the hive shows what this installation ever lost, and what
// was lost just before a restart would otherwise be lost from the count as well.
void Spool::lose(uint64_t results) {
  dropped_ += results;
  (void)write_file(path_ + kLost, std::to_string(dropped_) + "\n", 0600);
}

void Spool::rewrite() {
  std::string text;
  for (const Entry& entry : entries_) text += entry.line;
  bytes_ = text.size();
  if (!write_file(path_, text, 0600)) return;
  damaged_ = false;
  sent_bytes_ = 0;
}

size_t Spool::size() const {
  const std::lock_guard lock(mutex_);
  return entries_.size();
}
uint64_t Spool::dropped() const {
  const std::lock_guard lock(mutex_);
  return dropped_;
}

}  // namespace deadheat::hive::agent

#include "lib/schedule/decision_log.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "lib/base/file.h"

namespace deadheat::schedule {
namespace {

constexpr size_t kHeader = 64, kRecord = 24;
constexpr std::string_view kMagic = "DHDECIDE";

template <typename T>
T number(std::string_view bytes, size_t at) {
  T value{};
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

}  // namespace

Result<DecisionLog> parse_decisions(std::string_view bytes) {
  if (bytes.size() < kHeader || !bytes.starts_with(kMagic))
    return Error{"not a log of decisions", ""};
  if (number<uint32_t>(bytes, 8) != 1 || number<uint32_t>(bytes, 12) != kRecord)
    return Error{"a log of decisions of another version", "use the same version of Deadheat"};
  DecisionLog log;
  const auto count = number<uint64_t>(bytes, 16);
  log.seed = number<uint64_t>(bytes, 24);
  const uint64_t there = (bytes.size() - kHeader) / kRecord;
  const uint64_t taken = std::min(count, there);
  log.cut = count > there ? count - there : 0;
  for (uint64_t i = 0; i < taken; ++i) {
    const std::string_view record = bytes.substr(kHeader + i * kRecord, kRecord);
    const auto place = number<uint64_t>(record, 0);
    log.decisions.push_back({static_cast<uint32_t>(place >> 48), place & ((1ULL << 48) - 1),
                             number<uint64_t>(record, 8), number<uint16_t>(record, 16),
                             number<uint16_t>(record, 18), number<uint8_t>(record, 20),
                             number<uint8_t>(record, 21), number<uint16_t>(record, 22)});
  }
  return log;
}

Result<DecisionLog> read_decisions(const std::string& path) {
  const auto bytes = read_file(path);
  if (!bytes) return bytes.error();
  auto log = parse_decisions(bytes.value());
  if (!log) return Error{path + ": " + log.error().message, log.error().hint};
  return log;
}

Status copy_decisions(const std::string& from, const std::string& to) {
  const auto bytes = read_file(from);
  if (!bytes) return bytes.error();
  const auto log = parse_decisions(bytes.value());
  if (!log) return log.error();
  return write_file(
      to,
      std::string_view(bytes.value()).substr(0, kHeader + log.value().decisions.size() * kRecord));
}

std::optional<size_t> first_difference(const DecisionLog& a, const DecisionLog& b) {
  const size_t common = std::min(a.decisions.size(), b.decisions.size());
  for (size_t i = 0; i < common; ++i)
    if (!a.decisions[i].same_as(b.decisions[i])) return i;
  return a.decisions.size() == b.decisions.size() ? std::nullopt : std::optional(common);
}

std::string_view point_word(uint8_t kind) {
#define DEADHEAT_POINT(name, words) words,
  static constexpr std::string_view kWords[] = {DHD_POINTS(DEADHEAT_POINT)};
#undef DEADHEAT_POINT
  return kind < std::size(kWords) ? kWords[kind] : "event";
}

}  // namespace deadheat::schedule

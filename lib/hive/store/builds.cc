// Builds by build-id. The hive stores bytes and a signature that it can neither create nor needs to
// check: a user who fetches a build verifies it with his own key.
#include <array>

#include "lib/hive/store/statements.h"
#include "lib/hive/store/store.h"

namespace deadheat::hive::store {
namespace {

constexpr size_t kPart = 768U << 10;  // a multiple of 3
constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

std::string to_text(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t group = 0;
    const size_t count = std::min<size_t>(3, bytes.size() - i);
    for (size_t k = 0; k < 3; ++k)
      group = group << 8 | (k < count ? static_cast<unsigned char>(bytes[i + k]) : 0U);
    for (size_t k = 0; k < 4; ++k) text += k <= count ? kDigits[group >> (18 - 6 * k) & 63] : '=';
  }
  return text;
}

void append_bytes(std::string_view text, std::string& bytes) {
  static const auto kValues = [] {
    std::array<uint8_t, 256> values = {};
    for (uint8_t i = 0; i < 64; ++i) values[static_cast<unsigned char>(kDigits[i])] = i;
    return values;
  }();
  for (size_t i = 0; i + 3 < text.size(); i += 4) {
    uint32_t group = 0;
    for (size_t k = 0; k < 4; ++k)
      group = group << 6 | kValues[static_cast<unsigned char>(text[i + k])];
    const size_t count = text[i + 2] == '=' ? 1 : text[i + 3] == '=' ? 2 : 3;
    for (size_t k = 0; k < count; ++k) bytes += static_cast<char>(group >> (16 - 8 * k) & 255);
  }
}

constexpr char kColumns[] =
    "SELECT build_id, version, bytes, digest, signature, who, at_ms FROM builds WHERE program=$1";

Build build_of(const Row& row) {
  Build build;
  build.build_id = row.text(0);
  build.version = row.text(1);
  build.bytes = row.number(2);
  build.digest = row.text(3);
  build.signature = row.text(4);
  build.who = row.text(5);
  build.at_ms = row.number(6);
  return build;
}

}  // namespace

Status Store::add_build(const std::string& program, const Build& build, const std::string& content,
                        int64_t now_ms) {
  Transaction on(*connection_);
  const auto added = on.run(
      "INSERT INTO builds VALUES($1,$2,$3,$4,$5,$6,$7,$8) ON CONFLICT DO NOTHING RETURNING 1",
      {program, build.build_id, build.version, static_cast<int64_t>(content.size()), build.digest,
       build.signature, build.who, now_ms});
  if (added.empty() && !on.failed()) {
    const auto known =
        on.run(std::string(kColumns) + " AND build_id=$2", {program, build.build_id});
    if (!known.empty() && known[0].text(3) == build.digest && known[0].text(1) == build.version)
      return Ok{};
    return Error{"another build with the id " + build.build_id + " exists already",
                 "an id stands for one content and one version"};
  }
  for (size_t at = 0; at < content.size() && !on.failed(); at += kPart)
    on.run("INSERT INTO build_parts VALUES($1,$2,$3,$4)",
           {program, build.build_id, static_cast<int64_t>(at / kPart),
            to_text(std::string_view(content).substr(at, kPart))});
  note_audit(on, program, build.who, "build", build.build_id + " " + build.version, now_ms);
  return on.commit();
}

Result<std::vector<Build>> Store::builds(const std::string& program) {
  Statements on(*connection_);
  std::vector<Build> all;
  for (const Row& row :
       on.run(std::string(kColumns) + " ORDER BY at_ms DESC, build_id LIMIT 1000", {program}))
    all.push_back(build_of(row));
  if (on.failed()) return on.error();
  return all;
}

Result<std::optional<std::pair<Build, std::string>>> Store::build(const std::string& program,
                                                                  const std::string& build_id) {
  using Found = std::optional<std::pair<Build, std::string>>;
  Statements on(*connection_);
  const auto rows = on.run(std::string(kColumns) + " AND build_id=$2", {program, build_id});
  if (on.failed()) return on.error();
  if (rows.empty()) return Found();
  std::pair<Build, std::string> found{build_of(rows[0]), ""};
  found.second.reserve(static_cast<size_t>(found.first.bytes));
  for (int64_t part = 0;; ++part) {
    const auto one =
        on.run("SELECT content FROM build_parts WHERE program=$1 AND build_id=$2 AND part=$3",
               {program, build_id, part});
    if (one.empty()) break;
    append_bytes(one[0].text(0), found.second);
  }
  if (on.failed()) return on.error();
  return Found(std::move(found));
}

}  // namespace deadheat::hive::store

#include "lib/validate/list.h"

#include <cstring>
#include <map>

#include "abi/validate_page.h"
#include "lib/base/text.h"

namespace deadheat::validate {
namespace {

using model::Candidate;
using model::CandidateKind;

bool is_pair(const Candidate& candidate) {
  const bool memory =
      candidate.kind == CandidateKind::kDataRace || candidate.kind == CandidateKind::kCollision;
  return memory && candidate.roles.size() == 2 &&
         candidate.roles[0].site.kind == model::SiteKind::kCode &&
         candidate.roles[1].site.kind == model::SiteKind::kCode;
}

// A field of a line: no tabs, no line ends.
std::string field(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (static_cast<unsigned char>(c) < ' ') c = ' ';
  return out;
}

uint64_t mix(uint64_t hash, std::string_view bytes) {  // FNV-1a
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return hash;
}

void put(std::string& out, const void* data, size_t size) {
  out.append(static_cast<const char*>(data), size);
}

uint64_t fingerprint_of(const List& list, const std::string& text) {
  uint64_t hash = mix(0xcbf29ce484222325ULL, text);
  for (const Pair& pair : list.pairs)
    hash = mix(hash, std::to_string(pair.first) + " " + std::to_string(pair.second) + "\n");
  return hash == 0 ? 1 : hash;
}

}  // namespace

std::string line_of(const ListedSite& site) {
  const model::Site& at = site.site;
  return std::to_string(static_cast<int>(site.access)) + "\t" + std::to_string(at.line) + "\t" +
         std::to_string(at.column) + "\t" + field(at.function) + "\t" + field(at.file) + "\t" +
         field(at.variable);
}

List make_list(const model::FindingsFile& file) {
  List list;
  list.sites.emplace_back();
  std::map<std::string, uint32_t> numbers;
  const auto number_of = [&](const model::Role& role) {
    ListedSite site{role.site, role.access};
    const auto [at, added] =
        numbers.emplace(line_of(site), static_cast<uint32_t>(list.sites.size()));
    if (added) list.sites.push_back(std::move(site));
    return at->second;
  };
  for (size_t i = 0; i < file.findings.size(); ++i) {
    const Candidate& candidate = file.findings[i].candidate;
    if (!is_pair(candidate) || list.sites.size() + 2 > DHV_MAX_SITES ||
        list.pairs.size() >= DHV_MAX_CANDIDATES) {
      ++list.left_out;
      continue;
    }
    const uint32_t first = number_of(candidate.roles[0]);
    list.pairs.push_back({first, number_of(candidate.roles[1])});
    list.findings.push_back(i);
  }
  list.fingerprint = fingerprint_of(list, to_text(list));
  return list;
}

std::string to_text(const List& list) {
  std::string text;
  for (size_t i = 1; i < list.sites.size(); ++i) text += line_of(list.sites[i]) + "\n";
  return text;
}

std::string encode(const List& list) {
  const std::string text = to_text(list);
  dhv_list header = {};
  header.magic = DHV_LIST_MAGIC;
  header.version = DHV_VERSION;
  header.fingerprint = list.fingerprint;
  header.sites = static_cast<uint32_t>(list.sites.size());
  header.pairs = static_cast<uint32_t>(list.pairs.size());
  header.text_bytes = static_cast<uint32_t>(text.size());
  size_t bytes = sizeof header + list.pairs.size() * 2 * sizeof(uint32_t) + text.size();
  bytes = (bytes + 7) / 8 * 8;  // so that the next one in the section is aligned
  header.bytes = static_cast<uint32_t>(bytes);
  std::string out;
  put(out, &header, sizeof header);
  for (const Pair& pair : list.pairs) {
    put(out, &pair.first, sizeof pair.first);
    put(out, &pair.second, sizeof pair.second);
  }
  out += text;
  out.resize(bytes);
  return out;
}

std::vector<CompiledList> decode(std::string_view section) {
  std::vector<CompiledList> lists;
  while (section.size() >= sizeof(dhv_list)) {
    dhv_list header;
    std::memcpy(&header, section.data(), sizeof header);
    const uint64_t needed =
        sizeof header + uint64_t{header.pairs} * 2 * sizeof(uint32_t) + header.text_bytes;
    if (header.magic != DHV_LIST_MAGIC || header.bytes < needed || header.bytes > section.size()) {
      // Sections are padded between their parts.
      section.remove_prefix(8);
      continue;
    }
    CompiledList list;
    list.fingerprint = header.fingerprint;
    const char* at = section.data() + sizeof header;
    for (uint32_t i = 0; i < header.pairs; ++i, at += 8) {
      Pair pair;
      std::memcpy(&pair.first, at, 4);
      std::memcpy(&pair.second, at + 4, 4);
      list.pairs.push_back(pair);
    }
    list.lines.emplace_back();
    for (const std::string_view line : split(std::string_view(at, header.text_bytes), '\n'))
      if (!line.empty()) list.lines.emplace_back(line);
    section.remove_prefix(header.bytes);
    const auto bad = [&](const Pair& pair) {
      return pair.first == 0 || pair.second == 0 || pair.first >= list.lines.size() ||
             pair.second >= list.lines.size();
    };
    bool sound = header.version == DHV_VERSION && header.sites == list.lines.size();
    for (const Pair& pair : list.pairs) sound = sound && !bad(pair);
    if (sound) lists.push_back(std::move(list));
  }
  return lists;
}

}  // namespace deadheat::validate

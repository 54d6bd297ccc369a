// outcome.json. Paths and lines are bytes, not text: invalid UTF-8 is written as
// {"hex": "..."}.
#include <array>
#include <nlohmann/json.hpp>

#include "lib/process/judge/outcome.h"
#include "lib/process/recording/json_bytes.h"

namespace deadheat::process::judge {
namespace {

using Json = nlohmann::json;

constexpr char kFormat[] = "deadheat process outcome";
constexpr int kVersion = 1;
constexpr std::array<const char*, static_cast<size_t>(FileKind::kCount)> kKinds = {
    "file", "folder", "link", "pipe", "socket", "device", "gone"};

Json to_json(const ChangedFile& file) {
  Json json = {{"path", recording::bytes_to_json(file.path)},
               {"kind", kKinds[static_cast<size_t>(file.kind)]},
               {"mode", file.mode}};
  if (file.name != file.path) json["name"] = recording::bytes_to_json(file.name);
  if (file.size != 0) json["size"] = file.size;
  if (file.digest != 0) json["digest"] = file.digest;
  if (file.text) json["lines"] = recording::words_to_json(file.lines);
  if (file.last_line_cut) json["last_line_cut"] = true;
  if (file.existed) json["existed"] = true;
  if (file.replaced) json["replaced"] = true;
  return json;
}

ChangedFile read_file_entry(const Json& from) {
  ChangedFile file;
  file.path = recording::bytes_from_json(from.at("path"));
  file.name = from.contains("name") ? recording::bytes_from_json(from.at("name")) : file.path;
  const std::string kind = from.at("kind").get<std::string>();
  const auto* const found = std::find(kKinds.begin(), kKinds.end(), kind);
  if (found == kKinds.end()) throw std::out_of_range("\"" + kind + "\" is no kind of file");
  file.kind = static_cast<FileKind>(found - kKinds.begin());
  file.mode = recording::whole_from_json(from, "mode", 0U);
  file.size = recording::whole_from_json(from, "size", uint64_t{0});
  file.digest = recording::whole_from_json(from, "digest", uint64_t{0});
  file.text = from.contains("lines");
  if (file.text) file.lines = recording::words_from_json(from.at("lines"));
  file.last_line_cut = from.value("last_line_cut", false);
  file.existed = from.value("existed", false);
  file.replaced = from.value("replaced", false);
  return file;
}

Outcome read_all(const Json& from) {
  Outcome outcome;
  outcome.status = recording::whole_from_json(from, "status", 0);
  outcome.signal = recording::whole_from_json(from, "signal", 0);
  outcome.timed_out = from.value("timed_out", false);
  outcome.left_out = recording::whole_from_json(from, "left_out", uint64_t{0});
  outcome.out = recording::words_from_json(from.at("out"));
  outcome.err = recording::words_from_json(from.at("err"));
  for (const Json& one : from.at("failures"))
    outcome.failures.push_back({recording::bytes_from_json(one.at("program")),
                                recording::bytes_from_json(one.at("words")),
                                recording::whole_from_json(one, "status", 0),
                                recording::whole_from_json(one, "signal", 0)});
  for (const Json& one : from.at("files")) outcome.files.push_back(read_file_entry(one));
  return outcome;
}

}  // namespace

std::string to_json(const Outcome& outcome) {
  Json failures = Json::array(), files = Json::array();
  for (const CommandFailure& one : outcome.failures)
    failures.push_back({{"program", recording::bytes_to_json(one.program)},
                        {"words", recording::bytes_to_json(one.words)},
                        {"status", one.status},
                        {"signal", one.signal}});
  for (const ChangedFile& file : outcome.files) files.push_back(to_json(file));
  const Json json = {{"format", kFormat},
                     {"version", kVersion},
                     {"status", outcome.status},
                     {"signal", outcome.signal},
                     {"timed_out", outcome.timed_out},
                     {"failures", failures},
                     {"out", recording::words_to_json(outcome.out)},
                     {"err", recording::words_to_json(outcome.err)},
                     {"files", files},
                     {"left_out", outcome.left_out}};
  return json.dump(1) + "\n";
}

Result<Outcome> parse_outcome(const std::string& text, const std::string& where) {
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object() || json.value("format", Json()) != kFormat)
    return Error{where + " does not describe the outcome of a run, or is cut short",
                 "record again"};
  if (json.value("version", Json()) != kVersion)
    return Error{where + " is of another version of deadheat", "record again"};
  try {
    return read_all(json);
  } catch (const std::exception& problem) {
    return Error{where + ": " + problem.what(), "the file was changed by hand, or record again"};
  }
}

}  // namespace deadheat::process::judge

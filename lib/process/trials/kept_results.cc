#include "lib/process/trials/kept_results.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "lib/base/file.h"
#include "lib/base/text.h"
#include "lib/model/enum_names.h"
#include "lib/process/races/branch_json.h"
#include "lib/process/recording/json_bytes.h"

namespace deadheat::process::trials {
namespace {

using nlohmann::json;

std::string name_of(const races::Branch& branch) { return hex(stable_hash(to_json(branch))); }

json differences_to_json(const std::vector<judge::Difference>& differences) {
  json all = json::array();
  for (const judge::Difference& one : differences)
    all.push_back({{"kind", model::name(one.consequence.kind)},
                   {"detail", recording::bytes_to_json(one.consequence.detail)},
                   {"object", recording::bytes_to_json(one.object)}});
  return all;
}

std::vector<judge::Difference> differences_from_json(const json& all) {
  std::vector<judge::Difference> differences;
  for (const json& one : all) {
    const auto kind = model::parse_name<model::ConsequenceKind>(one.at("kind").get<std::string>());
    differences.push_back({{kind.value_or(model::ConsequenceKind::kOutputDiffers),
                            recording::bytes_from_json(one.at("detail"))},
                           recording::bytes_from_json(one.at("object"))});
  }
  return differences;
}

KeptResult result_from_json(const json& from) {
  KeptResult result;
  const auto outcome = model::parse_name<model::Outcome>(from.at("outcome").get<std::string>());
  if (!outcome) throw std::out_of_range("outcome");
  result.outcome = *outcome;
  result.why = recording::bytes_from_json(from.at("why"));
  result.differences = differences_from_json(from.at("differences"));
  if (from.contains("unexplained"))
    result.unexplained = differences_from_json(from.at("unexplained"));
  result.repeated = from.at("repeated");
  result.compared = from.at("compared");
  result.folder = recording::bytes_from_json(from.at("folder"));
  // A folder is deleted when its result is withdrawn: it must be one beside this file.
  if (result.folder.find('/') != std::string::npos || result.folder == ".." || result.folder == ".")
    throw std::invalid_argument("not the name of a folder");
  result.seconds = from.at("seconds");
  result.live_from = recording::whole_from_json<uint64_t>(from.at("live_from"));
  return result;
}

// Reads through this descriptor: closing another one of the same file would release the lock.
std::string read_here(int file) {
  std::string text;
  char buffer[65536];
  for (ssize_t size;
       (size = ::pread(file, buffer, sizeof buffer, static_cast<off_t>(text.size()))) > 0;)
    text.append(buffer, static_cast<size_t>(size));
  return text;
}

}  // namespace

Result<KeptResults> KeptResults::open(const std::string& folder, const std::string& key) {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed) return errno_error("cannot make", folder, failed.value());
  const std::string path = folder + "/results.jsonl";
  ScopedFd file(::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file.valid()) return errno_error("cannot write", path, errno);
  // Owned by this process only: a sandbox that briefly outlives a killed tool must not hold it.
  struct flock whole = {};
  whole.l_type = F_WRLCK;
  if (::fcntl(file.get(), F_SETLK, &whole) != 0)
    return Error{"another deadheat validates this recording now",
                 "wait for it, or copy the folder"};
  const std::string text = read_here(file.get());
  // A line appended to a torn one would be torn too.
  if (!text.empty() && text.back() != '\n')
    if (const Status ended = write_all(file.get(), "\n", path); !ended) return ended.error();
  return KeptResults(std::move(file), path, key, parse_kept(text, key));
}

std::map<std::string, KeptResult> parse_kept(std::string_view text, const std::string& key) {
  std::map<std::string, KeptResult> known;
  for (const std::string_view line : split(text, '\n')) {
    const json one = json::parse(line, nullptr, false);
    if (!one.is_object() || one.value("key", json()) != key) continue;
    try {
      known[one.at("branch")] = result_from_json(one);
    } catch (const std::exception&) {
      continue;  // edited or truncated: tried again
    }
  }
  return known;
}

const KeptResult* KeptResults::find(const races::Branch& branch) const {
  const auto found = known_.find(name_of(branch));
  return found == known_.end() ? nullptr : &found->second;
}

Status KeptResults::add(const races::Branch& branch, const KeptResult& result) {
  const json line = {{"key", key_},
                     {"branch", name_of(branch)},
                     {"outcome", model::name(result.outcome)},
                     {"why", recording::bytes_to_json(result.why)},
                     {"differences", differences_to_json(result.differences)},
                     {"unexplained", differences_to_json(result.unexplained)},
                     {"repeated", result.repeated},
                     {"compared", result.compared},
                     {"folder", recording::bytes_to_json(result.folder)},
                     {"seconds", result.seconds},
                     {"live_from", result.live_from}};
  return write_all(file_.get(), line.dump() + "\n", path_);
}

std::string to_json(const KeptJudgement& judgement) {
  const json all = {{"version", 1},
                    {"checkers", recording::words_to_json(judgement.checkers)},
                    {"beside", recording::words_to_json(judgement.beside)},
                    {"differences", differences_to_json(judgement.differences)},
                    {"compared", judgement.compared}};
  return all.dump(1) + "\n";
}

Result<KeptJudgement> parse_judgement(const std::string& text, const std::string& where) {
  const json all = json::parse(text, nullptr, false);
  const Error damaged{where + " is damaged or of another version",
                      "make the finding again with deadheat proc validate --restart"};
  if (!all.is_object()) return damaged;
  try {
    if (all.at("version") != 1) return damaged;
    return KeptJudgement{recording::words_from_json(all.at("checkers")),
                         recording::words_from_json(all.at("beside")),
                         differences_from_json(all.at("differences")),
                         all.value("compared", false)};
  } catch (const std::exception&) {
    return damaged;
  }
}

}  // namespace deadheat::process::trials

// deadheat hive hook|hooks|unhook|owners|import: commands around the list of races.
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "apps/hive.h"
#include "apps/say.h"
#include "apps/verb.h"
#include "lib/base/file.h"
#include "lib/base/printable.h"
#include "lib/hive/api/json.h"
#include "lib/hive/server/credentials.h"

namespace deadheat::apps {

namespace fs = std::filesystem;

int hive_hook(const HiveArguments& arguments) {
  if (hive::http::parse_url(arguments.url).host.empty())
    return fail(
        {"'" + arguments.url + "' is no address", "as in https://chat.example/hooks/races"});
  auto store = open_store(arguments, false);
  if (!store) return fail(store.error(), kCannotRun);
  constexpr size_t kIdBytes = 4, kSecretBytes = 32;
  hive::store::Hook hook;
  hook.id = hive::server::random_hex(kIdBytes);
  hook.url = arguments.url;
  hook.secret = hive::server::random_hex(kSecretBytes);
  if (const Status added = (*store)->add_hook(arguments.program, hook, "local", system_ms());
      !added)
    return fail(added.error(), kCannotRun);
  std::printf("%s\n", hook.secret.c_str());
  say("hook %s; with this secret its receiver checks the signatures\n", hook.id.c_str());
  return kNothingFound;
}

int hive_hooks(const HiveArguments& arguments) {
  auto store = open_store(arguments, false);
  if (!store) return fail(store.error(), kCannotRun);
  auto all = (*store)->hooks(arguments.program);
  if (!all) return fail(all.error(), kCannotRun);
  for (const hive::store::Hook& hook : *all)
    std::printf("%s  %lld waiting  %lld given up  last answer: %s  %s\n", hook.id.c_str(),
                static_cast<long long>(hook.waiting), static_cast<long long>(hook.given_up),
                hook.answer.empty() ? "none" : printable(hook.answer).c_str(),
                printable(hook.url).c_str());
  return kNothingFound;
}

int hive_unhook(const HiveArguments& arguments) {
  auto store = open_store(arguments, false);
  if (!store) return fail(store.error(), kCannotRun);
  auto done = (*store)->remove_hook(arguments.program, arguments.id, "local", system_ms());
  if (!done) return fail(done.error(), kCannotRun);
  if (!*done) return fail({"no hook " + arguments.id, "`deadheat hive hooks` lists them"});
  return kNothingFound;
}

int hive_owners(const HiveArguments& arguments) {
  auto rules = read_file(arguments.input, hive::api::kMostBytes);
  if (!rules) return fail(rules.error());
  std::string root = arguments.folder;
  if (root.empty()) {
    // The file is in the project's folder, or in one that GitHub and GitLab search.
    std::error_code error;
    fs::path folder = fs::canonical(arguments.input, error).parent_path();
    const std::string name = folder.filename().string();
    if (name == ".github" || name == ".gitlab" || name == "docs") folder = folder.parent_path();
    root = folder.string();
  }
  auto body =
      ask_hive(arguments, "POST", "/api/v1/owners?folder=" + hive::http::url_encoded(root), *rules);
  if (!body) return fail(body.error(), kCannotRun);
  const auto answer = nlohmann::json::parse(body.value(), nullptr, false);
  std::printf(
      "%llu races have an owner by it\n",
      static_cast<unsigned long long>(answer.is_object() ? answer.value("owned", 0ULL) : 0));
  return kNothingFound;
}

int hive_control(const HiveArguments& arguments) {
  const std::string truth = arguments.text == "unknown" ? "" : arguments.text;
  auto body =
      ask_hive(arguments, "POST",
               "/api/v1/controls/" + std::to_string(arguments.number) + "?truth=" + truth, "{}");
  return body ? static_cast<int>(kNothingFound) : fail(body.error(), kCannotRun);
}

int hive_suspects(const HiveArguments& arguments) {
  auto body = ask_hive(arguments, "GET", "/api/v1/suspects");
  if (!body) return fail(body.error(), kCannotRun);
  const auto document = nlohmann::json::parse(body.value(), nullptr, false);
  if (!document.is_object() || !document.contains("suspects"))
    return fail({"the hive's answer cannot be read", ""}, kCannotRun);
  if (arguments.format == "json") {
    std::printf("%s\n", printable_lines(body.value()).c_str());
    return kNothingFound;
  }
  size_t named = 0;
  for (const auto& one : document["suspects"]) {
    if (!one.value("named", false)) continue;
    ++named;
    std::printf("%s  claimed %u races that are none; confirmed %u of %u true ones (chance %.2g)\n",
                printable(one.value("credential", "")).c_str(), one.value("false_claims", 0U),
                one.value("confirmed", 0U), one.value("asked", 0U), one.value("chance", 1.0));
  }
  say("%zu of %zu credentials; `deadheat hive revoke` withdraws what one said\n", named,
      document["suspects"].size());
  return kNothingFound;
}

int hive_import(const HiveArguments& arguments) {
  auto text = read_file(arguments.input, hive::api::kMostFindingsBytes);
  if (!text) return fail(text.error());
  auto body = ask_hive(arguments, "POST", "/api/v1/import", *text);
  if (!body) return fail(body.error(), kCannotRun);
  auto answer = hive::api::decode_push_answer(body.value());
  if (!answer) return fail(answer.error(), kCannotRun);
  std::printf("%u races added, %u known; %u pieces of evidence, %u known\n", answer->added,
              answer->known, answer->evidence, answer->repeated);
  return kNothingFound;
}

}  // namespace deadheat::apps

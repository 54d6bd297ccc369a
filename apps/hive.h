// Shared by the commands of `deadheat hive`: where the hive is, and how to query it.
#pragma once

#include <cstdint>
#include <string>

#include "lib/base/result.h"
#include "lib/hive/http/message.h"
#include "lib/hive/store/store.h"

namespace deadheat::apps {

struct HiveArguments {
  std::string database;                           // of a local hive
  std::string url, token, token_file, authority;  // of a remote one
  std::string program, label, role = "agent", input, output = "-", format = "text";
  std::string verdict, text, sort = "verdict", id, path, version, folder;
  std::string listen = "127.0.0.1:8700", certificate, key;
  bool trusted = false, insecure = false, quiet = false;
  uint64_t number = 0, limit = 100;
  double days = 0, polls_per_s = 100;
  int patience_s = 15;
};

int64_t system_ms();
// The database's path: the option, otherwise hive.db in the user's data folder.
std::string database_of(const HiveArguments& arguments);
Result<std::unique_ptr<hive::store::Store>> open_store(const HiveArguments& arguments, bool create);
// One request to the hive at --hive, or to the local database, whose owner is trusted. An
// unsuccessful response is an Error.
Result<std::string> ask_hive(const HiveArguments& arguments, const std::string& method,
                             const std::string& path, const std::string& body = "");
Result<std::string> token_of(const HiveArguments& arguments);

// The same with the response's headers, whatever its status; bodies of builds are large.
Result<hive::http::Response> call_hive(const HiveArguments& arguments, hive::http::Request request);

// apps/hive_owner.cc: the database itself.
int hive_init(const HiveArguments& arguments);
int hive_serve(const HiveArguments& arguments);
int hive_token(const HiveArguments& arguments);
int hive_tokens(const HiveArguments& arguments);
int hive_revoke(const HiveArguments& arguments);
int hive_backup(const HiveArguments& arguments);
int hive_restore(const HiveArguments& arguments);
int hive_prune(const HiveArguments& arguments);
int hive_migrate(const HiveArguments& arguments);
// apps/hive_build.cc: signed builds.
int hive_key(const HiveArguments& arguments);
int hive_build(const HiveArguments& arguments);
int hive_builds(const HiveArguments& arguments);
int hive_fetch(const HiveArguments& arguments);
// apps/hive_team.cc: web hooks, owners, races of another hive.
int hive_hook(const HiveArguments& arguments);
int hive_hooks(const HiveArguments& arguments);
int hive_unhook(const HiveArguments& arguments);
int hive_owners(const HiveArguments& arguments);
int hive_import(const HiveArguments& arguments);
int hive_control(const HiveArguments& arguments);
int hive_suspects(const HiveArguments& arguments);
// apps/hive_ask.cc: what people ask.
int hive_push(const HiveArguments& arguments);
int hive_list(const HiveArguments& arguments);
int hive_show(const HiveArguments& arguments);
int hive_export(const HiveArguments& arguments);
int hive_status(const HiveArguments& arguments);

}  // namespace deadheat::apps

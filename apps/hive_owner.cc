// The commands of the database's owner, who works on its file or server directly: deadheat hive
// init, serve, token, backup and so on.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <thread>

#include "apps/hive.h"
#include "apps/say.h"
#include "apps/verb.h"
#include "lib/base/printable.h"
#include "lib/base/text.h"
#include "lib/hive/http/client.h"
#include "lib/hive/http/server.h"
#include "lib/hive/server/credentials.h"
#include "lib/hive/server/service.h"
#include "lib/hive/store/schema.h"
#include "lib/pipeline/stop_signals.h"

namespace deadheat::apps {
namespace {

namespace fs = std::filesystem;
using hive::store::Role;

int add_token(hive::store::Store& store, const HiveArguments& arguments, Role role,
              const std::string& label) {
  if (arguments.program != "*" && !hive::server::is_program_name(arguments.program))
    return fail({"'" + arguments.program + "' is no name for a program",
                 "lower-case letters, digits, '.', '_' and '-'"});
  constexpr double kDay_ms = 24.0 * 3600 * 1000;
  const int64_t now_ms = system_ms();
  const int64_t expires_ms =
      arguments.days > 0 ? now_ms + static_cast<int64_t>(arguments.days * kDay_ms) : 0;
  const auto token = hive::server::make_token(arguments.program, role, arguments.trusted, label,
                                              now_ms, expires_ms);
  if (const Status added = store.add_token(token.stored, "local", now_ms); !added)
    return fail(added.error(), kCannotRun);
  std::printf("%s\n", token.text.c_str());
  say("this token is shown once; the hive keeps only a hash of it\n");
  return kNothingFound;
}

bool is_loopback(const std::string& host) {
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

}  // namespace

int hive_init(const HiveArguments& arguments) {
  const std::string where = database_of(arguments);
  const bool postgres = hive::store::is_postgres(where);
  const std::string name = postgres ? "the database" : where;
  bool known = false;
  if (postgres) {
    auto connection = hive::store::open_connection(where, false);
    if (!connection) return fail(connection.error(), kCannotRun);
    const auto version = hive::store::schema_version(**connection);
    if (!version) return fail(version.error(), kCannotRun);
    known = version.value() != 0;
  } else {
    std::error_code ignored;
    known = fs::exists(where, ignored);
  }
  if (known)
    return fail({name + " exists already", "`deadheat hive token` adds programs and tokens to it"});
  auto store = open_store(arguments, true);
  if (!store) return fail(store.error(), kCannotRun);
  say("made %s; an admin's token for %s:\n", postgres ? "its tables" : where.c_str(),
      arguments.program.c_str());
  return add_token(**store, arguments, Role::kAdmin, "made by hive init");
}

int hive_token(const HiveArguments& arguments) {
  auto store = open_store(arguments, false);
  if (!store) return fail(store.error(), kCannotRun);
  auto known = (*store)->programs();
  if (!known) return fail(known.error(), kCannotRun);
  if (std::find(known->begin(), known->end(), arguments.program) == known->end() &&
      arguments.program != "*")
    say("%s is a new program of this hive, which has %s\n", printable(arguments.program).c_str(),
        known->empty() ? "no other" : join(*known, ", ").c_str());
  return add_token(**store, arguments,
                   hive::store::parse_role(arguments.role).value_or(Role::kAgent), arguments.label);
}

int hive_tokens(const HiveArguments& arguments) {
  auto store = open_store(arguments, false);
  if (!store) return fail(store.error(), kCannotRun);
  auto all = (*store)->tokens(arguments.program);
  if (!all) return fail(all.error(), kCannotRun);
  for (const auto& token : *all)
    std::printf("%s  %-9s  %s%s%s\n", token.id.c_str(), std::string(name(token.role)).c_str(),
                token.trusted ? "trusted  " : "", token.revoked_ms != 0 ? "revoked  " : "",
                printable(token.label).c_str());
  return kNothingFound;
}

int hive_revoke(const HiveArguments& arguments) {
  auto store = open_store(arguments, false);
  if (!store) return fail(store.error(), kCannotRun);
  auto done = (*store)->revoke(arguments.program, arguments.id, "local", system_ms());
  if (!done) return fail(done.error(), kCannotRun);
  if (!*done)
    return fail({"no token " + arguments.id + " that still holds", "`deadheat hive tokens`"});
  say("revoked; what it said counts no more\n");
  return kNothingFound;
}

int hive_backup(const HiveArguments& arguments) {
  auto store = open_store(arguments, false);
  if (!store) return fail(store.error(), kCannotRun);
  const Status done = (*store)->connection().backup(arguments.path);
  return done ? static_cast<int>(kNothingFound) : fail(done.error(), kCannotRun);
}

namespace {

// The old database is kept beside the new one, under a name that is free, and with what a hive that
// was killed had not yet moved from its log into the file.
Status move_away(const std::string& path) {
  std::error_code error;
  std::string kept = path + ".before-restore";
  for (int i = 2; fs::exists(kept, error); ++i)
    kept = path + ".before-restore-" + std::to_string(i);
  for (const char* end : {"-wal", "-shm", ""}) {
    if (!fs::exists(path + end, error)) continue;
    fs::rename(path + end, kept + end, error);
    if (error) return Error{"cannot move " + path + end + " away: " + error.message(), ""};
  }
  return Ok{};
}

}  // namespace

int hive_restore(const HiveArguments& arguments) {
  auto copy = hive::store::Store::open(arguments.path, false, 0);
  if (!copy) return fail(copy.error(), kCannotRun);
  const std::string path = database_of(arguments);
  if (hive::store::is_postgres(path))
    return fail({"this hive's database is PostgreSQL", "pg_restore brings a copy back"});
  if (const Status moved = move_away(path); !moved) return fail(moved.error(), kCannotRun);
  const Status done = (*copy)->connection().backup(path);
  return done ? static_cast<int>(kNothingFound) : fail(done.error(), kCannotRun);
}

int hive_prune(const HiveArguments& arguments) {
  if (arguments.days < 1) return fail({"how old?", "--days 30, at least 1"});
  auto store = open_store(arguments, false);
  if (!store) return fail(store.error(), kCannotRun);
  constexpr double kDay_ms = 24.0 * 3600 * 1000;
  const int64_t now_ms = system_ms();
  auto gone = (*store)->prune(arguments.program,
                              now_ms - static_cast<int64_t>(arguments.days * kDay_ms), now_ms);
  if (!gone) return fail(gone.error(), kCannotRun);
  std::printf("%lld rows\n", static_cast<long long>(*gone));
  return kNothingFound;
}

int hive_migrate(const HiveArguments& arguments) {
  auto connection = hive::store::open_connection(database_of(arguments), false);
  if (!connection) return fail(connection.error(), kCannotRun);
  auto before = hive::store::migrate(**connection);
  if (!before) return fail(before.error(), kCannotRun);
  say("schema %lld, was %lld\n", static_cast<long long>(hive::store::newest_schema()),
      static_cast<long long>(*before));
  return kNothingFound;
}

int hive_serve(const HiveArguments& arguments) {
  const hive::http::Url listen = hive::http::parse_url("http://" + arguments.listen);
  if (listen.host.empty() || listen.port.find_first_not_of("0123456789") != std::string::npos)
    return fail({"'" + arguments.listen + "' is no place to listen at", "as in 127.0.0.1:8700"});
  if (arguments.certificate.empty() != arguments.key.empty())
    return fail({"TLS needs a certificate and its key", "--tls-certificate FILE --tls-key FILE"});
  if (!is_loopback(listen.host) && arguments.certificate.empty() && !arguments.insecure)
    return fail({"tokens would cross the network in the clear",
                 "give --tls-certificate and --tls-key, or --insecure behind a TLS proxy"});
  hive::server::ServiceOptions options;
  options.database = database_of(arguments);
  // Each request has its own store. SQLite allows one writer at a time.
  options.stores = hive::store::is_postgres(options.database) ? 8 : 2;
  options.polls_per_s = arguments.polls_per_s;
  options.secure_cookies = !arguments.certificate.empty();
  if (!arguments.quiet)
    options.log = [](const std::string& line) {
      std::fprintf(stderr, "%s\n", printable(line).c_str());
    };
  auto service = hive::server::Service::open(options);
  if (!service) return fail(service.error(), kCannotRun);
  hive::http::ServerOptions where;
  where.host = listen.host;
  where.port = static_cast<uint16_t>(std::strtoul(listen.port.c_str(), nullptr, 10));
  where.certificate = arguments.certificate;
  where.key = arguments.key;
  where.threads = options.stores;
  where.head_s = arguments.patience_s;
  where.body_s = 2 * arguments.patience_s;
  const pipeline::StopSignals signals;
  auto server = hive::http::Server::start(where, (*service)->handlers());
  if (!server) return fail(server.error(), kCannotRun);
  std::printf("%s://%s:%u\n", arguments.certificate.empty() ? "http" : "https", listen.host.c_str(),
              (*server)->port());
  std::fflush(stdout);
  // A slow hook delays only other hooks.
  std::thread hooks([&] {
    hive::http::Client client;
    client.authority = arguments.authority;
    client.stopped = [] { return pipeline::StopSignals::stopped(); };
    while (!pipeline::StopSignals::stopped())
      if (!(*service)->call_hook(client))
        std::this_thread::sleep_for(std::chrono::milliseconds(300));
  });
  while (!pipeline::StopSignals::stopped())
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  hooks.join();
  (*server)->stop();
  return kNothingFound;
}

}  // namespace deadheat::apps

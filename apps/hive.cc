// deadheat hive ...: the list of races that a fleet works on (docs/guides/hive.md). This file has
// the commands of the database's owner, and all options.
#include "apps/hive.h"

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <thread>

#include "apps/say.h"
#include "apps/verb.h"
#include "lib/base/file.h"
#include "lib/base/printable.h"
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
    return fail(
        {name + " is there already", "`deadheat hive token` adds programs and tokens to it"});
  auto store = open_store(arguments, true);
  if (!store) return fail(store.error(), kCannotRun);
  say("made %s; an admin's token for %s:\n", postgres ? "its tables" : where.c_str(),
      arguments.program.c_str());
  return add_token(**store, arguments, Role::kAdmin, "made by hive init");
}

int hive_token(const HiveArguments& arguments) {
  auto store = open_store(arguments, false);
  if (!store) return fail(store.error(), kCannotRun);
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

// The old database is kept beside the new one.
int hive_restore(const HiveArguments& arguments) {
  auto copy = hive::store::Store::open(arguments.path, false, 0);
  if (!copy) return fail(copy.error(), kCannotRun);
  const std::string path = database_of(arguments);
  if (hive::store::is_postgres(path))
    return fail({"this hive's database is PostgreSQL", "pg_restore brings a copy back"});
  std::error_code error;
  if (fs::exists(path, error)) fs::rename(path, path + ".before-restore", error);
  if (error) return fail({"cannot move " + path + " away: " + error.message(), ""}, kCannotRun);
  for (const char* end : {"-wal", "-shm"}) fs::remove(path + end, error);
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

bool is_loopback(const std::string& host) {
  return host == "localhost" || host == "::1" || host.starts_with("127.");
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

using Command = int (*)(const HiveArguments&);

// One command with the options common to all: which database.
CLI::App* command(CLI::App& app, const char* name, const char* summary, HiveArguments& arguments,
                  bool remote, bool needs_program) {
  CLI::App* sub = app.add_subcommand(name, summary);
  sub->option_defaults()->always_capture_default();
  sub->set_help_flag("-h,--help", "show this help");
  sub->add_option(
         "--database", arguments.database,
         "the hive's file, or postgresql://... (default: DEADHEAT_HIVE_DATABASE, then hive.db "
         "in the user's data folder)")
      ->type_name("FILE");
  CLI::Option* program =
      sub->add_option("--program", arguments.program, "the program's name")->type_name("NAME");
  if (needs_program) program->required();
  if (!remote) return sub;
  sub->add_option("--hive", arguments.url, "a hive elsewhere; without it, the one in --database")
      ->type_name("URL");
  sub->add_option("--token-file", arguments.token_file,
                  "a file with a token for it (default: DEADHEAT_HIVE_TOKEN)")
      ->type_name("FILE");
  sub->add_option("--ca", arguments.authority, "who signed its certificate, in PEM form")
      ->type_name("FILE");
  return sub;
}

void add_format(CLI::App& app, HiveArguments& arguments, std::vector<std::string> formats) {
  app.add_option("--format", arguments.format, "the form")
      ->type_name("FORMAT")
      ->check(CLI::IsMember(std::move(formats)));
}

using Commands = std::vector<std::pair<CLI::App*, Command>>;

void add_people_commands(CLI::App& app, HiveArguments& a, Commands& all) {
  CLI::App* push = command(app, "push", "add findings of any verb", a, true, false);
  push->add_option("findings", a.input, "findings.json")->type_name("FINDINGS")->required();
  push->add_option("--scan-of", a.version,
                   "these are all races that the scan of this version lists: what earlier scans "
                   "listed and this one does not is fixed or stale")
      ->type_name("VERSION");
  all.emplace_back(push, hive_push);
  CLI::App* list = command(app, "list", "the races", a, true, false);
  list->add_option("--verdict", a.verdict, "only these")
      ->type_name("VERDICT")
      ->check(CLI::IsMember({"true_race", "unknown", "likely_false_positive"}));
  list->add_option("--text", a.text, "only those with this in what or where")->type_name("TEXT");
  list->add_option("--sort", a.sort, "by what")
      ->type_name("KEY")
      ->check(CLI::IsMember({"verdict", "last_seen", "confidence", "number"}));
  list->add_option("--limit", a.limit, "at most so many")->type_name("N");
  add_format(*list, a, {"text", "json"});
  all.emplace_back(list, hive_list);
  CLI::App* show = command(app, "show", "one race, its evidence and history", a, true, false);
  show->add_option("number", a.number, "the race's number")->type_name("NUMBER")->required();
  add_format(*show, a, {"text", "json"});
  all.emplace_back(show, hive_show);
  CLI::App* save = command(
      app, "export", "all races as findings.json, as SARIF, or for another hive", a, true, false);
  save->add_option("-o,--output", a.output, "the file; - is standard output")->type_name("FILE");
  add_format(*save, a, {"text", "json", "sarif", "hive"});
  all.emplace_back(save, hive_export);
  CLI::App* status = command(app, "status", "how many of what", a, true, false);
  add_format(*status, a, {"text", "json"});
  all.emplace_back(status, hive_status);
  CLI::App* load = command(app, "import", "add what `export --format hive` of another hive wrote",
                           a, true, false);
  load->add_option("file", a.input, "the file")->type_name("FILE")->required();
  all.emplace_back(load, hive_import);
  CLI::App* owners =
      command(app, "owners", "whose races are whose, by a CODEOWNERS file", a, true, false);
  owners->add_option("file", a.input, "CODEOWNERS")->type_name("FILE")->required();
  owners
      ->add_option("--root", a.folder,
                   "where its paths begin in the findings (default: the project's folder)")
      ->type_name("FOLDER");
  all.emplace_back(owners, hive_owners);
  CLI::App* control = command(app, "control", "a race whose answer is known: who answers it wrong?",
                              a, true, false);
  control->add_option("number", a.number, "the race's number")->type_name("NUMBER")->required();
  control->add_option("truth", a.text, "what it is")
      ->type_name("TRUTH")
      ->required()
      ->check(CLI::IsMember({"race", "no_race", "unknown"}));
  all.emplace_back(control, hive_control);
  CLI::App* suspects =
      command(app, "suspects", "credentials whose answers cannot be honest", a, true, false);
  add_format(*suspects, a, {"text", "json"});
  all.emplace_back(suspects, hive_suspects);
}

void add_build_commands(CLI::App& app, HiveArguments& a, Commands& all) {
  CLI::App* key = app.add_subcommand("key", "make NAME.key, which signs builds, and NAME.pub");
  key->set_help_flag("-h,--help", "show this help");
  key->add_option("name", a.path, "the files' name")->type_name("NAME")->required();
  all.emplace_back(key, hive_key);
  CLI::App* build = command(app, "build", "sign a build and store it at the hive", a, true, false);
  build->add_option("file", a.input, "the program")->type_name("FILE")->required();
  build->add_option("--key", a.key, "the private key; it stays here")
      ->type_name("FILE")
      ->required();
  build->add_option("--version", a.version, "of the program")->type_name("VERSION")->required();
  all.emplace_back(build, hive_build);
  all.emplace_back(command(app, "builds", "the builds that the hive has", a, true, false),
                   hive_builds);
  CLI::App* fetch = command(app, "fetch", "get a build and verify it", a, true, false);
  fetch->add_option("id", a.id, "its build-id")->type_name("BUILD_ID")->required();
  fetch->add_option("--key", a.key, "the public key of whoever built it, not from the hive")
      ->type_name("FILE")
      ->required();
  fetch->add_option("-o,--output", a.path, "the file")->type_name("FILE")->required();
  all.emplace_back(fetch, hive_fetch);
}

void add_hook_commands(CLI::App& app, HiveArguments& a, Commands& all) {
  CLI::App* hook = command(app, "hook", "call an address for each new true race", a, false, true);
  hook->add_option("url", a.url, "where")->type_name("URL")->required();
  all.emplace_back(hook, hive_hook);
  all.emplace_back(
      command(app, "hooks", "those addresses and what they last answered", a, false, true),
      hive_hooks);
  CLI::App* unhook = command(app, "unhook", "call it no more", a, false, true);
  unhook->add_option("id", a.id, "the hook's id")->type_name("ID")->required();
  all.emplace_back(unhook, hive_unhook);
}

void add_owner_commands(CLI::App& app, HiveArguments& a, Commands& all) {
  all.emplace_back(
      command(app, "init", "make a database, a program and an admin's token", a, false, true),
      hive_init);
  CLI::App* serve = command(app, "serve", "answer agents and people", a, false, false);
  serve->add_option("--listen", a.listen, "address and port; port 0: any")->type_name("HOST:PORT");
  serve->add_option("--tls-certificate", a.certificate, "in PEM form")->type_name("FILE");
  serve->add_option("--tls-key", a.key, "in PEM form")->type_name("FILE");
  serve
      ->add_option("--hook-ca", a.authority,
                   "who signed the certificates of web hooks, in PEM form")
      ->type_name("FILE");
  serve->add_flag("--insecure", a.insecure, "beyond this machine without TLS: a proxy has it");
  serve
      ->add_option("--patience", a.patience_s,
                   "how long the head of a request may take; its body twice as long")
      ->type_name("SECONDS")
      ->check(CLI::Range(1, 3600));
  serve
      ->add_option("--polls", a.polls_per_s,
                   "how often a program's whole fleet may ask in a second; a large one is told to "
                   "ask less often")
      ->type_name("N")
      ->check(CLI::Range(1.0, 1e6));
  serve->add_flag("--quiet", a.quiet, "no line for each request");
  all.emplace_back(serve, hive_serve);
  CLI::App* token = command(app, "token", "make a token", a, false, true);
  token->add_option("--role", a.role, "what its holder may do")
      ->type_name("ROLE")
      ->check(CLI::IsMember({"agent", "developer", "admin"}));
  token->add_flag("--trusted", a.trusted, "its evidence proves (for CI)");
  token->add_option("--label", a.label, "whose it is")->type_name("TEXT");
  token->add_option("--days", a.days, "how long it holds; 0: until it is revoked")
      ->type_name("DAYS")
      ->check(CLI::Range(0.0, 36500.0));
  all.emplace_back(token, hive_token);
  all.emplace_back(command(app, "tokens", "the tokens of a program", a, false, true), hive_tokens);
  CLI::App* revoke =
      command(app, "revoke", "end a token and withdraw its evidence", a, false, true);
  revoke->add_option("id", a.id, "the token's id: its middle part")->type_name("ID")->required();
  all.emplace_back(revoke, hive_revoke);
  CLI::App* prune =
      command(app, "prune", "roll results that say nothing up into counts", a, false, true);
  prune->add_option("--days", a.days, "those that are older")->type_name("DAYS")->required();
  all.emplace_back(prune, hive_prune);
  for (const auto& [name, summary, run] :
       {std::tuple("backup", "copy the database while it is used", &hive_backup),
        std::tuple("restore", "put such a copy in its place; stop the hive first",
                   &hive_restore)}) {
    CLI::App* sub = command(app, name, summary, a, false, false);
    sub->add_option("file", a.path, "the copy")->type_name("FILE")->required();
    all.emplace_back(sub, run);
  }
  all.emplace_back(command(app, "migrate", "bring the database up to date", a, false, false),
                   hive_migrate);
}

}  // namespace

Verb hive_verb() {
  return {"hive", "one list of races for a fleet: serve it, push to it, look at it",
          "deadheat hive init --program shop && deadheat hive serve", [](CLI::App& app) {
            auto arguments = std::make_shared<HiveArguments>();
            auto commands = std::make_shared<Commands>();
            app.require_subcommand(1);
            add_owner_commands(app, *arguments, *commands);
            add_people_commands(app, *arguments, *commands);
            add_build_commands(app, *arguments, *commands);
            add_hook_commands(app, *arguments, *commands);
            return std::function<int()>([arguments, commands] {
              for (const auto& [sub, run] : *commands)
                if (sub->parsed()) return run(*arguments);
              return static_cast<int>(kUsage);
            });
          }};
}

}  // namespace deadheat::apps

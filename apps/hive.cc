// deadheat hive ...: the list of races that a fleet works on (docs/guides/hive.md). This file has
// the options of all its commands.
#include "apps/hive.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <tuple>

#include "apps/verb.h"

namespace deadheat::apps {
namespace {

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
  fetch->add_option("--key", a.key, "the public key of its builder, not from the hive")
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
                   "how often a program's whole fleet may ask in a second; agents of a larger one "
                   "have to ask less often")
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

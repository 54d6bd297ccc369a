// `deadheat completion`: a shell's completion script, generated from the same rows as the help.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "apps/catalog.h"
#include "apps/describe.h"
#include "lib/base/text.h"

namespace deadheat::apps {
namespace {

// The words that may follow "deadheat trace cat": its options; for "deadheat trace": its commands.
std::string words_after(const CLI::App& app) {
  std::vector<std::string> words;
  for (const CLI::App* sub : subcommands(app)) words.push_back(sub->get_name());
  for (const OptionRow& row : option_rows(app)) {
    if (!row.long_name.empty()) words.push_back(row.long_name);
  }
  return join(words, " ");
}

void add_choices(const std::string& path, const CLI::App& app, std::string& cases) {
  for (const OptionRow& row : option_rows(app)) {
    if (row.choices.empty() || row.long_name.empty()) continue;
    cases +=
        "    '" + path + " " + row.long_name + "') words='" + join(row.choices, " ") + "' ;;\n";
  }
}

// One table for both shells: the path so far (and an option that wants a value) to the next words.
std::string cases() {
  std::string verbs = "help --help --version";
  std::string options;
  std::string values;
  for (const CatalogEntry& entry : catalog()) {
    if (entry.stage.empty()) continue;
    const PreparedVerb prepared = prepare(entry.verb);
    verbs += " " + entry.verb.name;
    options += "    '" + entry.verb.name + "') words='" + words_after(*prepared.app) + "' ;;\n";
    add_choices(entry.verb.name, *prepared.app, values);
    for (const CLI::App* sub : subcommands(*prepared.app)) {
      const std::string path = entry.verb.name + " " + sub->get_name();
      options += "    '" + path + "') words='" + words_after(*sub) + "' ;;\n";
      add_choices(path, *sub, values);
    }
  }
  return "    '') words='" + verbs + "' ;;\n" + options + values;
}

std::string script(bool zsh) {
  const std::string lookup =
      "_deadheat_words() {\n  local words=''\n  case \"$1\" in\n" + cases() +
      "  esac\n  printf '%s' \"$words\"\n}\n"
      // The verb and, where it has commands, the command: the words before the first option.
      "_deadheat_path() {\n  local at='' word\n  for word in \"$@\"; do\n"
      "    case \"$word\" in -*) break ;; esac\n"
      "    [ -n \"$(_deadheat_words \"${at:+$at }$word\")\" ] || break\n"
      "    at=\"${at:+$at }$word\"\n  done\n  printf '%s' \"$at\"\n}\n";
  if (zsh) {
    return "#compdef deadheat\n" + lookup +
           "_deadheat() {\n  local at found\n"
           "  at=$(_deadheat_path \"${(@)words[2,CURRENT-1]}\")\n"
           "  found=$(_deadheat_words \"$at ${words[CURRENT-1]}\")\n"
           "  [ -n \"$found\" ] || found=$(_deadheat_words \"$at\")\n"
           "  compadd -- ${=found}\n  _files\n}\n_deadheat \"$@\"\n";
  }
  return lookup +
         "_deadheat() {\n  local at found current=\"${COMP_WORDS[COMP_CWORD]}\"\n"
         "  at=$(_deadheat_path \"${COMP_WORDS[@]:1:COMP_CWORD-1}\")\n"
         "  found=$(_deadheat_words \"$at ${COMP_WORDS[COMP_CWORD-1]}\")\n"
         "  [ -n \"$found\" ] || found=$(_deadheat_words \"$at\")\n"
         "  COMPREPLY=($(compgen -W \"$found\" -- \"$current\"))\n}\n"
         "complete -o default -F _deadheat deadheat ./deadheat\n";
}

}  // namespace

Verb completion_verb() {
  Verb verb;
  verb.name = "completion";
  verb.summary = "print a shell's completion script";
  verb.example = "source <(deadheat completion bash)";
  verb.setup = [](CLI::App& app) -> std::function<int()> {
    const auto shell = std::make_shared<std::string>();
    app.add_option("shell", *shell, "bash or zsh")
        ->required()
        ->check(CLI::IsMember({"bash", "zsh"}));
    return [shell] {
      const std::string text = script(*shell == "zsh");
      std::fwrite(text.data(), 1, text.size(), stdout);
      return static_cast<int>(kNothingFound);
    };
  };
  return verb;
}

}  // namespace deadheat::apps

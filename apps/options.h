// Options that do not come from the command line: DEADHEAT_OPTIONS and the project file.
//
// Keys are the long option names of the verbs ('_' and '-' are the same). Precedence: command line,
// environment, project file, defaults: a source is asked only for options that no earlier one set.
// A key that is an option of another verb is silently not ours; one that no verb has is a warning.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "lib/base/result.h"
#include "lib/base/settings.h"

namespace CLI {
class App;
}

namespace deadheat::apps {

// The nearest .deadheat in `directory` or above it; empty when there is none. One that another user
// could have written is ignored with a warning: options name files to write and checkers to run.
std::string find_project_file(const std::string& directory, std::vector<std::string>& warnings);

// Gives the options that are still unset the values of one source.
Status apply(std::span<const Setting> settings, CLI::App& app,
             std::span<const std::string> keys_of_all_verbs, std::vector<std::string>& warnings);

std::vector<std::string> keys(const CLI::App& app);  // of the verb and its commands, without --help
std::string keys_help(const CLI::App& app);          // what DEADHEAT_OPTIONS=help=1 prints

}  // namespace deadheat::apps

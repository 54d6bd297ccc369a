// Options from outside the command line: DEADHEAT_OPTIONS and the project file.
//
// Keys are the verbs' long option names ('_' and '-' are equivalent). Precedence: command line,
// environment, project file, defaults: a source sets only options that no earlier one set. A key
// that belongs to another verb is ignored silently; an unknown one causes a warning.
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

// Sets the options that are still unset from one source.
Status apply(std::span<const Setting> settings, CLI::App& app,
             std::span<const std::string> keys_of_all_verbs, std::vector<std::string>& warnings);

std::vector<std::string> keys(const CLI::App& app);  // of the verb and its commands, without --help
std::string keys_help(const CLI::App& app);          // the output of DEADHEAT_OPTIONS=help=1

}  // namespace deadheat::apps

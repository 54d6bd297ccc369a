// Explains unusable command lines in one line, with the nearest valid alternative.
#pragma once

#include <span>
#include <string>

#include "lib/base/result.h"

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace deadheat::apps {

// "unknown verb 'analyse'; did you mean 'analyze'?"
std::string unknown(const std::string& kind, const std::string& word,
                    std::span<const std::string> candidates);

// The command chosen so far: the verb, or the deepest of its commands.
const CLI::App& chosen(const CLI::App& app);

Error explain(const CLI::ParseError& error, const CLI::App& app);

}  // namespace deadheat::apps

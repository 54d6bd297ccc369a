// `deadheat man`: generates the man pages from the same rows as the help (apps/describe.h). They
// contain no date: the same sources give the same pages.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "apps/catalog.h"
#include "apps/describe.h"
#include "apps/usage.h"
#include "lib/base/file.h"

namespace deadheat::apps {
namespace {

// A line that starts with '.' or '\'' would be a request; '-' would be typeset as a hyphen.
std::string roff(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (out.empty() && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\' || c == '-') out += '\\';
    out += c;
    if (c == '\\') out.back() = 'e';
  }
  return out;
}

std::string head(const std::string& page, const std::string& summary) {
  return ".TH " + page + " 1 \"\" \"deadheat " DEADHEAT_VERSION "\" \"Deadheat\"\n.SH NAME\n" +
         roff(page) + " \\- " + roff(summary) + "\n";
}

std::string options_section(const CLI::App& app) {
  std::string text;
  for (const OptionRow& row : option_rows(app)) {
    text += ".TP\n.B " + roff(row.spelling()) + "\n" + roff(row.description);
    if (!row.fallback.empty()) text += " (default: " + roff(row.fallback) + ")";
    if (row.repeatable && row.positional.empty()) text += " (repeatable)";
    text += "\n";
  }
  return text;
}

std::string example_section(const std::string& example) {
  return ".SH EXAMPLE\n.nf\n" + roff(example) + "\n.fi\n";
}

constexpr char kShared[] =
    ".SH EXIT STATUS\n"
    "0 nothing found; 66 a finding; 77 cannot run here; 2 the command line or an input was not\n"
    "usable; 124 timed out; 128+n the program under test died of signal n.\n"
    ".SH ENVIRONMENT\n"
    ".TP\n.B DEADHEAT_OPTIONS\n"
    "key=value:key=value, the keys being long option names; help=1 lists them.\n"
    ".TP\n.B NO_COLOR\nNo colour, whatever the terminal.\n"
    ".SH FILES\n.TP\n.B .deadheat\n"
    "In the current directory or above it: lines of key = value with the same keys. The command\n"
    "line comes first, then the environment, then this file.\n";

std::string verb_page(const Verb& verb) {
  const PreparedVerb prepared = prepare(verb);
  const CLI::App& app = *prepared.app;
  std::string text = head("deadheat-" + verb.name, verb.summary);
  text += ".SH SYNOPSIS\n";
  const std::vector<const CLI::App*> commands = subcommands(app);
  if (commands.empty()) text += ".B " + roff(usage_line(app)) + "\n";
  for (const CLI::App* sub : commands) text += ".B " + roff(usage_line(*sub)) + "\n.br\n";
  for (const CLI::App* sub : commands) {
    text += ".SH \"" + roff(sub->get_name()) + "\"\n" + roff(sub->get_description()) + "\n" +
            options_section(*sub);
  }
  if (commands.empty()) text += ".SH OPTIONS\n" + options_section(app);
  text += kShared + example_section(verb.example);
  return text + ".SH SEE ALSO\n.BR deadheat (1)\n";
}

std::string main_page() {
  std::string text = head("deadheat", "finds races, says why they are races, and shows them");
  text += ".SH SYNOPSIS\n.B deadheat\n.I VERB\n[options] [FILE...]\n.SH VERBS\n";
  std::string also;
  for (const CatalogEntry& entry : catalog()) {
    if (entry.stage.empty()) continue;
    text += ".TP\n.B " + roff(entry.verb.name) + "\n" + roff(entry.verb.summary) + "\n";
    also += ".BR deadheat\\-" + roff(entry.verb.name) + " (1)\n";
  }
  return text + kShared + example_section("deadheat analyze trace.std") + ".SH SEE ALSO\n" + also;
}

// deadheat-cc and deadheat-c++ accept the options of the compiler that they replace.
std::string wrapper_page(const std::string& name, const std::string& variable) {
  std::string text = head(name, "compile and link for Deadheat, as gcc or clang would");
  text += ".SH SYNOPSIS\n.B " + roff(name) + "\n[options of gcc or clang] FILE...\n";
  text +=
      ".SH DESCRIPTION\n"
      "Stands in for the compiler: CC=deadheat\\-cc CXX=deadheat\\-c++. It becomes gcc or clang,\n"
      "with thread\\-sanitizer instrumentation added where it compiles, and Deadheat's runtime in\n"
      "place of libtsan where it links. Everything else is the compiler's own. A plugin, for\n"
      "clang 19 and for the gcc that Deadheat was built with, also marks calls into code that\n"
      "is not instrumented and leaves out checks that cannot matter (\\-Rpass=deadheat prints\n"
      "what clang's did, \\-fplugin\\-arg\\-deadheat_gcc\\-remarks what gcc's did).\n"
      ".PP\n"
      "Not instrumented: \\-fno\\-sanitize=thread, \\-ffreestanding, and links with \\-nostdlib "
      "that\n"
      "do not name \\-lc. Not supported: \\-static.\n"
      ".SH ENVIRONMENT\n";
  text +=
      ".TP\n.B " + variable +
      "\nThe compiler command, such as gcc\\-12 or \"ccache clang\\-19\". One of DEADHEAT_CC and\n"
      "DEADHEAT_CXX names the other too. Default: clang\\-19, clang or gcc, the first that is\n"
      "there.\n";
  text += ".SH EXIT STATUS\nThat of the compiler; 1 if it could not be started.\n";
  text += example_section("CC=deadheat-cc CXX=deadheat-c++ ./configure && make");
  return text + ".SH SEE ALSO\n.BR deadheat (1)\n.BR deadheat\\-verify (1)\n";
}

int write_pages(const std::string& directory) {
  const Status status = write_file(directory + "/deadheat.1", main_page());
  if (!status) return fail(status.error());
  for (const CatalogEntry& entry : catalog()) {
    if (entry.stage.empty()) continue;
    const std::string path = directory + "/deadheat-" + entry.verb.name + ".1";
    const Status written = write_file(path, verb_page(entry.verb));
    if (!written) return fail(written.error());
  }
  for (const auto& [name, variable] :
       {std::pair("deadheat-cc", "DEADHEAT_CC"), std::pair("deadheat-c++", "DEADHEAT_CXX")}) {
    const Status written = write_file(directory + "/" + name + ".1", wrapper_page(name, variable));
    if (!written) return fail(written.error());
  }
  return kNothingFound;
}

}  // namespace

Verb man_verb() {
  Verb verb;
  verb.name = "man";
  verb.summary = "write the man pages";
  verb.example = "deadheat man --directory docs/man";
  verb.setup = [](CLI::App& app) -> std::function<int()> {
    const auto directory = std::make_shared<std::string>();
    app.add_option("--directory", *directory, "where to write one file a page")->required();
    return [directory] { return write_pages(*directory); };
  };
  return verb;
}

}  // namespace deadheat::apps

#include "compiler/driver/plan.h"

#include "abi/regions.h"

namespace deadheat::driver {
namespace {

std::string plugin_path(const Installation& installation, bool cxx20) {
  return installation.folder + "/" + (cxx20 ? DEADHEAT_PASS_CXX20 : "deadheat_pass.so");
}

// Also in a link of objects only: link-time optimisation expands functions there, and the plugin
// with them.
void add_gcc_plugin(const Intent& intent, const Toolchain& toolchain,
                    const Installation& installation, Plan& plan) {
  if (toolchain.family != Family::kGcc || intent.syntax_only ||
      installation.gcc_plugins.count(compiler_major(toolchain)) == 0)
    return;
  const std::string path = gcc_plugin_path(installation, compiler_major(toolchain));
  plan.arguments.push_back("-fplugin=" + path);
  if (intent.cxx20) plan.arguments.emplace_back("-fplugin-arg-deadheat_gcc-cxx20");
}

// A compilation that ends before the link can use -fsanitize=thread. One that goes on to the link
// must instrument without the compiler's driver linking its own runtime. clang has an option for
// that, but it removes the runtime of other sanitizers too: with them, pass the option to its front
// end (options that only the driver understands, such as -fsanitize-ignorelist, are lost). gcc gets
// a specs file, also when only objects are linked: link-time optimisation generates code then.
void add_instrumentation(const Intent& intent, const Toolchain& toolchain,
                         const Installation& installation, Plan& plan) {
  std::vector<std::string>& out = plan.arguments;
  const bool clang = toolchain.family == Family::kClang;
  add_gcc_plugin(intent, toolchain, installation, plan);
  if (intent.compiles && clang && !intent.syntax_only && installation.plugin_major > 0 &&
      compiler_major(toolchain) == installation.plugin_major) {
    out.push_back("-fpass-plugin=" + plugin_path(installation, intent.cxx20));
    plan.uses_plugin = true;
  }
  if (!intent.links()) {
    if (intent.compiles) out.emplace_back("-fsanitize=thread");
  } else if (!clang) {
    out.push_back("-specs=" + installation.folder + "/gcc.specs");
  } else if (intent.compiles && intent.other_sanitizer) {
    out.insert(out.end(), {"-Xclang", "-fsanitize=thread"});
  } else if (intent.compiles) {
    out.insert(out.end(), {"-fsanitize=thread", "-fno-sanitize-link-runtime"});
  }
}

// Validation: the plugin does everything, with the places from debug information; no sanitizer is
// involved. The user's own words follow and may override the debug information options.
void add_validation(const Intent& intent, const Installation& installation, Plan& plan) {
  if (!intent.compiles || intent.syntax_only) return;
  plan.arguments.push_back("-fpass-plugin=" + installation.folder + "/deadheat_validate.so");
  plan.arguments.emplace_back("-g");
  plan.uses_validator = true;
}

// gcc warns that the thread sanitizer's runtime does not support fences; ours does. After the
// user's words, so that -Werror and -Werror=tsan do not fail a build; in a link because of
// link-time optimisation.
void add_warnings(const Intent& intent, const Toolchain& toolchain, std::vector<std::string>& out) {
  if (toolchain.family == Family::kGcc && !intent.syntax_only &&
      (intent.compiles || intent.links()))
    out.emplace_back("-Wno-tsan");
}

// clang 19 keeps its bitcode by itself; for others keep.cc has run it before. Candidates name lines
// and fields, so there is debug information unless the user's own words, which follow, say no.
void add_keeper(const Intent& intent, const Toolchain& toolchain, const Installation& installation,
                Plan& plan) {
  if (!installation.keeps_bitcode || !intent.compiles || intent.syntax_only ||
      toolchain.family != Family::kClang || installation.keeper_major == 0 ||
      compiler_major(toolchain) != installation.keeper_major)
    return;
  plan.arguments.push_back("-fpass-plugin=" + installation.folder + "/deadheat_keep.so");
  plan.arguments.emplace_back("-g");
  plan.uses_keeper = true;
}

// Before everything else: the interceptors of the first library that a program needs win.
void add_library_front(const Installation& installation, std::vector<std::string>& out) {
  const bool validates = !installation.candidates.empty();
  out.push_back("-L" + installation.folder + (validates ? "/validate" : ""));
  out.emplace_back("-Wl,--push-state,--no-as-needed");
  out.emplace_back("-ldeadheat");
  out.emplace_back("-Wl,--pop-state");
}

// At the end, so that the program's own search paths come first. It must be a RUNPATH (not RPATH),
// or LD_LIBRARY_PATH could not select another mode.
void add_library_back(const Installation& installation, std::vector<std::string>& out) {
  const bool validates = !installation.candidates.empty();
  out.push_back("-Wl,-rpath," + installation.folder + (validates ? "/validate" : "/detect"));
  out.emplace_back("-Wl,--enable-new-dtags");
}

// The user's words without those that would link ThreadSanitizer's runtime. A response file is
// passed unchanged unless one of its words changed.
void add_user_words(const std::vector<std::string>& arguments, const std::vector<Word>& words,
                    const Intent& intent, Plan& plan) {
  size_t next = 0;
  for (size_t i = 0; i < arguments.size(); ++i) {
    std::vector<std::string> kept;
    bool changed = false;
    for (; next < words.size() && words[next].origin == i; ++next) {
      std::string word = without_thread_sanitizer(words[next].text, intent.other_sanitizer);
      changed |= word != words[next].text;
      // The user's own `-Xclang -fsanitize=thread`: the pair would lose its second half.
      const bool paired = next > 0 && words[next - 1].text == "-Xclang";
      if (paired) word = words[next].text;
      if (!word.empty() || words[next].text.empty()) kept.push_back(std::move(word));
    }
    const bool response = arguments[i].size() > 1 && arguments[i][0] == '@' &&
                          !(kept.size() == 1 && kept[0] == arguments[i]);
    if (response && changed) {
      plan.response_files.push_back({plan.arguments.size(), std::move(kept)});
      plan.arguments.emplace_back();
    } else if (response) {
      plan.arguments.push_back(arguments[i]);
    } else {
      plan.arguments.insert(plan.arguments.end(), kept.begin(), kept.end());
    }
  }
}

}  // namespace

std::string gcc_plugin_path(const Installation& installation, int major) {
  return installation.folder + "/gcc-" + std::to_string(major) + "/deadheat_gcc.so";
}

Result<Plan> make_plan(const std::vector<std::string>& arguments, const Toolchain& toolchain,
                       const Installation& installation) {
  const std::vector<Word> words = expand_response_files(arguments);
  const Intent intent = read_intent(words);
  Plan plan;
  plan.arguments.assign(toolchain.command.begin(), toolchain.command.end());
  add_keeper(intent, toolchain, installation, plan);
  const bool does_nothing = intent.asks_something || (!intent.compiles && !intent.links());
  const bool bare_link = intent.links() && (intent.no_libraries || intent.freestanding);
  if (does_nothing || bare_link) {
    plan.arguments.insert(plan.arguments.end(), arguments.begin(), arguments.end());
    return plan;
  }
  const bool instruments = !intent.freestanding && !intent.thread_off;
  const bool validates = !installation.candidates.empty();
  if (validates && instruments && intent.compiles &&
      (toolchain.family != Family::kClang || installation.validator_major == 0 ||
       compiler_major(toolchain) != installation.validator_major))
    return Error{
        "--candidates needs clang 19 and a Deadheat that was built with LLVM 19",
        "set DEADHEAT_CC=clang-19, or build without --candidates and use deadheat confirm"};
  const auto instrument = [&] {
    if (validates) {
      add_validation(intent, installation, plan);
    } else {
      add_instrumentation(intent, toolchain, installation, plan);
    }
  };
  if (!intent.links()) {
    if (instruments) instrument();
    plan.arguments.insert(plan.arguments.end(), arguments.begin(), arguments.end());
    if (instruments && !validates) add_warnings(intent, toolchain, plan.arguments);
    return plan;
  }
  if (intent.is_static)
    return Error{"-static is not supported: the runtime is a shared library",
                 "link dynamically, or exclude this program from the build (-static-libgcc and "
                 "-static-libstdc++ are fine)"};
  const bool adds_library = !intent.relocatable;
  if (adds_library && !installation.has_library)
    return Error{"no libdeadheat.so in " + installation.folder,
                 "build or install Deadheat completely: the runtime is missing"};
  if (instruments) instrument();
  if (adds_library) add_library_front(installation, plan.arguments);
  add_user_words(arguments, words, intent, plan);
  if (instruments && !validates) add_warnings(intent, toolchain, plan.arguments);
  if (adds_library) add_library_back(installation, plan.arguments);
  return plan;
}

}  // namespace deadheat::driver

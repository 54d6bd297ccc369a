#include "compiler/driver/keep.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "compiler/scan/frame.h"
#include "lib/base/file.h"
#include "lib/base/text.h"

namespace deadheat::driver {
namespace {

// Words that name the output or things to link, with and without a value in the next word.
constexpr std::string_view kKeptWithValue[] = {
    "-o", "-MF",      "-MT",       "-MQ",      "-MJ",           "-l",      "-L", "-T", "-u",
    "-z", "-Xlinker", "-dumpbase", "-dumpdir", "-dumpbase-ext", "--output"};
constexpr std::string_view kDropped[] = {"-c",          "-S",      "-MD",     "-MMD",     "-MP",
                                         "-MG",         "-shared", "-static", "-r",       "-s",
                                         "-save-temps", "-pipe",   "-Werror", "-rdynamic"};
constexpr std::string_view kDroppedStarts[] = {
    "-Wl,",     "-Wa,",       "-l", "-L",  "-flto",       "-fuse-ld", "-specs",
    "-fplugin", "-fsanitize", "-o", "-MF", "-save-temps", "-Werror="};

bool is_dropped(std::string_view word) {
  return std::find(std::begin(kDropped), std::end(kDropped), word) != std::end(kDropped) ||
         std::any_of(std::begin(kDroppedStarts), std::end(kDroppedStarts),
                     [&](std::string_view start) { return word.starts_with(start); });
}

std::vector<std::string> compile_words(const std::vector<Word>& words, const Intent& intent) {
  std::vector<std::string> out;
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i].text;
    const bool with_value = std::find(std::begin(kKeptWithValue), std::end(kKeptWithValue), word) !=
                            std::end(kKeptWithValue);
    const bool is_input =
        std::find(intent.inputs.begin(), intent.inputs.end(), word) != intent.inputs.end();
    if (with_value) {
      ++i;
    } else if (!is_input && !is_dropped(word)) {
      out.push_back(word);
    }
  }
  return out;
}

struct Output {
  int status = 1;
  std::string bytes, errors;
};

std::string content(int fd) {
  std::string text;
  const off_t size = ::lseek(fd, 0, SEEK_END);
  text.resize(size > 0 ? static_cast<size_t>(size) : 0);
  const ssize_t got = ::pread(fd, text.data(), text.size(), 0);
  text.resize(got > 0 ? static_cast<size_t>(got) : 0);
  return text;
}

Output run(const std::vector<std::string>& command) {
  Output output;
  const ScopedFd bytes(::memfd_create("deadheat-bitcode", MFD_CLOEXEC));
  const ScopedFd errors(::memfd_create("deadheat-errors", MFD_CLOEXEC));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, bytes.get(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, errors.get(), STDERR_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  std::vector<char*> argv;
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  pid_t child = 0;
  const int failed = ::posix_spawnp(&child, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) return output;
  int status = 0;
  ::waitpid(child, &status, 0);
  output.status = WIFEXITED(status) ? WEXITSTATUS(status) : 1;
  output.bytes = content(bytes.get());
  output.errors = content(errors.get());
  return output;
}

// clang 19 does not know every option of gcc: the ones that it rejects are removed.
bool drop_unknown(const std::string& errors, std::vector<std::string>& command) {
  bool any = false;
  for (const std::string_view line : split(errors, '\n')) {
    if (line.find("unknown argument") == std::string_view::npos &&
        line.find("unsupported option") == std::string_view::npos &&
        line.find("unsupported argument") == std::string_view::npos)
      continue;
    for (const std::string_view part : split(line, '\''))
      any |= part.size() > 1 && part[0] == '-' &&
             std::erase_if(command,
                           [&](const std::string& word) { return word.starts_with(part); }) > 0;
  }
  return any;
}

std::string first_error(const std::string& errors) {
  for (const std::string_view line : split(errors, '\n'))
    if (line.find("error:") != std::string_view::npos) return std::string(line);
  return "clang-19 failed";
}

std::string frame_of(const std::string& compiler, std::vector<std::string> words,
                     const std::string& source) {
  using scan::FrameKind;
  if (!find_program(compiler))
    return encode(FrameKind::kAbsent, source, compiler + " is not installed");
  std::vector<std::string> command = {compiler, "-w", "-Qunused-arguments", "-ferror-limit=1"};
  command.insert(command.end(), words.begin(), words.end());
  command.insert(command.end(), {"-g", "-O1", "-Xclang", "-disable-llvm-passes", "-fno-lto",
                                 "-emit-llvm", "-c", source, "-o", "-"});
  Output output = run(command);
  if (output.status != 0 && drop_unknown(output.errors, command)) output = run(command);
  if (output.status != 0 || output.bytes.empty())
    return encode(FrameKind::kAbsent, source, first_error(output.errors));
  return encode(FrameKind::kBitcode, source, output.bytes);
}

std::string in_memory(const std::string& text) {
  const int fd =
      ::memfd_create("deadheat-bitcode", 0);  // the compiler and its assembler inherit it
  if (fd < 0 || !write_all(fd, text, "memory")) return {};
  return "/proc/self/fd/" + std::to_string(fd);
}

// As C source, for compilations whose assembler text the linker or the user sees first.
std::string as_source(const std::string& assembler) {
  std::string text = "__asm__(\n";
  for (const std::string_view line : split(assembler, '\n')) {
    text += '"';
    for (const char c : line) {
      if (c == '"' || c == '\\') text += '\\';
      text += c;
    }
    text += "\\n\"\n";
  }
  return text + ");\n";
}

}  // namespace

bool take_scan_word(std::vector<std::string>& arguments) {
  const bool asked = std::erase(arguments, "--scan") > 0;
  const char* mode = std::getenv("DEADHEAT_MODE");
  const std::vector<std::string_view> modes = split(mode == nullptr ? "" : mode, ',');
  return asked || std::find(modes.begin(), modes.end(), "scan") != modes.end();
}

bool needs_second_compiler(const std::vector<std::string>& arguments, const Toolchain& toolchain,
                           const Installation& installation) {
  const Intent intent = read_intent(expand_response_files(arguments));
  if (intent.asks_something || intent.syntax_only || !intent.compiles || intent.headers_only)
    return false;
  return toolchain.family != Family::kClang || installation.keeper_major == 0 ||
         compiler_major(toolchain) != installation.keeper_major;
}

void add_kept_bitcode(std::vector<std::string>& arguments, Language language) {
  const std::vector<Word> words = expand_response_files(arguments);
  const Intent intent = read_intent(words);
  const std::string compiler = language == Language::kCxx ? "clang++-19" : "clang-19";
  const std::vector<std::string> shared = compile_words(words, intent);
  std::string assembler;
  for (const std::string& source : intent.sources)
    if (source != "-") assembler += scan::as_assembler(frame_of(compiler, shared, source));
  if (assembler.empty()) return;
  // The assembler takes several inputs. Link-time optimisation and -S need it in the source itself.
  const bool in_source = std::any_of(words.begin(), words.end(), [](const Word& word) {
    return word.text.starts_with("-flto") || word.text == "-S";
  });
  const std::string path = in_memory(in_source ? as_source(assembler) : assembler);
  if (path.empty()) return;
  if (in_source) {
    arguments.insert(arguments.begin(), {"-include", path});
  } else {
    arguments.insert(arguments.begin(), "-Wa," + path);
  }
}

}  // namespace deadheat::driver

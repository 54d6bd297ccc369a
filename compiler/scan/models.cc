#include "compiler/scan/models.h"

#include <llvm/IR/Function.h>

#include <charconv>

#include "lib/base/file.h"
#include "lib/base/text.h"

namespace deadheat::scan {
namespace {

constexpr std::string_view kBuiltIn =
#include "compiler/scan/models.inc"
    ;

struct Word {
  std::string_view name;
  Effect effect;
  int least, most;  // numbers that follow
};
constexpr Word kWords[] = {{"none", Effect::kNone, 0, 0},
                           {"alloc", Effect::kAlloc, 0, 0},
                           {"alloc-into", Effect::kAllocInto, 1, 1},
                           {"realloc", Effect::kRealloc, 1, 1},
                           {"free", Effect::kFree, 1, 1},
                           {"lock", Effect::kLock, 1, 2},
                           {"rdlock", Effect::kReadLock, 1, 1},
                           {"trylock", Effect::kTryLock, 1, 1},
                           {"tryrdlock", Effect::kTryReadLock, 1, 1},
                           {"unlock", Effect::kUnlock, 1, 1},
                           {"condwait", Effect::kCondWait, 2, 2},
                           {"spawn", Effect::kSpawn, 3, 3},
                           {"join", Effect::kJoin, 1, 1},
                           {"join-at", Effect::kJoinAt, 1, 1},
                           {"tryjoin", Effect::kTryJoin, 1, 1},
                           {"once", Effect::kOnce, 2, 2},
                           {"handler", Effect::kHandler, 1, 1},
                           {"barrier", Effect::kBarrier, 1, 1},
                           {"wait", Effect::kWait, 1, 1},
                           {"signal", Effect::kSignal, 1, 1},
                           {"reads", Effect::kReads, 1, 1},
                           {"writes", Effect::kWrites, 1, 1},
                           {"reads-from", Effect::kReadsFrom, 1, 1},
                           {"writes-from", Effect::kWritesFrom, 1, 1},
                           {"copies", Effect::kCopies, 2, 2},
                           {"returns", Effect::kReturns, 1, 1},
                           {"fresh", Effect::kFresh, 0, 0},
                           {"exits", Effect::kExits, 0, 0},
                           {"calls", Effect::kCalls, 1, 3},
                           {"registers", Effect::kRegisters, 1, 3},
                           {"belongs", Effect::kBelongs, 2, 2},
                           {"dispatches", Effect::kDispatches, 0, 1}};

bool number(std::string_view word, int& value) {
  if (word == "-") {
    value = -1;
    return true;
  }
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  return error == std::errc() && end == word.data() + word.size();
}

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> out;
  for (const std::string_view word : split(line.substr(0, line.find('#')), ' '))
    if (!trim(word).empty()) out.push_back(trim(word));
  return out;
}

Result<Model> parse(const std::vector<std::string_view>& words) {
  Model model;
  for (size_t i = 1; i < words.size();) {
    const Word* found = nullptr;
    for (const Word& word : kWords)
      if (word.name == words[i]) found = &word;
    if (found == nullptr) return Error{"unknown word '" + std::string(words[i]) + "'", ""};
    ++i;
    Clause clause{found->effect};
    int* const slots[] = {&clause.a, &clause.b, &clause.c};
    int count = 0;
    for (int value = 0; count < found->most && i < words.size() && number(words[i], value); ++i)
      *slots[count++] = value;
    if (count < found->least) return Error{"'" + std::string(found->name) + "' needs a number", ""};
    if (found->effect != Effect::kNone) model.push_back(clause);
  }
  return model;
}

}  // namespace

Models::Models() {
  const Status status = add(kBuiltIn, "built-in models");
  if (!status) llvm::report_fatal_error(llvm::StringRef(status.error().message));
}

Status Models::add(std::string_view text, const std::string& origin) {
  size_t number = 0;
  for (const std::string_view line : split(text, '\n')) {
    ++number;
    const std::vector<std::string_view> words = words_of(line);
    if (words.empty()) continue;
    Result<Model> model = parse(words);
    if (!model)
      return Error{origin + ":" + std::to_string(number) + ": " + model.error().message,
                   "NAME clause..., see docs/guides/scan.md"};
    const std::string name(words[0]);
    if (name.ends_with('*')) {
      prefixes_.emplace_back(name.substr(0, name.size() - 1), std::move(*model));
    } else {
      exact_[name] = std::move(*model);
    }
  }
  return Ok{};
}

Status Models::add_file(const std::string& path) {
  const auto text = read_file(path);
  if (!text) return text.error();
  return add(text.value(), path);
}

const Model* Models::find_exact(llvm::StringRef name) const {
  // std::lock of several mutexes has a body, a loop of tries, from whose end nothing can be told.
  if (name.starts_with("_ZSt4lockISt") && !name.contains("unique_lock")) name = "std::lock";
  const auto found = exact_.find(std::string_view(name.data(), name.size()));
  return found == exact_.end() ? nullptr : &found->second;
}

const Model* Models::find(llvm::StringRef llvm_name) const {
  if (const Model* exact = find_exact(llvm_name)) return exact;
  const std::string_view name(llvm_name.data(), llvm_name.size());
  const auto [entry, fresh] = by_prefix_.try_emplace(std::string(name), nullptr);
  if (fresh)
    for (const auto& [prefix, model] : prefixes_)
      if (name.starts_with(prefix)) entry->second = &model;
  return entry->second;
}

const Clause* clause(const Model* model, Effect effect) {
  if (model == nullptr) return nullptr;
  for (const Clause& one : *model)
    if (one.effect == effect) return &one;
  return nullptr;
}

}  // namespace deadheat::scan

#include "lib/symbols/demangle.h"

#include <cxxabi.h>

#include <cstdlib>
#include <cstring>
#include <memory>

namespace deadheat::symbols {

std::string demangle(const char* name) {
  if (name == nullptr) return {};
  // Longer names come only from hostile files, and the demangler takes more than linear time.
  constexpr size_t kLongest = 1 << 16;
  const size_t length = ::strnlen(name, kLongest + 1);
  if (length > kLongest) return std::string(name, 64) + "...";
  std::string plain(name, length);
  if (const size_t version = plain.find('@'); version != std::string::npos && version > 0)
    plain.resize(version);
  if (!plain.starts_with("_Z")) return plain;
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(
      abi::__cxa_demangle(plain.c_str(), nullptr, nullptr, &status), &std::free);
  return status == 0 && text != nullptr ? std::string(text.get()) : plain;
}

std::string without_anonymous(std::string name) {
  static constexpr std::string_view kAnonymous = "(anonymous namespace)::";
  for (size_t at; (at = name.find(kAnonymous)) != std::string::npos;)
    name.erase(at, kAnonymous.size());
  return name;
}

}  // namespace deadheat::symbols

#include "lib/process/sandbox/permissions.h"

#include <algorithm>

#include "lib/base/text.h"

namespace deadheat::process::sandbox {

// In the order of the bits.
const std::vector<std::string>& permission_names() {
  static const std::vector<std::string> kNames = {"setuid", "namespaces", "network",
                                                  "keys",   "uring",      "machine"};
  return kNames;
}

std::vector<std::string> Permissions::names() const {
  std::vector<std::string> out;
  for (size_t i = 0; i < permission_names().size(); ++i)
    if ((bits_ >> i & 1) != 0) out.push_back(permission_names()[i]);
  return out;
}

Result<Permissions> parse_permissions(const std::vector<std::string>& words) {
  const std::vector<std::string>& names = permission_names();
  Permissions all;
  for (const std::string& word : words) {
    const auto found = std::find(names.begin(), names.end(), word);
    if (found == names.end())
      return Error{"nothing called '" + word + "' can be allowed", "one of: " + join(names, ", ")};
    all.add(static_cast<Permission>(1U << (found - names.begin())));
  }
  return all;
}

}  // namespace deadheat::process::sandbox

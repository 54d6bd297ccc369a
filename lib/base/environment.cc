#include "lib/base/environment.h"

#include <unistd.h>

namespace deadheat {

std::vector<std::string> environment_with(const std::map<std::string, std::string>& changed) {
  std::vector<std::string> all;
  for (char** one = environ; *one != nullptr; ++one) {
    const std::string text = *one;
    if (!changed.contains(text.substr(0, text.find('=')))) all.push_back(text);
  }
  for (const auto& [name, value] : changed) all.push_back(name + "=" + value);
  return all;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (std::string& text : texts) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

}  // namespace deadheat

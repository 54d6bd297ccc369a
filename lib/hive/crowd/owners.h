// Who owns a file, by the rules of a CODEOWNERS file as GitHub and GitLab read it. Pure.
//
//   docs/        @writers        a folder anywhere
//   /src/*.c     @core @ann      begins at the root; '*' stops at '/', '**' does not
//   *.js                         nobody: the last rule that fits decides
//
// GitLab's sections are read as if their heads were not there.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace deadheat::hive::crowd {

class Owners {
 public:
  Owners() = default;
  // `folder`: where the file's paths begin; a path that is not below it has no owner.
  static Owners parse(std::string_view rules, std::string folder);
  // "@core @ann", or nothing.
  std::string of(std::string_view path) const;
  bool empty() const { return rules_.empty(); }

 private:
  struct Rule {
    std::string pattern, owners;
  };
  std::string folder_;
  std::vector<Rule> rules_;
};

// A pattern of such a file against a path that begins at the root, without a slash before it.
bool owns(std::string_view pattern, std::string_view path);

}  // namespace deadheat::hive::crowd

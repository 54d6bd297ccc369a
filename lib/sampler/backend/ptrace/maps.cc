#include "lib/sampler/backend/ptrace/maps.h"

#include <cinttypes>
#include <cstdio>
#include <set>

#include "lib/base/text.h"

namespace deadheat::sampler {
namespace {

struct Line {
  uint64_t begin = 0, end = 0, offset = 0;
  bool executable = false;
  std::string path;
};

std::vector<Line> lines_of(const std::string& maps) {
  std::vector<Line> out;
  for (const std::string_view text : split(maps, '\n')) {
    Line line;
    char rights[5] = "";
    int at = 0;
    if (std::sscanf(std::string(text).c_str(), "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*s %*s %n",
                    &line.begin, &line.end, rights, &line.offset, &at) < 4)
      continue;
    line.executable = rights[2] == 'x';
    if (at > 0 && static_cast<size_t>(at) < text.size()) line.path = text.substr(at);
    out.push_back(std::move(line));
  }
  return out;
}

}  // namespace

std::vector<LoadedModule> modules_in(const std::string& maps, MappedFiles& files) {
  const std::vector<Line> lines = lines_of(maps);
  std::vector<LoadedModule> out;
  for (size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].path.empty() || lines[i].path[0] != '/' || lines[i].offset != 0) continue;
    LoadedModule module{without_deleted(lines[i].path), 0, lines[i].begin, lines[i].end};
    bool executable = false;
    // A file's mappings are consecutive; its zero-initialised end has no name and is not needed.
    for (size_t k = i;
         k < lines.size() && lines[k].path == lines[i].path && (k == i || lines[k].offset != 0);
         ++k) {
      module.end = lines[k].end;
      executable |= lines[k].executable;
    }
    if (!executable) continue;
    const MappedFiles::Found& found = files.find(module.path, lines[i].begin, lines[i].end);
    if (found.file.empty()) continue;
    if (found.file != module.path) module.file = found.file;
    module.bias = module.begin - found.first_address;
    out.push_back(std::move(module));
  }
  return out;
}

uint64_t main_stack_end(const std::string& maps) {
  for (const Line& line : lines_of(maps))
    if (line.path == "[stack]") return line.end;
  return 0;
}

}  // namespace deadheat::sampler

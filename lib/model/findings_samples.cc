// For schema_test.py: writes random findings files, and checks whether files are accepted.
//   findings_samples generate FIRST_SEED COUNT DIRECTORY
//   findings_samples check FILE...          prints "ok" or "refused: MESSAGE" per file, in order
#include <cstdio>
#include <cstdlib>
#include <string>

#include "lib/base/file.h"
#include "lib/model/json.h"
#include "lib/model/random_findings.h"

int main(int argc, char** argv) {
  using namespace deadheat;
  const std::string verb = argc > 1 ? argv[1] : "";
  if (verb == "generate" && argc == 5) {
    const uint64_t first = std::strtoull(argv[2], nullptr, 10),
                   count = std::strtoull(argv[3], nullptr, 10);
    for (uint64_t seed = first; seed < first + count; ++seed) {
      const std::string path = std::string(argv[4]) + "/" + std::to_string(seed) + ".json";
      if (!model::write_findings(path, model::RandomFindings(seed).file())) return 1;
    }
    return 0;
  }
  if (verb == "check") {
    for (int i = 2; i < argc; ++i) {
      const auto read = model::read_findings(argv[i]);
      std::puts(read.ok() ? "ok" : ("refused: " + read.error().message).c_str());
    }
    return 0;
  }
  std::fprintf(stderr,
               "usage: findings_samples generate FIRST_SEED COUNT DIRECTORY | check FILE...\n");
  return 2;
}

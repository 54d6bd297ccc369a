// ProgramNames: names for the places and variables of a program, from its symbols and debug
// information.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lib/places/places.h"
#include "lib/sampler/backend/backend.h"
#include "lib/sampler/findings/naming.h"
#include "lib/symbols/symbolizer.h"

namespace deadheat::sampler {

class ProgramNames : public Naming {
 public:
  ProgramNames(const std::vector<LoadedModule>& modules, symbols::Symbolizer& symbolizer);

  void complete(Collision& collision) override;
  DescribedSide describe(const Side& side, uint64_t address) override;
  std::string held(const Side& side) override;
  std::string came(const Side& side) override;
  std::string strangers() override;
  std::string doubt(const Collision& collision) override;

  // "write in store() race.c:12"
  std::string one_line(const Side& side);

 private:
  places::Place place(const CodePlace& place);
  std::vector<places::Place> stack(const Side& side);
  std::optional<symbols::GlobalName> global(uint64_t address, uint64_t size);
  std::string location(uint64_t address, uint64_t size, std::string& variable);
  Nature nature(const Side& side, uint64_t address);
  model::Access access_of(const Side& side, model::Site& site);

  const std::vector<LoadedModule>& modules_;
  symbols::Symbolizer& symbolizer_;
  std::vector<symbols::Symbolizer::ModuleId> ids_;
};

}  // namespace deadheat::sampler

// KernelNames: names for the places of the kernel, from kallsyms: function and offset, and lines
// where the image with debug information is there. An instruction without lock may be READ_ONCE or
// an atomic in the source, so all collisions are of kind collision and none is ever called a race.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "lib/sampler/backend/kernel/kernel_symbols.h"
#include "lib/sampler/findings/naming.h"
#include "lib/symbols/symbolizer.h"

namespace deadheat::sampler {

// The source line of a place in the kernel's image, counted from _text: in the function that
// kallsyms names, not in functions inlined into it.
using KernelLines = std::function<std::optional<symbols::SourceFrame>(uint64_t offset)>;
KernelLines lines_of_image(symbols::Symbolizer& symbolizer, const std::string& path,
                           const std::string& build_id);

// The build-id of a module, or of the image (kKernelImage); empty if unknown. Without it a pair
// that came in both orders is two findings: nothing else says that two places are the same.
using KernelBuildIds = std::function<std::string(std::string_view module)>;

class KernelNames : public Naming {
 public:
  // `lines` may be empty.
  KernelNames(const KernelSymbols& symbols, KernelBuildIds build_ids, KernelLines lines = {})
      : symbols_(symbols), build_ids_(std::move(build_ids)), lines_(std::move(lines)) {}

  void complete(Collision&) override {}
  DescribedSide describe(const Side& side, uint64_t address) override;
  std::string held(const Side& side) override;
  std::string came(const Side& side) override;
  std::string strangers() override;
  std::string doubt(const Collision& collision) override;

 private:
  model::Frame frame(uint64_t address, bool caller = false) const;
  model::Site site(const Side& side) const;
  std::string location(uint64_t address) const;
  std::string place(uint64_t address) const;
  std::optional<symbols::SourceFrame> line_of(const model::Frame& frame, bool caller) const;

  const KernelSymbols& symbols_;
  KernelBuildIds build_ids_;
  KernelLines lines_;
};

}  // namespace deadheat::sampler

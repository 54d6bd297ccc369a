// The sites of a trace under dense numbers: labels, and places in modules. A module is known by its
// number within a process generation until its meta record is found, if ever. Bounded: beyond the
// caps a site becomes kNoSite and is counted.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "lib/trace/event.h"
#include "lib/trace/interner.h"

namespace deadheat::trace {

class SiteTable {
 public:
  // One module as mapped by one process generation; a dense number of our own.
  using ModuleRef = uint32_t;

  static constexpr ModuleRef kNoModule = 0xffffffffU;

  ModuleRef module(uint32_t pid, uint32_t generation, uint32_t id) {
    const ModuleKey key{(static_cast<uint64_t>(pid) << 32) | generation, id};
    if (const auto found = module_refs_.find(key); found != module_refs_.end())
      return found->second;
    if (modules_.size() >= kMaxModules) return kNoModule;
    modules_.push_back({.path = {}, .build_id = {}, .id = id});
    return module_refs_[key] = static_cast<ModuleRef>(modules_.size() - 1);
  }
  void describe_module(ModuleRef ref, std::string path, std::string build_id) {
    if (ref == kNoModule) return;
    modules_[ref].path = std::move(path);
    modules_[ref].build_id = std::move(build_id);
  }

  SiteId label(std::string_view text) {
    const uint32_t before = static_cast<uint32_t>(labels_.size());
    const uint32_t number = labels_.intern(text);
    if (number == TextInterner::kFull) return full();
    if (number < before) return site_of_label_[number];
    site_of_label_.push_back(add({.module = kIsLabel, .label = number, .offset = 0}));
    return site_of_label_.back();
  }
  SiteId place(ModuleRef module, uint64_t offset) {
    if (sites_.size() >= kMaxSites || module == kNoModule) return full();
    const auto [entry, added] =
        places_.emplace(Place{module, offset}, static_cast<SiteId>(sites_.size()));
    if (added) add({.module = module, .label = 0, .offset = offset});
    return entry->second;
  }

  SiteInfo info(SiteId site) const {
    if (site >= sites_.size()) return {};
    const Entry& entry = sites_[site];
    if (entry.module == kIsLabel)
      return {.label = std::string(labels_.text(entry.label)),
              .module = {},
              .build_id = {},
              .offset = 0};
    const Module& module = modules_[entry.module];
    return {.label = {},
            .module = module.path.empty() ? "module " + std::to_string(module.id) : module.path,
            .build_id = module.build_id,
            .offset = entry.offset};
  }
  size_t size() const { return sites_.size(); }
  uint64_t dropped() const { return dropped_; }
  uint64_t unknown_modules() const {
    uint64_t count = 0;
    for (const Module& module : modules_) count += module.path.empty() ? 1 : 0;
    return count;
  }

 private:
  static constexpr uint32_t kIsLabel = 0xffffffffU;
  static constexpr uint64_t kMaxSites = 1 << 26;
  static constexpr uint64_t kMaxModules = 1 << 20;
  static constexpr uint64_t kMaxLabelBytes = 1 << 30;
  struct Module {
    std::string path, build_id;
    uint32_t id = 0;
  };
  struct Entry {
    uint32_t module, label;
    uint64_t offset;
  };
  struct Place {
    uint64_t module;
    uint64_t offset;
    friend bool operator==(const Place&, const Place&) = default;
  };
  struct PlaceHash {
    size_t operator()(const Place& place) const {
      return mix(place.offset ^ 0x9e3779b97f4a7c15ULL, 0xa0761d6478bd642fULL + place.module);
    }
  };
  using ModuleKey = Place;  // process and generation, number there
  SiteId add(Entry entry) {
    sites_.push_back(entry);
    return static_cast<SiteId>(sites_.size() - 1);
  }
  SiteId full() {
    ++dropped_;
    return kNoSite;
  }

  TextInterner labels_{kMaxSites, kMaxLabelBytes};
  std::vector<SiteId> site_of_label_;
  std::unordered_map<Place, SiteId, PlaceHash> places_;
  std::unordered_map<ModuleKey, ModuleRef, PlaceHash> module_refs_;
  std::vector<Module> modules_;
  std::vector<Entry> sites_;
  uint64_t dropped_ = 0;
};

}  // namespace deadheat::trace

// The part of the file system that a recording touched: folders, names in them, and the inodes
// behind the names.
//
// It is derived from the events, so it knows only what they show: a name exists, does not exist, or
// is unknown. A name stays when its target changes: a name in a folder is a location of its own
// (RacePro, section 5.2), even while it refers to nothing. Folders are inodes, so a renamed folder
// keeps its names.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace deadheat::process::effects {

constexpr uint32_t kNoIndex = ~0u;
constexpr uint32_t kAbsent = ~0u - 1;  // of a name: it refers to nothing
constexpr bool is_index(uint32_t inode) { return inode < kAbsent; }

enum class InodeKind : uint8_t { kUnknown, kRegular, kFolder, kLink, kFifo, kSocket, kDevice };

InodeKind file_kind(uint32_t mode);

struct Inode {
  InodeKind kind = InodeKind::kUnknown;
  uint32_t parent = kNoIndex;  // the folder of its latest name
  std::string name;            // its latest name
  std::string target;          // of a symbolic link
  uint64_t size = 0;
  uint32_t names = 0;     // names that refer to it
  uint32_t ordinals = 0;  // assigned to names in this folder
  bool gone = false;      // its last name was removed
  // Indices that the model stores here.
  uint32_t meta_object = kNoIndex, data_object = kNoIndex, folder_object = kNoIndex,
           lock_object = kNoIndex, stream = kNoIndex;
};

struct Name {
  uint32_t folder = 0;
  uint32_t ordinal = 0;        // in its folder
  uint32_t inode = kNoIndex;   // kNoIndex: unknown; kAbsent: nothing
  uint32_t object = kNoIndex;  // of the model
  std::string text;
};

// Where a path leads.
struct Lookup {
  std::vector<uint32_t> way;      // names on the way, without the last
  std::vector<uint32_t> folders;  // folders on the way
  uint32_t name = kNoIndex;       // the last; none for "/", "." and ".."
  uint32_t inode = kNoIndex;      // its inode: an index, kNoIndex (unknown) or kAbsent
  bool dead_end = false;          // a name on the way does not exist: `name` is that one
  bool in_proc = false;           // below /proc:
  int32_t process = -1;           // /proc/N/..., 0: self
  std::string_view rest;          // after /proc/ or /proc/N/; points into the path
};

class NameTree {
 public:
  // Names that the events do not mention are looked up below these folders, and the first that has
  // one wins: the recording's own copies, then ("") this machine.
  explicit NameTree(std::vector<std::string> roots);

  static constexpr uint32_t kRoot = 0;
  uint32_t inodes() const { return static_cast<uint32_t>(inodes_.size()); }
  Inode& inode(uint32_t index) { return inodes_[index]; }
  Name& name(uint32_t index) { return names_[index]; }

  // exists: the call succeeded, so everything on the way existed.
  Lookup look_up(uint32_t root, uint32_t start, std::string_view path, bool follow, bool exists);

  // The inode behind a name that a call opened or created, identified by its numbers (0: unknown).
  // created: the name did not exist before.
  uint32_t adopt(uint32_t name, uint64_t device, uint64_t number, InodeKind kind, bool created);
  uint32_t make(InodeKind kind);
  void point(uint32_t name, uint32_t inode);  // kAbsent: removes the name
  // What the name refers to, asking the host if the events do not tell.
  uint32_t behind(uint32_t name);

  std::string path_of(uint32_t inode) const;
  std::string path_of_name(uint32_t name) const;

 private:
  struct Place {
    uint64_t device = 0, number = 0;
    bool operator==(const Place&) const = default;
  };
  struct PlaceHash {
    size_t operator()(const Place& place) const {
      return (place.device * 0x9e3779b97f4a7c15ULL) ^ place.number;
    }
  };

  uint32_t entry(uint32_t folder, std::string_view text);
  void ask_host(uint32_t name);

  const std::vector<std::string> roots_;
  std::vector<Inode> inodes_;
  std::vector<Name> names_;
  std::unordered_map<std::string, uint32_t> entries_;  // folder index and text
  std::unordered_map<Place, uint32_t, PlaceHash> places_;
  std::string key_;
};

}  // namespace deadheat::process::effects

#include "lib/process/effects/name_tree.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <climits>

namespace deadheat::process::effects {
namespace {

constexpr int kMostLinks = 40;       // as in the kernel
constexpr int kMostFolders = 4096;   // deeper than any path that the kernel accepts
constexpr size_t kMostPath = 65536;  // with links expanded

// "123/status" -> 123 and "status"; "self/..." -> 0.
void split_proc(std::string_view rest, Lookup& found) {
  found.in_proc = true;
  while (rest.starts_with('/')) rest.remove_prefix(1);
  const std::string_view first = rest.substr(0, rest.find('/'));
  found.rest = rest;
  if (first == "self" || first == "thread-self") {
    found.process = 0;
  } else {
    int32_t number = 0;
    const auto [end, error] = std::from_chars(first.data(), first.data() + first.size(), number);
    if (error != std::errc() || end != first.data() + first.size() || number <= 0) return;
    found.process = number;
  }
  rest.remove_prefix(first.size());
  while (rest.starts_with('/')) rest.remove_prefix(1);
  found.rest = rest;
}

}  // namespace

InodeKind file_kind(uint32_t mode) {
  switch (mode & S_IFMT) {
    case S_IFREG:
      return InodeKind::kRegular;
    case S_IFDIR:
      return InodeKind::kFolder;
    case S_IFLNK:
      return InodeKind::kLink;
    case S_IFIFO:
      return InodeKind::kFifo;
    case S_IFSOCK:
      return InodeKind::kSocket;
    case S_IFCHR:
    case S_IFBLK:
      return InodeKind::kDevice;
    default:
      return InodeKind::kUnknown;
  }
}

NameTree::NameTree(std::vector<std::string> roots) : roots_(std::move(roots)) {
  make(InodeKind::kFolder);
}

uint32_t NameTree::make(InodeKind kind) {
  inodes_.emplace_back().kind = kind;
  return static_cast<uint32_t>(inodes_.size() - 1);
}

uint32_t NameTree::entry(uint32_t folder, std::string_view text) {
  key_.assign(reinterpret_cast<const char*>(&folder), sizeof folder);
  key_.append(text);
  const auto [at, fresh] = entries_.try_emplace(key_, static_cast<uint32_t>(names_.size()));
  if (fresh) {
    Name& name = names_.emplace_back();
    name.folder = folder;
    name.ordinal = inodes_[folder].ordinals++;
    name.text = text;
  }
  return at->second;
}

void NameTree::point(uint32_t index, uint32_t to) {
  Name& name = names_[index];
  if (name.inode == to) return;
  if (is_index(name.inode)) {
    Inode& before = inodes_[name.inode];
    if (before.names > 0 && --before.names == 0) before.gone = true;
  }
  name.inode = to;
  if (!is_index(to)) return;
  Inode& now = inodes_[to];
  now.names++;
  now.gone = false;
  now.parent = name.folder;
  now.name = name.text;
}

void NameTree::ask_host(uint32_t index) {
  if (roots_.empty() || names_[index].inode != kNoIndex) return;
  const std::string name = path_of_name(index);
  struct stat about;
  const auto root = std::find_if(roots_.begin(), roots_.end(), [&](const std::string& one) {
    return lstat((one + name).c_str(), &about) == 0;
  });
  if (root == roots_.end()) {
    point(index, kAbsent);
    return;
  }
  const std::string path = *root + name;
  const uint32_t inode = make(file_kind(about.st_mode));
  inodes_[inode].size = static_cast<uint64_t>(about.st_size);
  if (inodes_[inode].kind == InodeKind::kLink) {
    char target[PATH_MAX];
    const ssize_t size = readlink(path.c_str(), target, sizeof target);
    if (size > 0) inodes_[inode].target.assign(target, static_cast<size_t>(size));
  }
  point(index, inode);
}

uint32_t NameTree::behind(uint32_t name) {
  ask_host(name);
  return names_[name].inode;
}

uint32_t NameTree::adopt(uint32_t name, uint64_t device, uint64_t number, InodeKind kind,
                         bool created) {
  const uint32_t current = name == kNoIndex ? kNoIndex : names_[name].inode;
  const Place place{device, number};
  const auto known = number == 0 ? places_.end() : places_.find(place);
  uint32_t inode = kNoIndex;
  if (known != places_.end() && !created && !inodes_[known->second].gone) {
    inode = known->second;
  } else if (is_index(current) && !created &&
             (inodes_[current].kind == kind || inodes_[current].kind == InodeKind::kUnknown ||
              kind == InodeKind::kUnknown)) {
    inode = current;  // seen only by name, or an overlay gave it another number when it was first
                      // written
  } else {
    inode = make(kind);
  }
  if (inodes_[inode].kind == InodeKind::kUnknown) inodes_[inode].kind = kind;
  if (number != 0) places_[place] = inode;
  if (name != kNoIndex) point(name, inode);
  return inode;
}

Lookup NameTree::look_up(uint32_t root, uint32_t start, std::string_view path, bool follow,
                         bool exists) {
  Lookup found;
  uint32_t folder = path.starts_with('/') ? root : start;
  std::string expanded;  // the rest, once a link has been followed
  std::string_view rest = path;
  int links = 0;
  found.inode = folder;
  for (int step = 0; step < kMostFolders; step++) {
    while (rest.starts_with('/')) rest.remove_prefix(1);
    if (rest.empty()) break;
    const std::string_view text = rest.substr(0, rest.find('/'));
    rest.remove_prefix(text.size());
    const bool last = rest.find_first_not_of('/') == std::string_view::npos;
    found.folders.push_back(folder);
    if (text == "." || text == "..") {
      const uint32_t up = inodes_[folder].parent;
      if (text == ".." && folder != root && up != kNoIndex) folder = up;
      if (found.name != kNoIndex) found.way.push_back(found.name);
      found.name = kNoIndex;
      found.inode = folder;
      continue;
    }
    if (folder == kRoot && text == "proc") {
      if (expanded.empty()) split_proc(rest, found);
      found.in_proc = true;
      return found;
    }
    if (found.name != kNoIndex) found.way.push_back(found.name);
    found.name = entry(folder, text);
    uint32_t inode = behind(found.name);
    if (is_index(inode) && inodes_[inode].kind == InodeKind::kLink && (!last || follow) &&
        ++links <= kMostLinks && !inodes_[inode].target.empty()) {
      const std::string more = inodes_[inode].target + std::string(rest);
      if (more.size() > kMostPath) break;
      expanded = more;
      rest = expanded;
      if (rest.starts_with('/')) folder = root;
      found.way.push_back(found.name);
      found.name = kNoIndex;
      found.inode = folder;
      continue;
    }
    if (last) {
      found.inode = inode;
      return found;
    }
    if (!is_index(inode)) {
      if (inode == kAbsent && !exists) {
        found.inode = kAbsent;
        found.dead_end = true;
        return found;
      }
      inode = make(InodeKind::kFolder);
      point(found.name, inode);
    }
    folder = found.inode = inode;
  }
  return found;
}

std::string NameTree::path_of(uint32_t inode) const {
  std::vector<std::string_view> parts;
  for (int step = 0; inode != kRoot && inode != kNoIndex && step < kMostFolders; step++) {
    parts.push_back(inodes_[inode].name);
    inode = inodes_[inode].parent;
  }
  std::string path;
  for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
    path += '/';
    path += *part;
  }
  return path.empty() ? "/" : path;
}

std::string NameTree::path_of_name(uint32_t name) const {
  const std::string folder = path_of(names_[name].folder);
  return (folder == "/" ? "" : folder) + "/" + names_[name].text;
}

}  // namespace deadheat::process::effects

// Calls on names: resolving paths, and creating, removing and moving names.
//
// Every name on the way is loaded, including one that did not exist. A failed call changed nothing,
// so it only loads. Folders' own times are not modelled: every new name would conflict with every
// stat of its folder.
#include <fcntl.h>
#include <linux/fs.h>

#include <cerrno>

#include "lib/base/text.h"
#include "lib/process/effects/model_builder.h"

namespace deadheat::process::effects {
Lookup ModelBuilder::look_up(int folder_descriptor, int path_argument, bool follow, bool exists) {
  const auto path = event_->path(static_cast<uint16_t>(path_argument));
  Lookup nowhere;
  if (!path) {
    note(recording::syscall_name(head().number) + ": its path is not in the recording");
    return nowhere;
  }
  uint32_t start = self().folders->working;
  if (!path->starts_with('/') && folder_descriptor != AT_FDCWD) {
    const uint32_t description = find(folder_descriptor);
    if (description == kNoIndex) return nowhere;
    start = descriptions_[description].inode;
    if (start == kNoIndex) return nowhere;
  }
  if (path->empty()) {
    nowhere.inode = start;
    return nowhere;
  }
  return tree_.look_up(self().folders->root, start, *path, follow, exists);
}

void ModelBuilder::load_way(const Lookup& at) {
  for (const uint32_t folder : at.folders) load(meta_object(folder), kMetaMode, kMetaMode + 1);
  for (const uint32_t name : at.way) load(name_object(name));
  load_proc(at);
}

void ModelBuilder::load_name(const Lookup& at) {
  load_way(at);
  if (at.name != kNoIndex) load(name_object(at.name));
}

void ModelBuilder::store_name(uint32_t name) {
  store(name_object(name));
  const Name& one = tree_.name(name);
  store(folder_object(one.folder), one.ordinal, uint64_t{one.ordinal} + 1);
}

void ModelBuilder::load_proc(const Lookup& at) {
  if (!at.in_proc) return;
  if (at.rest == "mounts" || at.rest == "mountinfo" || at.rest == "self/mounts")
    load(global_object("mounts"));
  if (at.process <= 0 || at.process == own_process().id) return;
  const auto number = static_cast<uint64_t>(at.process);
  load(proc_folder_object(), number, number + 1);
}

// Whether an open with O_CREAT created the file. If the name is unknown (first seen here, and
// no host to ask), an empty file counts as new: an assumed store can only add a race, not hide
// one.
bool ModelBuilder::is_created(const Lookup& at, uint64_t flags,
                              const std::optional<deadheat_process_object>& object) {
  if ((flags & O_CREAT) == 0 || at.name == kNoIndex) return false;
  if ((flags & O_EXCL) != 0) return true;
  const uint32_t before = tree_.name(at.name).inode;
  if (before == kAbsent) return true;
  if (is_index(before)) return false;
  return !object || object->size == 0;
}

// Whether O_TRUNC has any effect on it.
bool ModelBuilder::is_cut_off(uint32_t inode) {
  const InodeKind kind = tree_.inode(inode).kind;
  return kind != InodeKind::kDevice && kind != InodeKind::kFifo;
}

uint32_t ModelBuilder::describe_opened(const Lookup& at, uint64_t flags, uint32_t inode,
                                       const std::optional<deadheat_process_object>& object) {
  Description one;
  one.inode = inode;
  one.append = (flags & O_APPEND) != 0;
  one.kind = DescriptionKind::kFile;
  if (at.in_proc) {
    one.kind = at.process > 0 && at.process != own_process().id ? DescriptionKind::kProc
                                                                : DescriptionKind::kNothing;
    if (at.process > 0) one.process = process_of(at.process);
    if (at.rest.ends_with("mounts") || at.rest.ends_with("mountinfo"))
      one.kind = DescriptionKind::kMounts;
    if (one.kind == DescriptionKind::kProc && one.process == kNoIndex)
      one.kind = DescriptionKind::kNothing;
    if (at.process < 0 && at.rest.empty()) one.label = "/proc";
    one.inode = kNoIndex;
    one.position =
        stable_hash(at.rest, 1) >> 16;  // which of its files: the place in the process object
    return add_description(one);
  }
  switch (inode == kNoIndex ? InodeKind::kUnknown : tree_.inode(inode).kind) {
    case InodeKind::kFolder:
      one.kind = DescriptionKind::kFolder;
      break;
    case InodeKind::kFifo: {
      Inode& fifo = tree_.inode(inode);
      if (fifo.stream == kNoIndex) fifo.stream = add_stream("fifo " + tree_.path_of(inode));
      one.stream = fifo.stream;
      const uint64_t mode = flags & O_ACCMODE;
      one.kind = mode == O_RDONLY   ? DescriptionKind::kReadEnd
                 : mode == O_WRONLY ? DescriptionKind::kWriteEnd
                                    : DescriptionKind::kBothEnds;
      if (mode != O_RDONLY) streams_[one.stream].writers++;
      break;
    }
    case InodeKind::kDevice: {
      one.label = tree_.path_of(inode);
      const bool shows = one.label.find("tty") != std::string::npos ||
                         one.label.find("pts") != std::string::npos ||
                         one.label.ends_with("/console");
      one.kind = shows ? DescriptionKind::kTerminal : DescriptionKind::kNothing;
      break;
    }
    default:
      break;
  }
  if (object && one.kind == DescriptionKind::kFile) one.position = object->position;
  return add_description(one);
}

void ModelBuilder::opened(int folder_descriptor, int path_argument, uint64_t flags) {
  const bool exclusive = (flags & O_CREAT) != 0 && (flags & O_EXCL) != 0;
  const bool follow = (flags & O_NOFOLLOW) == 0 && !exclusive;
  const Lookup at = look_up(folder_descriptor, path_argument, follow, worked());
  load_way(at);
  if (!worked()) {
    if (at.name != kNoIndex) load(name_object(at.name));
    if (head().result == -ENOENT && at.name != kNoIndex && tree_.name(at.name).inode == kNoIndex)
      tree_.point(at.name, kAbsent);
    if (is_index(at.inode)) load(meta_object(at.inode), kMetaMode, kMetaMode + 1);
    return;
  }
  const auto object = event_->object();
  const bool nameless = (flags & O_TMPFILE) == O_TMPFILE;
  const bool created = !nameless && is_created(at, flags, object);
  uint32_t inode = kNoIndex;
  if (nameless) {
    inode = tree_.make(InodeKind::kRegular);
  } else if (!at.in_proc && (at.name != kNoIndex || at.inode != kNoIndex)) {
    const InodeKind kind = object ? file_kind(object->mode) : InodeKind::kRegular;
    inode = at.name == kNoIndex ? at.inode
                                : tree_.adopt(at.name, object ? object->device : 0,
                                              object ? object->inode : 0, kind, created);
    if (object) tree_.inode(inode).size = object->size;
  }
  if (created) {
    store_name(at.name);
    tree_.inode(inode).size = 0;
  } else if (inode != kNoIndex) {
    if (at.name != kNoIndex) load(name_object(at.name));
    if ((flags & O_PATH) == 0) load(meta_object(inode), kMetaMode, kMetaMode + 1);
  }
  // A file that this call created had nothing to truncate; in another order another task may have
  // written to it by then.
  if (inode != kNoIndex && (flags & O_TRUNC) != 0 && !exclusive && is_cut_off(inode))
    truncate(inode, 0);
  install(static_cast<int>(head().result), describe_opened(at, flags, inode, object),
          (flags & O_CLOEXEC) != 0);
}

void ModelBuilder::stat_path(int folder_descriptor, int path_argument, bool follow, uint64_t begin,
                             uint64_t end) {
  const Lookup at = look_up(folder_descriptor, path_argument, follow, worked());
  load_name(at);
  if (head().result == -ENOENT && at.name != kNoIndex && tree_.name(at.name).inode == kNoIndex)
    tree_.point(at.name, kAbsent);
  if (at.in_proc) {
    const uint32_t process = at.process > 0 ? process_of(at.process) : kNoIndex;
    if (process != kNoIndex && process != self().process) load(process_object(process));
    return;
  }
  uint32_t inode = at.inode;
  if (!is_index(inode) && worked() && at.name != kNoIndex)
    inode = tree_.adopt(at.name, 0, 0, InodeKind::kUnknown, false);
  if (is_index(inode) && !at.dead_end) load(meta_object(inode), begin, end);
}

void ModelBuilder::read_link(int folder_descriptor, int path_argument) {
  load_name(look_up(folder_descriptor, path_argument, false, worked()));
}

void ModelBuilder::unlinked(int folder_descriptor, int path_argument, bool folder) {
  const Lookup at = look_up(folder_descriptor, path_argument, false, worked());
  load_way(at);
  if (at.name == kNoIndex) return;
  const uint32_t inode = at.dead_end ? kAbsent : tree_.behind(at.name);
  // rmdir checks whether the folder is empty.
  if (folder && is_index(inode)) load(folder_object(inode));
  if (!worked()) {
    load(name_object(at.name));
    return;
  }
  store_name(at.name);
  if (is_index(inode) && !folder) store(meta_object(inode), kMetaLinks, kMetaLinks + 1);
  tree_.point(at.name, kAbsent);
}

void ModelBuilder::made(int folder_descriptor, int path_argument, InodeKind kind) {
  const Lookup at = look_up(folder_descriptor, path_argument, false, worked());
  load_way(at);
  if (at.name == kNoIndex) return;
  if (!worked()) {
    load(name_object(at.name));
    return;
  }
  store_name(at.name);
  tree_.adopt(at.name, 0, 0, kind, true);
}

void ModelBuilder::renamed(int from_folder, int from, int to_folder, int to, uint64_t flags) {
  const Lookup old_place = look_up(from_folder, from, false, worked());
  const Lookup new_place = look_up(to_folder, to, false, worked());
  load_way(old_place);
  load_way(new_place);
  if (old_place.name == kNoIndex || new_place.name == kNoIndex) return;
  if (!worked()) {
    load(name_object(old_place.name));
    load(name_object(new_place.name));
    return;
  }
  store_name(old_place.name);
  store_name(new_place.name);
  uint32_t moved = tree_.behind(old_place.name);
  if (!is_index(moved)) moved = tree_.make(InodeKind::kUnknown);
  const uint32_t replaced = tree_.behind(new_place.name);
  if (moved == replaced) return;
  const bool exchange = (flags & RENAME_EXCHANGE) != 0;
  if (is_index(replaced) && !exchange) store(meta_object(replaced), kMetaLinks, kMetaLinks + 1);
  tree_.point(old_place.name, exchange && is_index(replaced) ? replaced : kAbsent);
  tree_.point(new_place.name, moved);
}

void ModelBuilder::linked(int from_folder, int from, int to_folder, int to, bool follow) {
  const Lookup old_place = look_up(from_folder, from, follow, worked());
  const Lookup new_place = look_up(to_folder, to, false, worked());
  load_name(old_place);
  load_way(new_place);
  if (new_place.name == kNoIndex) return;
  if (!worked()) {
    load(name_object(new_place.name));
    return;
  }
  store_name(new_place.name);
  uint32_t inode = old_place.inode;
  if (!is_index(inode) && old_place.name != kNoIndex)
    inode = tree_.adopt(old_place.name, 0, 0, InodeKind::kRegular, false);
  if (!is_index(inode)) return;
  store(meta_object(inode), kMetaLinks, kMetaLinks + 1);
  tree_.point(new_place.name, inode);
}

void ModelBuilder::symlinked(int target, int folder_descriptor, int path_argument) {
  made(folder_descriptor, path_argument, InodeKind::kLink);
  const auto text = event_->path(static_cast<uint16_t>(target));
  const Lookup at = look_up(folder_descriptor, path_argument, false, worked());
  if (worked() && text && is_index(at.inode)) tree_.inode(at.inode).target = *text;
}

void ModelBuilder::change_meta_of(uint32_t inode) {
  const bool times =
      recording::syscall_entry(head().number).name.find("utime") != std::string_view::npos;
  const uint64_t what = times ? kMetaTimes : kMetaMode;
  store(meta_object(inode), what, what + 1);
}

void ModelBuilder::change_meta(int folder_descriptor, int path_argument, bool follow) {
  const Lookup at = look_up(folder_descriptor, path_argument, follow, worked());
  load_name(at);
  uint32_t inode = at.inode;
  if (!is_index(inode) && worked() && at.name != kNoIndex)
    inode = tree_.adopt(at.name, 0, 0, InodeKind::kUnknown, false);
  if (!is_index(inode) || at.in_proc) return;
  if (worked())
    change_meta_of(inode);
  else if (!at.dead_end)
    load(meta_object(inode), kMetaMode, kMetaMode + 1);
}

void ModelBuilder::truncate_path() {
  const Lookup at = look_up(AT_FDCWD, 0, true, worked());
  load_name(at);
  if (!worked() || at.name == kNoIndex) return;
  truncate(tree_.adopt(at.name, 0, 0, InodeKind::kRegular, false), argument(1));
}

void ModelBuilder::change_folder(bool root) {
  const Lookup at = look_up(AT_FDCWD, 0, true, worked());
  load_name(at);
  if (!worked() || at.in_proc) return;
  uint32_t inode = at.inode;
  if (!is_index(inode) && at.name != kNoIndex)
    inode = tree_.adopt(at.name, 0, 0, InodeKind::kFolder, false);
  if (!is_index(inode)) return;
  (root ? self().folders->root : self().folders->working) = inode;
}

void ModelBuilder::executed(int folder_descriptor, int path_argument) {
  const Lookup at = look_up(folder_descriptor, path_argument, true, worked());
  load_name(at);
  if (at.in_proc) return;
  uint32_t inode = at.inode;
  if (!is_index(inode) && worked() && at.name != kNoIndex)
    inode = tree_.adopt(at.name, 0, 0, InodeKind::kRegular, false);
  if (!is_index(inode) || at.dead_end) return;
  load(meta_object(inode), kMetaMode, kMetaMode + 1);
  if (worked()) load(data_object(inode));
}

// The target of the path changes with everything below it.
void ModelBuilder::mounted(int path_argument) {
  const Lookup at = look_up(AT_FDCWD, path_argument, true, worked());
  load_way(at);
  if (!worked()) return;
  if (at.name != kNoIndex) store(name_object(at.name));
  store(global_object("mounts"));
}

}  // namespace deadheat::process::effects

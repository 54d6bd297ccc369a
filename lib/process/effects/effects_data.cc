// Calls on the bytes of files. A read that got less than it asked for saw the end of the file, so
// it loads everything behind. An appending write goes wherever the end is, so it loads the size and
// stores everything behind: whatever was written up to that end races with it too.
#include <fcntl.h>
#include <sys/mman.h>

#include <algorithm>

#include "lib/process/effects/model_builder.h"

namespace deadheat::process::effects {
namespace {

uint64_t end_of(uint64_t begin, uint64_t size) {
  return size > kWhole - begin ? kWhole : begin + size;
}

}  // namespace

void ModelBuilder::read_call(bool at_offset) {
  const uint32_t description = find(descriptor(0));
  if (description == kNoIndex) return;
  const std::string_view name = recording::syscall_entry(head().number).name;
  // The sizes of a vector are not recorded: use the bytes received.
  const bool counted = name == "read" || name == "pread64";
  const uint64_t got = worked() ? result() : 0;
  std::optional<uint64_t> offset;
  if (at_offset && argument(3) != ~uint64_t{0}) offset = argument(3);
  read_from(description, counted ? argument(2) : std::max<uint64_t>(got, 1), head().result, offset);
}

void ModelBuilder::read_from(uint32_t index, uint64_t wanted, int64_t got,
                             std::optional<uint64_t> offset) {
  Description& one = descriptions_[index];
  const uint32_t stream = stream_to_read(one);
  if (stream != kNoIndex) return read_stream(stream, wanted, got);
  if (got < 0) return;
  const auto size = static_cast<uint64_t>(got);
  switch (one.kind) {
    case DescriptionKind::kFile: {
      if (one.inode == kNoIndex) return;
      const uint64_t begin = offset.value_or(one.position);
      load(data_object(one.inode), begin, size < wanted ? kWhole : end_of(begin, size));
      if (offset) return;
      one.position = end_of(begin, size);
      store(description_object(index));
      return;
    }
    case DescriptionKind::kProc:
      load(process_object(one.process), one.position, one.position + 1);
      return;
    case DescriptionKind::kMounts:
      load(global_object("mounts"));
      return;
    case DescriptionKind::kTerminal:
      load(terminal_object(index));
      return;
    default:
      return;
  }
}

void ModelBuilder::write_call(bool at_offset) {
  const uint32_t description = find(descriptor(0));
  if (description == kNoIndex) return;
  std::optional<uint64_t> offset;
  if (at_offset && argument(3) != ~uint64_t{0}) offset = argument(3);
  write_to(description, head().result, offset);
}

void ModelBuilder::write_to(uint32_t index, int64_t wrote, std::optional<uint64_t> offset) {
  Description& one = descriptions_[index];
  if (wrote <= 0) return;
  const auto size = static_cast<uint64_t>(wrote);
  const uint32_t stream = stream_to_write(one);
  if (stream != kNoIndex) return write_stream(stream, size);
  if (one.kind == DescriptionKind::kTerminal) return store(terminal_object(index));
  if (one.kind == DescriptionKind::kProc) return store(process_object(one.process));
  if (one.kind != DescriptionKind::kFile || one.inode == kNoIndex) return;

  Inode& inode = tree_.inode(one.inode);
  const uint64_t begin = one.append ? inode.size : offset.value_or(one.position);
  const uint64_t end = end_of(begin, size);
  store(data_object(one.inode), begin, one.append ? kWhole : end);
  if (one.append) load(meta_object(one.inode), kMetaSize, kMetaSize + 1);
  const bool grows = end > inode.size;
  store(meta_object(one.inode), kMetaTimes, grows ? kMetaSize + 1 : kMetaTimes + 1);
  inode.size = std::max(inode.size, end);
  if (offset) return;
  one.position = end;
  store(description_object(index));
}

void ModelBuilder::truncate(uint32_t inode, uint64_t size) {
  Inode& file = tree_.inode(inode);
  store(data_object(inode), std::min(size, file.size), kWhole);
  store(meta_object(inode), kMetaTimes, kMetaSize + 1);
  file.size = size;
}

// sendfile, splice, copy_file_range. An offset behind a pointer is not recorded: then the whole
// file is used, which can only add races.
void ModelBuilder::transfer(int from, int from_offset, int to, int to_offset, uint64_t wanted) {
  if (!worked()) return;
  const uint32_t source = find(descriptor(from));
  const uint32_t target = find(descriptor(to));
  const auto given = [&](int index) { return index >= 0 && argument(index) != 0; };
  if (source != kNoIndex) {
    const Description& one = descriptions_[source];
    if (given(from_offset) && one.kind == DescriptionKind::kFile && one.inode != kNoIndex)
      load(data_object(one.inode));
    else
      read_from(source, wanted, head().result, std::nullopt);
  }
  if (target == kNoIndex || head().result == 0) return;
  const Description& one = descriptions_[target];
  if (given(to_offset) && one.kind == DescriptionKind::kFile && one.inode != kNoIndex) {
    store(data_object(one.inode));
    store(meta_object(one.inode), kMetaTimes, kMetaSize + 1);
  } else {
    write_to(target, head().result, std::nullopt);
  }
}

void ModelBuilder::seek() {
  const uint32_t index = find(descriptor(0));
  if (index == kNoIndex || !worked()) return;
  Description& one = descriptions_[index];
  if (one.kind != DescriptionKind::kFile && one.kind != DescriptionKind::kFolder) return;
  if (argument(2) != SEEK_SET && argument(2) != SEEK_CUR && one.inode != kNoIndex)
    load(meta_object(one.inode), kMetaSize, kMetaSize + 1);
  one.position = result();
  store(description_object(index));
}

void ModelBuilder::get_entries() {
  const uint32_t index = find(descriptor(0));
  if (index == kNoIndex) return;
  const Description& one = descriptions_[index];
  if (one.label == "/proc") return load(proc_folder_object());
  if (one.kind != DescriptionKind::kFolder || one.inode == kNoIndex) return;
  load(folder_object(one.inode));
  store(description_object(index));
}

// Only the call itself: accesses through the mapping are not seen.
void ModelBuilder::map_shared() {
  if (!worked() && head().result > -4096) return;
  const uint32_t index = peek(descriptor(4));
  if (index == kNoIndex || (argument(3) & MAP_ANONYMOUS) != 0) return;
  const Description& one = descriptions_[index];
  if (one.kind != DescriptionKind::kFile || one.inode == kNoIndex) return;
  const uint64_t end = end_of(argument(5), argument(1));
  if ((argument(2) & PROT_WRITE) != 0) {
    store(data_object(one.inode), argument(5), end);
    store(meta_object(one.inode), kMetaTimes, kMetaTimes + 1);
  } else {
    load(data_object(one.inode), argument(5), end);
  }
}

void ModelBuilder::fallocate_call() {
  const uint32_t index = find(descriptor(0));
  if (index == kNoIndex || !worked()) return;
  const Description& one = descriptions_[index];
  if (one.kind != DescriptionKind::kFile || one.inode == kNoIndex) return;
  Inode& inode = tree_.inode(one.inode);
  const uint64_t end = end_of(argument(2), argument(3));
  store(data_object(one.inode), argument(2), end);
  const bool grows = (argument(1) & 1) == 0 && end > inode.size;  // 1: FALLOC_FL_KEEP_SIZE
  store(meta_object(one.inode), kMetaTimes, grows ? kMetaSize + 1 : kMetaTimes + 1);
  if (grows) inode.size = end;
}

}  // namespace deadheat::process::effects

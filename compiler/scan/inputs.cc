#include "compiler/scan/inputs.h"

#include <llvm/Object/Archive.h>
#include <llvm/Object/Decompressor.h>
#include <llvm/Object/ELFObjectFile.h>
#include <llvm/Support/MemoryBuffer.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "lib/base/file.h"
#include "lib/base/text.h"
#include "lib/symbols/elf_image.h"

namespace deadheat::scan {
namespace {

namespace fs = std::filesystem;
using llvm::object::ObjectFile;

constexpr int kDeepestLibrary = 16;

// Maps a file that somebody named. A device would be read without end, a pipe would block.
Result<std::unique_ptr<llvm::MemoryBuffer>> open_input(const std::string& path) {
  struct stat info{};
  if (::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode))
    return Error{"not a regular file", ""};
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer) return Error{buffer.getError().message(), ""};
  return std::move(*buffer);
}

std::string text(llvm::Error error) { return llvm::toString(std::move(error)); }

// Libraries of every program, which are never compiled for a scan.
bool is_system_library(std::string_view name) {
  for (const std::string_view known :
       {"libc.so", "libm.so", "libmvec.so", "libpthread.so", "libdl.so", "librt.so", "libgcc_s.so",
        "libstdc++.so", "ld-linux", "linux-vdso", "libdeadheat", "libomp", "libgomp"})
    if (name.starts_with(known)) return true;
  return false;
}

void add_frame(Frame frame, const std::string& from, Inputs& inputs) {
  if (frame.kind == FrameKind::kAbsent) {
    ++inputs.absent;
    inputs.problems.push_back(from + ": no bitcode of " + frame.name + ": " + frame.payload);
    return;
  }
  for (const Frame& known : inputs.modules)
    if (known.digest == frame.digest && known.payload.size() == frame.payload.size()) {
      ++inputs.duplicates;
      return;
    }
  inputs.modules.push_back(std::move(frame));
}

void add_section(llvm::StringRef bytes, const std::string& from, Inputs& inputs) {
  Frames found = decode({bytes.data(), bytes.size()});
  if (found.damaged > 0)
    inputs.problems.push_back(from + ": " + std::to_string(found.damaged) +
                              " damaged stretches of bitcode skipped");
  for (Frame& frame : found.frames) add_frame(std::move(frame), from, inputs);
}

bool add_object(const ObjectFile& object, const std::string& from, Inputs& inputs) {
  bool any = false;
  for (const llvm::object::SectionRef& section : object.sections()) {
    llvm::Expected<llvm::StringRef> name = section.getName();
    if (!name) {
      llvm::consumeError(name.takeError());
      continue;
    }
    if (*name != kBitcodeSection) continue;
    llvm::Expected<llvm::StringRef> bytes = section.getContents();
    if (!bytes) {
      inputs.problems.push_back(from + ": " + text(bytes.takeError()));
      continue;
    }
    any = true;
    if (!section.isCompressed()) {
      add_section(*bytes, from, inputs);
      continue;
    }
    auto decompressor = llvm::object::Decompressor::create(*name, *bytes, true, true);
    llvm::SmallVector<uint8_t, 0> plain;
    if (!decompressor) {
      inputs.problems.push_back(from + ": " + text(decompressor.takeError()));
    } else if (llvm::Error error = decompressor->resizeAndDecompress(plain)) {
      inputs.problems.push_back(from + ": " + text(std::move(error)));
    } else {
      add_section({reinterpret_cast<const char*>(plain.data()), plain.size()}, from, inputs);
    }
  }
  for (const llvm::object::SymbolRef& symbol : object.symbols()) {
    auto type = symbol.getType();
    auto name = symbol.getName();
    auto flags = symbol.getFlags();
    if (type && name && flags && *type == llvm::object::SymbolRef::ST_Function &&
        !(*flags & llvm::object::SymbolRef::SF_Undefined))
      inputs.native_functions.insert(name->str());
    if (!type) llvm::consumeError(type.takeError());
    if (!name) llvm::consumeError(name.takeError());
    if (!flags) llvm::consumeError(flags.takeError());
  }
  return any;
}

void add_binary(const std::string& path, llvm::MemoryBufferRef buffer, Inputs& inputs, bool& any);

void add_archive(const std::string& path, llvm::MemoryBufferRef buffer, Inputs& inputs, bool& any) {
  auto archive = llvm::object::Archive::create(buffer);
  if (!archive) {
    inputs.problems.push_back(path + ": " + text(archive.takeError()));
    return;
  }
  llvm::Error error = llvm::Error::success();
  for (const llvm::object::Archive::Child& child : (*archive)->children(error)) {
    auto member = child.getMemoryBufferRef();
    auto name = child.getName();
    const std::string from = path + "(" + (name ? name->str() : "?") + ")";
    if (!name) llvm::consumeError(name.takeError());
    if (!member) {
      inputs.problems.push_back(from + ": " + text(member.takeError()));
      continue;
    }
    add_binary(from, *member, inputs, any);
  }
  if (error) inputs.problems.push_back(path + ": " + text(std::move(error)));
}

void add_binary(const std::string& path, llvm::MemoryBufferRef buffer, Inputs& inputs, bool& any) {
  const llvm::StringRef bytes = buffer.getBuffer();
  if (bytes.starts_with("BC\xc0\xde") || llvm::StringRef(path).ends_with(".ll")) {
    any = true;
    if (bytes.size() > kMostBytes) {
      inputs.problems.push_back(path + " has " + with_thousands(bytes.size()) +
                                " bytes; the most that is read is " + with_thousands(kMostBytes));
      return;
    }
    Frame frame;
    frame.name = path;
    frame.payload = bytes.str();
    frame.digest = stable_hash(frame.payload);
    add_frame(std::move(frame), path, inputs);
  } else if (bytes.starts_with("!<arch>\n")) {
    add_archive(path, buffer, inputs, any);
  } else {
    auto object = ObjectFile::createObjectFile(buffer);
    if (!object) {
      inputs.problems.push_back(path + ": " + text(object.takeError()));
      return;
    }
    any |= add_object(**object, path, inputs);
  }
}

std::string find_library(const std::string& name, const symbols::ElfImage& image) {
  std::vector<std::string> folders;
  const std::string origin = fs::path(image.path()).parent_path().string();
  for (std::string folder : image.run_paths()) {
    for (const std::string_view word : {"${ORIGIN}", "$ORIGIN"})
      if (const size_t at = folder.find(word); at != std::string::npos)
        folder.replace(at, word.size(), origin.empty() ? "." : origin);
    folders.push_back(std::move(folder));
  }
  if (const char* more = std::getenv("LD_LIBRARY_PATH"))
    for (const std::string_view folder : split(more, ':')) folders.emplace_back(folder);
  folders.insert(folders.end(), {"/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu",
                                 "/usr/local/lib", "/lib64", "/usr/lib64", "/lib", "/usr/lib"});
  std::error_code error;
  // A library without a name of its own is needed by the path that it was linked with.
  if (name.find('/') != std::string::npos) return fs::exists(name, error) ? name : "";
  for (const std::string& folder : folders)
    if (fs::exists(folder + "/" + name, error)) return folder + "/" + name;
  return {};
}

void add_needed(const std::string& path, int depth, std::set<std::string>& visited,
                Inputs& inputs) {
  const auto image = symbols::ElfImage::open(path);
  if (!image || depth > kDeepestLibrary) return;
  for (const std::string& name : image.value()->needed()) {
    if (is_system_library(name) || !visited.insert(name).second) continue;
    const std::string library = find_library(name, *image.value());
    bool any = false;
    if (library.empty()) {
      inputs.problems.push_back(path + ": needs " + name + ", which was not found");
      continue;
    }
    if (auto buffer = open_input(library))
      add_binary(library, (*buffer)->getMemBufferRef(), inputs, any);
    if (!any) inputs.bare_libraries.push_back(name);
    add_needed(library, depth + 1, visited, inputs);
  }
}

// The objects that a compilation database names, where they were built with --scan.
void add_database(const std::string& path, Inputs& inputs) {
  const auto content = read_file(path);
  const auto document = content ? nlohmann::json::parse(content.value(), nullptr, false)
                                : nlohmann::json(nlohmann::json::value_t::discarded);
  if (!document.is_array()) {
    inputs.problems.push_back(path + ": not a compilation database");
    return;
  }
  uint64_t without = 0;
  for (const auto& entry : document) {
    if (!entry.is_object()) continue;
    std::string output = entry.value("output", "");
    std::vector<std::string> words;
    if (entry.contains("arguments") && entry["arguments"].is_array()) {
      for (const auto& word : entry["arguments"])
        if (word.is_string()) words.push_back(word.get<std::string>());
    } else {
      const std::string command = entry.value("command", "");  // lives as long as its parts
      for (const std::string_view word : split(command, ' ')) words.emplace_back(word);
    }
    for (size_t i = 0; output.empty() && i + 1 < words.size(); ++i)
      if (words[i] == "-o") output = words[i + 1];
    const fs::path object = fs::path(entry.value("directory", "")) / output;
    bool any = false;
    if (auto buffer = open_input(object.string()); buffer && !output.empty())
      add_binary(object.string(), (*buffer)->getMemBufferRef(), inputs, any);
    if (!any) ++without;
  }
  if (without > 0)
    inputs.problems.push_back(
        path + ": " + std::to_string(without) +
        " entries have no object with bitcode (build with deadheat-cc --scan)");
}

}  // namespace

void add_input(const std::string& path, Inputs& inputs) {
  if (path.ends_with(".json")) {
    add_database(path, inputs);
    return;
  }
  auto buffer = open_input(path);
  if (!buffer) {
    inputs.problems.push_back(path + ": " + buffer.error().message);
    return;
  }
  bool any = false;
  add_binary(path, (*buffer)->getMemBufferRef(), inputs, any);
  std::set<std::string> visited;
  add_needed(path, 0, visited, inputs);
}

}  // namespace deadheat::scan

#include "compiler/verify/inspect.h"

#include <gelf.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>

#include "lib/base/file.h"
#include "lib/base/text.h"
#include "lib/symbols/elf_image.h"

namespace deadheat::verify {
namespace {

using symbols::ElfImage;

constexpr char kLinker[] = "/lib64/ld-linux-x86-64.so.2";  // for libraries, which name none

std::string base_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

Role role_of(const std::string& name) {
  const std::string base = base_name(name);
  if (base.starts_with("libdeadheat.so")) return Role::kRuntime;
  if (base.starts_with("libtsan.so") || base.find("clang_rt.tsan") != std::string::npos)
    return Role::kForeign;
  for (const char* known :
       {"libc.so", "libm.so", "libmvec.so", "libpthread.so", "libdl.so", "librt.so", "libgcc_s.so",
        "libstdc++.so", "libc++.so", "libc++abi.so", "libunwind.so", "libatomic.so", "ld-linux",
        "linux-vdso", "libresolv.so", "libutil.so", "libubsan.so"}) {
    if (base.starts_with(known)) return Role::kKnown;
  }
  return Role::kProgram;
}

std::string section_text(const ElfImage& image, std::string_view wanted) {
  size_t names = 0;
  if (elf_getshdrstrndx(image.elf(), &names) != 0) return "";
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(image.elf(), section)) != nullptr;) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr) continue;
    const char* name = elf_strptr(image.elf(), names, header.sh_name);
    if (name == nullptr || name != wanted || header.sh_type == SHT_NOBITS) continue;
    const Elf_Data* data = elf_rawdata(section, nullptr);
    if (data == nullptr || data->d_buf == nullptr) continue;
    return {static_cast<const char*>(data->d_buf), data->d_size};
  }
  return "";
}

// PT_INTERP; empty for a static program or a library. `dynamic`: whether there is a PT_DYNAMIC.
std::string interpreter(const ElfImage& image, bool& dynamic) {
  size_t count = 0;
  std::string path;
  if (elf_getphdrnum(image.elf(), &count) != 0) return path;
  for (size_t i = 0; i < count; ++i) {
    GElf_Phdr header;
    if (gelf_getphdr(image.elf(), static_cast<int>(i), &header) == nullptr) continue;
    dynamic |= header.p_type == PT_DYNAMIC;
    if (header.p_type != PT_INTERP) continue;
    // Not elf_rawfile: after it, libelf does not free what it read before.
    const Elf_Data* text = elf_getdata_rawchunk(image.elf(), static_cast<int64_t>(header.p_offset),
                                                header.p_filesz, ELF_T_BYTE);
    if (text == nullptr || text->d_buf == nullptr) continue;
    path.assign(static_cast<const char*>(text->d_buf), text->d_size);
    path = path.substr(0, path.find('\0'));
  }
  return path;
}

Result<std::string> output_of(const std::vector<std::string>& command) {
  std::array<int, 2> ends = {};
  if (::pipe(ends.data()) != 0) return errno_error("cannot run", command[0], errno);
  const ScopedFd reader(ends[0]);
  ScopedFd writer(ends[1]);
  std::vector<char*> argv;
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  const pid_t child = ::fork();
  if (child < 0) return errno_error("cannot run", command[0], errno);
  if (child == 0) {
    ::dup2(writer.get(), STDOUT_FILENO);
    ::execv(argv[0], argv.data());
    ::_exit(127);
  }
  writer = ScopedFd();
  std::string text;
  std::array<char, 4096> buffer;
  for (ssize_t got; (got = ::read(reader.get(), buffer.data(), buffer.size())) > 0;)
    text.append(buffer.data(), static_cast<size_t>(got));
  int status = 0;
  ::waitpid(child, &status, 0);
  return text;
}

void look_inside(Module& module) {
  if (module.path.empty() || module.role != Role::kProgram) return;
  const auto image = ElfImage::open(module.path);
  if (!image) return;
  for (const char* hook : {"__tsan_init", "__tsan_func_entry", "__tsan_read4", "__tsan_write4"})
    module.instrumented |= image.value()->has_dynamic_symbol(hook);
  module.marks_regions = image.value()->has_section("deadheat_functions");
  const std::string comments = section_text(*image.value(), ".comment");
  for (const std::string_view part : split(comments, '\0')) {
    const std::string name = compiler_name(std::string(part));
    const bool fresh =
        std::find(module.compilers.begin(), module.compilers.end(), name) == module.compilers.end();
    if (!name.empty() && fresh) module.compilers.push_back(name);
  }
}

}  // namespace

std::string compiler_name(const std::string& comment) {
  const bool clang = comment.find("clang") != std::string::npos;
  const size_t gcc = comment.find("GCC:");
  if (!clang && gcc != 0) return "";
  // The version is the last number of a GCC comment, and follows "version" in clang's.
  const size_t at = clang ? comment.find("version ") : comment.rfind(' ');
  if (at == std::string::npos) return clang ? "clang" : "gcc";
  const std::string_view rest = std::string_view(comment).substr(at + (clang ? 8 : 1));
  return std::string(clang ? "clang " : "gcc ") +
         std::string(rest.substr(0, rest.find_first_not_of("0123456789.")));
}

std::vector<Module> parse_list(const std::string& text) {
  std::vector<Module> modules;
  for (const std::string_view whole : split(text, '\n')) {
    std::string_view line = trim(whole);
    if (const size_t address = line.rfind(" (0x"); address != std::string_view::npos)
      line = line.substr(0, address);
    if (line.empty() || line == "statically linked") continue;
    Module module;
    const size_t arrow = line.find(" => ");
    module.name = line.substr(0, arrow);
    module.path = arrow == std::string_view::npos ? line : line.substr(arrow + 4);
    module.role = role_of(module.name);
    if (module.path == "not found") {
      module.path.clear();
      module.role = Role::kMissing;
    }
    modules.push_back(std::move(module));
  }
  return modules;
}

Result<Inspection> inspect(const std::string& binary) {
  const auto image = ElfImage::open(binary);
  if (!image) return image.error();
  Inspection found;
  Module self;
  self.name = binary;
  self.path = binary;
  look_inside(self);
  bool dynamic = false;
  const std::string linker = interpreter(*image.value(), dynamic);
  found.is_static = !dynamic || (linker.empty() && image.value()->needed().empty());
  const std::vector<symbols::Symbol>& functions = image.value()->functions();
  const auto is_hook = [](const symbols::Symbol& symbol) {
    return std::string_view(symbol.name) == "__tsan_func_entry";
  };
  found.static_tsan = std::any_of(functions.begin(), functions.end(), is_hook);
  if (const std::vector<std::string> needed = image.value()->needed(); !needed.empty())
    found.first_needed = needed[0];
  found.modules.push_back(std::move(self));
  if (found.is_static) return found;
  const std::string full = binary.find('/') == std::string::npos ? "./" + binary : binary;
  const Result<std::string> list = output_of({linker.empty() ? kLinker : linker, "--list", full});
  if (!list) return list.error();
  for (Module& module : parse_list(list.value())) {
    look_inside(module);
    if (module.role == Role::kRuntime && found.runtime.empty()) found.runtime = module.path;
    found.modules.push_back(std::move(module));
  }
  return found;
}

}  // namespace deadheat::verify

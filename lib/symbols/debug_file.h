// Where the debug information of an image is: in itself, or in a file of its own.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "lib/symbols/elf_image.h"

namespace deadheat::symbols {

inline constexpr const char* kDebugFolder = "/usr/lib/debug";

// The separate debug file of the build-id, under FOLDER/.build-id/ab/cdef.debug; its own build-id
// is checked. nullptr when there is none.
std::unique_ptr<ElfImage> debug_file_of_build(const std::string& build_id,
                                              std::span<const std::string> folders);
// By build-id, else by .gnu_debuglink (beside the image, in .debug/, under the folders), which
// counts only if the build-ids agree or, where there are none, the checksum does.
std::unique_ptr<ElfImage> separate_debug_file(const ElfImage& image,
                                              std::span<const std::string> folders);

}  // namespace deadheat::symbols

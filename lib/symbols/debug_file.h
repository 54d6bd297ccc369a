// Finds the debug information of an image: in itself or in a separate file.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "lib/symbols/elf_image.h"

namespace deadheat::symbols {

inline constexpr const char* kDebugFolder = "/usr/lib/debug";

// The separate debug file for the build-id, FOLDER/.build-id/ab/cdef.debug; its own build-id is
// checked. nullptr if there is none.
std::unique_ptr<ElfImage> debug_file_of_build(const std::string& build_id,
                                              std::span<const std::string> folders);
// Searches by build-id, then by .gnu_debuglink (beside the image, in .debug/, in the folders). The
// latter is accepted only if the build-ids agree or, without build-ids, the checksum does.
std::unique_ptr<ElfImage> separate_debug_file(const ElfImage& image,
                                              std::span<const std::string> folders);

}  // namespace deadheat::symbols

// Converts places in modules to frames, sites and variables.
//
// The site of an access is the innermost frame in the user's code: an access inside memcpy, or
// inside a header of the standard library, belongs to the line that called it. This also makes the
// site independent of whether the compiler inlined the call.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "lib/model/candidate.h"
#include "lib/symbols/symbolizer.h"

namespace deadheat::places {

struct Place {
  symbols::Symbolizer::ModuleId module = 0;
  uint64_t offset = 0;
};

// One frame, or several if calls were inlined. An unknown place is one frame with module and
// offset.
std::vector<model::Frame> frames_at(symbols::Symbolizer& symbolizer, const Place& place);
std::vector<model::Frame> frames_of(symbols::Symbolizer& symbolizer, std::span<const Place> stack);

model::Site site_of(symbols::Symbolizer& symbolizer, std::span<const Place> stack);

// "transfer() bank.cc:31", "libfoo.so+0x4d2": the innermost user frame in one line.
std::string describe_place(symbols::Symbolizer& symbolizer, std::span<const Place> stack);

// "g_accounts[].balance": without array indices, which differ from run to run.
std::string variable_of(const symbols::GlobalName& global);

// Code that is not the user's: our runtime, libc, the C++ runtime.
bool is_runtime_module(const std::string& path);
bool is_system_header(const std::string& file);

}  // namespace deadheat::places

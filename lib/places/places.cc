#include "lib/places/places.h"

#include <array>
#include <cctype>

#include "lib/model/normalize.h"
#include "lib/places/variable_text.h"

namespace deadheat::places {

using symbols::SourceFrame;
using symbols::Symbolizer;

namespace {

struct Chosen {
  const Place* place = nullptr;
  const SourceFrame* frame = nullptr;  // null: nothing is known about the place
};

// The innermost frame in user code; if there is none, the innermost frame.
Chosen user_frame(Symbolizer& symbolizer, std::span<const Place> stack) {
  Chosen first;
  for (const Place& place : stack) {
    const std::vector<SourceFrame>& frames = symbolizer.frames(place.module, place.offset);
    if (first.place == nullptr) first = {&place, frames.empty() ? nullptr : &frames[0]};
    if (is_runtime_module(symbolizer.path(place.module))) continue;
    if (frames.empty()) return {&place, nullptr};
    for (const SourceFrame& frame : frames)
      if (!is_system_header(frame.file)) return {&place, &frame};
  }
  return first;
}

}  // namespace

bool is_runtime_module(const std::string& path) {
  static constexpr std::array<std::string_view, 8> kNames = {
      "libdeadheat.so", "libc.so",   "libpthread.so", "libm.so",
      "libstdc++.so",   "libgcc_s.", "ld-linux",      "libc++.so"};
  const std::string_view name = model::basename_of(path);
  for (const std::string_view known : kNames)
    if (name.starts_with(known)) return true;
  return false;
}

bool is_system_header(const std::string& file) {
  for (const std::string_view folder : {"/usr/include/", "/usr/lib/gcc/", "/usr/lib/llvm"})
    if (file.starts_with(folder)) return true;
  // C++ headers of any compiler installation: ".../include/c++/12/bits/stl_vector.h".
  return file.find("/include/c++/") != std::string::npos;
}

std::string variable_of(const symbols::GlobalName& global) {
  std::string out = global.name;
  for (const char c : global.part)
    if (!out.ends_with('[') || std::isdigit(static_cast<unsigned char>(c)) == 0) out += c;
  return out;
}

std::vector<model::Frame> frames_at(Symbolizer& symbolizer, const Place& place) {
  std::vector<model::Frame> out;
  for (const SourceFrame& frame : symbolizer.frames(place.module, place.offset))
    out.push_back(
        {frame.function, frame.file, frame.line, symbolizer.path(place.module), place.offset});
  if (out.empty()) out.push_back({"", "", 0, symbolizer.path(place.module), place.offset});
  return out;
}

std::vector<model::Frame> frames_of(Symbolizer& symbolizer, std::span<const Place> stack) {
  std::vector<model::Frame> out;
  for (const Place& place : stack)
    for (model::Frame& frame : frames_at(symbolizer, place)) out.push_back(std::move(frame));
  return out;
}

model::Site site_of(Symbolizer& symbolizer, std::span<const Place> stack) {
  model::Site site;
  const Chosen chosen = user_frame(symbolizer, stack);
  if (chosen.place == nullptr) return site;
  site.module = symbolizer.path(chosen.place->module);
  site.build_id = symbolizer.build_id(chosen.place->module);
  site.pcs = {chosen.place->offset};
  if (chosen.frame == nullptr) return site;
  site.function = chosen.frame->function;
  site.file = chosen.frame->file;
  site.line = chosen.frame->line;
  site.column = chosen.frame->column;
  site.function_line = chosen.frame->function_line;
  site.source_text = symbolizer.source_text(chosen.place->module, *chosen.frame);
  site.variable = accessed_variable(site.source_text);
  return site;
}

std::string describe_place(Symbolizer& symbolizer, std::span<const Place> stack) {
  const Chosen chosen = user_frame(symbolizer, stack);
  if (chosen.place == nullptr) return "an unknown place";
  model::Site site;
  site.module = symbolizer.path(chosen.place->module);
  site.pcs = {chosen.place->offset};
  if (chosen.frame != nullptr) {
    site.function = chosen.frame->function;
    site.file = chosen.frame->file;
    site.line = chosen.frame->line;
  }
  return model::describe(site);
}

}  // namespace deadheat::places

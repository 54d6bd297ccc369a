// Writes one record of a raw report, member by member. The keys come from abi/raw_report.h and are
// typed: a number cannot be written where the schema has text, nor under a key that it lacks.
#pragma once

#include "abi/raw_report.h"
#include "runtime/common/mode.h"
#include "runtime/common/print.h"

namespace deadheat::runtime {

namespace raw {

using deadheat::raw::Key;
namespace key = deadheat::raw::key;
namespace type = deadheat::raw::type;

#define DEADHEAT_WORD(name) inline constexpr char name##_[] = #name;
namespace line {
DHR_LINES(DEADHEAT_WORD)
}
namespace mode {
DHR_MODES(DEADHEAT_WORD)
}
namespace access {
DHR_ACCESS_KINDS(DEADHEAT_WORD)
}
namespace location {
DHR_LOCATIONS(DEADHEAT_WORD)
}
namespace instrumented {
DHR_INSTRUMENTED(DEADHEAT_WORD)
}
namespace waits {
DHR_WAITS(DEADHEAT_WORD)
}
#undef DEADHEAT_WORD

}  // namespace raw

class RawObject {
 public:
  explicit RawObject(Text& out) : out_(out) { out_ << '{'; }
  RawObject(Text& out, const char* line);  // with "t", and the process's number if it has one

  RawObject& put(raw::Key<raw::type::number> key, uint64_t value) {
    begin(key.name).decimal(value);
    return *this;
  }
  RawObject& put(raw::Key<raw::type::integer> key, int64_t value) {
    begin(key.name).signed_decimal(value);
    return *this;
  }
  RawObject& put(raw::Key<raw::type::flag> key, bool value) {
    begin(key.name) << (value ? "true" : "false");
    return *this;
  }
  RawObject& put(raw::Key<raw::type::text> key, const char* value) {
    begin(key.name).quoted(value);
    return *this;
  }
  RawObject& put(raw::Key<raw::type::word> key, const char* value) {  // of namespace raw
    begin(key.name).quoted(value);
    return *this;
  }
  // Omits our own frames; `step_back` is 1 if the addresses are return addresses.
  RawObject& put(raw::Key<raw::type::places> key, const Address* pcs, size_t depth,
                 Address step_back);
  template <typename Write>
  RawObject& put(raw::Key<raw::type::record> key, Write write) {
    begin(key.name);
    write(out_);
    return *this;
  }
  // `write(i)` writes one record for each i.
  template <typename Write>
  RawObject& put(raw::Key<raw::type::records> key, size_t count, Write write) {
    return list(key.name, count, write);
  }
  template <typename Write>
  RawObject& put(raw::Key<raw::type::texts> key, size_t count, Write write) {
    return list(key.name, count, write);
  }
  void close() { out_ << '}'; }
  void close_line() { out_ << "}\n"; }

 private:
  Text& begin(const char* name) {
    if (!first_) out_ << ',';
    first_ = false;
    return out_ << '"' << name << "\":";
  }
  template <typename Write>
  RawObject& list(const char* name, size_t count, Write write) {
    begin(name) << '[';
    for (size_t i = 0; i < count; ++i) {
      if (i > 0) out_ << ',';
      write(i);
    }
    out_ << ']';
    return *this;
  }

  Text& out_;
  bool first_ = true;
};

}  // namespace deadheat::runtime

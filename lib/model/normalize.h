// Names as different compilers, optimisers and runs spell them, brought to one spelling so that
// they can be compared.
//
// Every function here is total, linear in its input and loses information on purpose: equal results
// mean "may be the same", never "is the same". identity.h weighs them together.
#pragma once

#include <string>
#include <string_view>

namespace deadheat::model {

struct FunctionName {
  std::string
      name;  // qualified; no return type, template arguments, parameters, clone or ABI suffix
  std::string parameters;  // normalised, of the outermost function; meaningful if has_parameters
  bool has_parameters = false;
  std::string arguments;  // of templates, all of them, without white space: which instance or
                          // specialisation
  std::string ordinals;   // numbers of lambdas and unnamed types, in order: which lambda, as this
                          // compiler counts
  friend bool operator==(const FunctionName&, const FunctionName&) = default;
};

// "void bank::(anonymous namespace)::move<int>(int) [clone .part.0]" and
// "bank::{anonymous}::move(int)" agree. Mangled names are read as far as they consist of plain
// nested names (_ZN4bank4moveEi); no full demangling here.
FunctionName normalize_function(std::string_view function);

// A source line without white space and comments: survives reformatting.
std::string normalize_text(std::string_view text);

// "this->balance", "Account::balance" and "balance" end alike; subscripts lose their index: "a[i +
// 1]" is "a[]".
std::string normalize_variable(std::string_view variable);

// "openat" is "open", "unlinkat" is "unlink": the variants that differ only in how the object is
// named.
std::string normalize_syscall(std::string_view syscall);

// What differs from run to run becomes '*': numbers, long hexadecimal, uuids, mktemp suffixes under
// temporary directories; a home directory becomes '~'. "/tmp/sort.k3Xa9Q" is "/tmp/sort.*",
// "/proc/812/fd/4" is "/proc/*/fd/*".
std::string normalize_object(std::string_view object);

// "a/./b/../c.cc" is "a/c.cc"; backslashes are slashes.
std::string normalize_path(std::string_view path);

std::string_view basename_of(std::string_view path);

}  // namespace deadheat::model

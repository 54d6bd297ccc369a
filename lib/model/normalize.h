// Brings names that compilers, optimisers and runs spell differently to one spelling, so that they
// can be compared.
//
// Every function here is total, linear in its input and loses information on purpose: equal results
// mean "may be the same", never "is the same". identity.h weighs them together.
#pragma once

#include <string>
#include <string_view>

namespace deadheat::model {

struct FunctionName {
  std::string name;  // qualified; without return type, template arguments, parameters, clone and
                     // ABI suffixes
  std::string parameters;  // normalised, of the outermost function; meaningful if has_parameters
  bool has_parameters = false;
  std::string arguments;  // all template arguments, without white space: which instance or
                          // specialisation
  std::string ordinals;   // numbers of lambdas and unnamed types, in order, as this compiler counts
                          // them
  friend bool operator==(const FunctionName&, const FunctionName&) = default;
};

// "void bank::(anonymous namespace)::move<int>(int) [clone .part.0]" and
// "bank::{anonymous}::move(int)" become equal. Mangled names are decoded only as far as they are
// plain nested names (_ZN4bank4moveEi); this is not a full demangler.
FunctionName normalize_function(std::string_view function);

// Whether it is clang's name of an OpenMP region that was made a function, ".omp_outlined..1": it
// does not say in which function the region is (gcc's does: "main._omp_fn.1").
bool names_no_function(std::string_view function);

// Removes white space and comments from a source line, so that reformatting does not change it.
std::string normalize_text(std::string_view text);

// "this->balance", "Account::balance" and "balance" get the same ending; subscripts lose their
// index: "a[i + 1]" becomes "a[]".
std::string normalize_variable(std::string_view variable);

// "openat" becomes "open", "unlinkat" "unlink": variants that differ only in how they name the
// object are equal.
std::string normalize_syscall(std::string_view syscall);

// Replaces what differs from run to run by '*': numbers, long hexadecimal strings, uuids, and
// mktemp suffixes in temporary directories; a home directory becomes '~'. "/tmp/sort.k3Xa9Q"
// becomes "/tmp/sort.*", "/proc/812/fd/4" becomes "/proc/*/fd/*".
std::string normalize_object(std::string_view object);

// "a/./b/../c.cc" becomes "a/c.cc"; backslashes become slashes.
std::string normalize_path(std::string_view path);

std::string_view basename_of(std::string_view path);

}  // namespace deadheat::model

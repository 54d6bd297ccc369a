// Result<T>: a value, or an Error that a user can act on.
//
// Every Error carries a message (what went wrong, one line) and a hint (what to do next, may be
// empty). Functions that cross a module boundary return Result; nothing in Deadheat aborts on
// outside input.
#pragma once

#include <cassert>
#include <string>
#include <utility>
#include <variant>

namespace deadheat {

struct Error {
  std::string message;
  std::string hint;
};

template <typename T>
class [[nodiscard]] Result {
 public:
  // Implicit, so that functions can end with `return value;` or `return Error{...};`.
  // NOLINTNEXTLINE(google-explicit-constructor)
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  // NOLINTNEXTLINE(google-explicit-constructor)
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  explicit operator bool() const { return ok(); }
  bool ok() const { return state_.index() == 0; }

  T& value() & { return *checked(); }
  const T& value() const& { return *const_cast<Result*>(this)->checked(); }
  T&& value() && { return std::move(*checked()); }
  T* operator->() { return checked(); }
  T& operator*() & { return *checked(); }
  T&& operator*() && { return std::move(*checked()); }

  const Error& error() const {
    assert(!ok());
    return *std::get_if<1>(&state_);
  }

 private:
  T* checked() {
    assert(ok());
    return std::get_if<0>(&state_);
  }
  std::variant<T, Error> state_;
};

struct Ok {};
using Status = Result<Ok>;

}  // namespace deadheat

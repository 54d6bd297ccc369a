// A structure of the kernel or of abi/ as the bytes that a recording stores.
#pragma once

#include <string>
#include <type_traits>

namespace deadheat::process::recording {

template <typename T>
  requires std::is_trivially_copyable_v<T>
std::string bytes_of(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

}  // namespace deadheat::process::recording

// Lists that represent sets: sorted, without duplicates.
#pragma once

#include <algorithm>
#include <functional>
#include <vector>

namespace deadheat::model {

template <typename T>
bool is_set(const std::vector<T>& values) {
  return std::adjacent_find(values.begin(), values.end(), std::greater_equal<>()) == values.end();
}

}  // namespace deadheat::model

#include "runtime/common/check_words.h"

namespace deadheat::runtime {

namespace {

alignas(16) char empty_cells[2 * DEADHEAT_CHECK_MOST_BYTES];

}  // namespace

char* no_cells[kSegments];

void start_no_cells() {
  for (char*& cells : no_cells) cells = empty_cells;
}

}  // namespace deadheat::runtime

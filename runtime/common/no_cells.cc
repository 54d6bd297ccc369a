#include "runtime/common/check_words.h"

namespace deadheat::runtime {

namespace {

alignas(16) char empty_cell[32];  // two: the check of 16 bytes looks at the next one, too

}  // namespace

char* no_cells[kSegments];

void start_no_cells() {
  for (char*& cells : no_cells) cells = empty_cell;
}

}  // namespace deadheat::runtime

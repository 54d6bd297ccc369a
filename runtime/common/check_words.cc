// Words that no cell equals: modes that are called for each access.
#include "runtime/common/check_words.h"

namespace {

constexpr uint32_t kNone = ~uint32_t{0};

}  // namespace

extern "C" {
extern __thread deadheat_check_words DEADHEAT_CHECK_WORDS
    __attribute__((tls_model("initial-exec"), visibility("default"), aligned(16)));
__thread deadheat_check_words DEADHEAT_CHECK_WORDS = {
    {kNone, kNone, kNone, kNone}, {kNone, kNone, kNone, kNone}, deadheat::runtime::no_cells, 0};
}

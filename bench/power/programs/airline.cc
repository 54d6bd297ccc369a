// Tickets are sold as long as there are any; who looked before another one sold sells too many.
#include "bug.h"

int sold;

namespace {

constexpr int kSeats = 2;
constexpr int kSellers = 3;

void Sell() {
  if (sold < kSeats) ++sold;
}

}  // namespace

int main() {
  RunThreads(Sell, Sell, Sell);
  static_assert(kSellers > kSeats);
  Require(sold == kSeats, "the wrong number of tickets was sold");
}

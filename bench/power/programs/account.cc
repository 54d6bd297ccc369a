// A bank account without a lock: deposits and withdrawals get lost.
#include "bug.h"

int balance = 100;

namespace {

void Deposit(int amount) { balance += amount; }
void Withdraw(int amount) { balance -= amount; }

}  // namespace

int main() {
  RunThreads([] { Deposit(50); }, [] { Withdraw(30); });
  Require(balance == 120, "the balance is wrong");
}

// A molecular-dynamics kernel in the manner of moldyn (racefuzzer.txt Table 1: 59 candidates, 2
// real and benign). Its threads meet at a barrier made by hand: a count under a lock, looked at
// again and again with a yield between. That orders everything before it and after it, but lock
// sets see only that there is no common lock: positions, velocities, forces and energies all
// look racy, and none of it can happen.
//
// Two races are real: every thread computes the same cut-off for itself, into one shared variable,
// and reads it. All write the same number, so nothing comes of it.
#include <cmath>
#include <cstdio>
#include <mutex>
#include <thread>
#include <vector>

// Not in the namespace below: an optimiser could tell that only one value is ever stored.
double cutoff;

namespace {

constexpr int kThreads = 3;
constexpr int kParticles = 12;
constexpr int kSteps = 2;

// Correct only if the system's scheduler is fair: a scheduler that holds a thread back in front of
// it must let it go.
class Barrier {
 public:
  void Wait() {
    int mine;
    {
      std::lock_guard guard(lock_);
      mine = generation_;
      if (++arrived_ == kThreads) {
        arrived_ = 0;
        ++generation_;
      }
    }
    while (Generation() == mine) std::this_thread::yield();
  }

 private:
  int Generation() {
    std::lock_guard guard(lock_);
    return generation_;
  }

  std::mutex lock_;
  int arrived_ = 0;
  int generation_ = 0;
};

Barrier barrier;
double position[kParticles], velocity[kParticles];
double force[kThreads][kParticles];
double kinetic[kThreads];
double energy[kSteps];

void ComputeForces(int self) {
  cutoff = 2.5 * 2.5;  // RACE! cutoff
  for (int i = self; i < kParticles; i += kThreads) {
    for (int j = i + 1; j < kParticles; ++j) {
      double distance = position[i] - position[j];       // NORACE barrier
      double squared = distance * distance;              // private
      if (squared > cutoff || squared == 0) continue;    // RACE! cutoff
      double pull = 1 / (squared * distance) - squared;  // private
      force[self][i] += pull;                            // NORACE barrier
      force[self][j] -= pull;                            // NORACE barrier
    }
  }
}

void Move(int self) {
  kinetic[self] = 0;  // NORACE barrier
  for (int i = self; i < kParticles; i += kThreads) {
    double total = 0;
    for (int thread = 0; thread < kThreads; ++thread) {
      total += force[thread][i];  // NORACE barrier
      force[thread][i] = 0;       // NORACE barrier
    }
    velocity[i] += total * 0.001;                    // NORACE one thread's
    position[i] += velocity[i] * 0.001;              // NORACE barrier
    kinetic[self] += velocity[i] * velocity[i] / 2;  // NORACE barrier
  }
}

void Sum(int step) {
  double sum = 0;
  for (int thread = 0; thread < kThreads; ++thread) sum += kinetic[thread];  // NORACE barrier
  energy[step] = sum;
}

void Simulate(int self) {
  for (int step = 0; step < kSteps; ++step) {
    ComputeForces(self);
    barrier.Wait();
    Move(self);
    barrier.Wait();
    if (self == 0) Sum(step);
    barrier.Wait();
  }
}

}  // namespace

int main() {
  for (int i = 0; i < kParticles; ++i) position[i] = i * 0.9;
  std::vector<std::thread> threads;
  for (int self = 0; self < kThreads; ++self) threads.emplace_back(Simulate, self);
  for (std::thread& thread : threads) thread.join();
  if (!std::isfinite(energy[kSteps - 1]) || energy[kSteps - 1] <= 0) {
    std::fprintf(stderr, "moldyn: validation failed: %g\n", energy[kSteps - 1]);
    return 1;
  }
}

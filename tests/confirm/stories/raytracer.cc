// A ray tracer in the manner of raytracer (racefuzzer.txt Table 1: 2 candidates, 2 real): every
// thread adds its lines' brightness to one checksum, without a lock. The lines themselves are its
// own. An addition gets lost, and validation fails.
#include <cstdio>
#include <thread>
#include <vector>

// Not in the namespace below: optimisers keep what other files may see.
long checksum;

namespace {

constexpr int kThreads = 2;
constexpr int kWidth = 16;
constexpr int kLines = 8;

long brightness[kLines];

// A sphere in the middle, lit from the viewer's side.
long Shade(int x, int y) {
  int dx = x - kWidth / 2, dy = y - kLines / 2;
  int depth = 16 - dx * dx - dy * dy;
  return depth > 0 ? depth : 0;
}

void Render(int self) {
  long total = 0;
  for (int y = self; y < kLines; y += kThreads) {
    long line = 0;
    for (int x = 0; x < kWidth; ++x) line += Shade(x, y);
    brightness[y] = line;  // NORACE one thread's
    total += line;
  }
  checksum += total;  // RACE! checksum
}

}  // namespace

int main() {
  std::vector<std::thread> threads;
  for (int self = 0; self < kThreads; ++self) threads.emplace_back(Render, self);
  for (std::thread& thread : threads) thread.join();
  long expected = 0;
  for (long line : brightness) expected += line;
  if (checksum != expected) {
    std::fprintf(stderr, "raytracer: validation failed: %ld instead of %ld\n", checksum, expected);
    return 1;
  }
}

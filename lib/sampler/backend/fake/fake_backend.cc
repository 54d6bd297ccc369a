#include "lib/sampler/backend/fake/fake_backend.h"

namespace deadheat::sampler {

Event FakeBackend::wait(uint64_t deadline_ns) {
  if (script.empty()) {
    clock_ns = deadline_ns;
    return {};
  }
  const Step step = script.front();
  script.pop_front();
  const Event event = step(*this);
  if (event.kind == Event::Kind::kTime)
    clock_ns = deadline_ns;
  else
    clock_ns += 1000;
  if (event.kind == Event::Kind::kBreakpoint) placed.erase(event.pc);
  return event;
}

bool FakeBackend::insert(uint64_t pc, uint8_t) {
  placed.insert(pc);
  return true;
}

uint64_t FakeBackend::arm(int except, std::span<const WatchPiece> pieces, bool reads_too) {
  size_t taken = 0;
  for (const auto& [number, watch] : watches) taken += watch.pieces.size();
  if (taken + pieces.size() > kRegisters) return 0;
  last_watch = Watch{{pieces.begin(), pieces.end()}, reads_too, except};
  watches[++last_number] = *last_watch;
  return last_number;
}

void FakeBackend::disarm(uint64_t watch) { watches.erase(watch); }

bool FakeBackend::read(uint64_t address, std::span<uint8_t> into) {
  for (size_t i = 0; i < into.size(); ++i) {
    const auto found = memory.find(address + i);
    into[i] = found == memory.end() ? uint8_t{0} : found->second;
  }
  return true;
}

std::vector<LoadedModule> FakeBackend::modules() { return {{module_, 0, 0x400000, 0x500000}}; }

std::vector<uint64_t> FakeBackend::stack(int task) { return {0x400000U + task, 0x400100}; }

}  // namespace deadheat::sampler

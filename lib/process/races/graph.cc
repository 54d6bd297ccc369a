#include <algorithm>

#include "lib/process/races/races.h"

namespace deadheat::process::races {

// Merges the knowledge of `from`, and `from` itself. Chunks from `owned_from` on belong only to
// this clock.
void Graph::merge(std::vector<uint32_t>& clock, uint32_t from, uint32_t owned_from) {
  const effects::Node& source = model_->nodes[from];
  const size_t other = size_t{clock_of_[from]} * width_;
  const auto own = [&](uint32_t k) -> Chunk& {
    if (clock[k] < owned_from) {
      chunks_.push_back(Chunk(chunks_[clock[k]]));
      clock[k] = static_cast<uint32_t>(chunks_.size() - 1);
    }
    return chunks_[clock[k]];
  };
  for (uint32_t k = 0; k < width_; k++) {
    const uint32_t theirs = clocks_[other + k];
    if (theirs == clock[k] || theirs == 0) continue;
    if (clock[k] == 0) {
      clock[k] = theirs;
      continue;
    }
    bool less = false, more = false;
    for (uint32_t i = 0; i < kChunk; i++) {
      less |= chunks_[clock[k]][i] < chunks_[theirs][i];
      more |= chunks_[clock[k]][i] > chunks_[theirs][i];
    }
    if (!less) continue;
    if (!more) {
      clock[k] = theirs;
      continue;
    }
    Chunk& mine = own(k);
    for (uint32_t i = 0; i < kChunk; i++) mine[i] = std::max(mine[i], chunks_[theirs][i]);
  }
  const uint32_t k = source.task / kChunk;
  if (chunks_[clock[k]][source.task % kChunk] < source.position)
    own(k)[source.task % kChunk] = source.position;
}

Graph::Graph(const effects::Model& model) : model_(&model) {
  width_ = static_cast<uint32_t>(model.tasks.size() + kChunk - 1) / kChunk;
  chunks_.push_back({});
  clocks_.assign(width_, 0);
  clock_of_.assign(model.nodes.size(), 0);

  std::vector<uint32_t> first(model.nodes.size() + 2, 0);  // edges by the node that they enter
  for (const effects::Edge& edge : model.edges) first[edge.to + 1]++;
  for (size_t i = 1; i < first.size(); i++) first[i] += first[i - 1];
  std::vector<uint32_t> sources(model.edges.size());
  std::vector<uint32_t> next(first);
  for (const effects::Edge& edge : model.edges) sources[next[edge.to]++] = edge.from;

  std::vector<uint32_t> latest(model.tasks.size(), 0);  // task -> its last node's clock
  std::vector<uint32_t> clock(width_);
  for (uint32_t node = 0; node < model.nodes.size(); node++) {
    uint32_t& current = latest[model.nodes[node].task];
    if (first[node] != first[node + 1]) {
      const auto owned_from = static_cast<uint32_t>(chunks_.size());
      std::copy_n(clocks_.begin() + static_cast<ptrdiff_t>(size_t{current} * width_), width_,
                  clock.begin());
      for (uint32_t e = first[node]; e < first[node + 1]; e++) merge(clock, sources[e], owned_from);
      current = static_cast<uint32_t>(clocks_.size() / width_);
      clocks_.insert(clocks_.end(), clock.begin(), clock.end());
    }
    clock_of_[node] = current;
  }
}

std::vector<uint32_t> Graph::clock(uint32_t node) const {
  std::vector<uint32_t> whole(model_->tasks.size());
  for (uint32_t task = 0; task < whole.size(); task++) whole[task] = component(node, task);
  whole[model_->nodes[node].task] = model_->nodes[node].position;
  return whole;
}

}  // namespace deadheat::process::races

// Inclusion constraints, solved in waves: collapse the cycles of the copy graph, push what is new
// along it in topological order, then let loads, stores and steps add edges, until nothing changes
// (Pereira and Berlin, "Wave propagation and deep propagation for pointer analysis", 2009).
//
// Nodes that must mean the same are one: all that is loaded through one pointer at one offset, and
// all steps from one pointer by one distance (merge.cc). If that is not enough, nodes that may mean
// very many places are merged too (coarse.cc): that loses precision and no race.
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/DenseSet.h>

#include <functional>
#include <map>
#include <tuple>
#include <vector>

#include "compiler/scan/budget.h"
#include "compiler/scan/locations.h"

namespace deadheat::scan {

using Node = uint32_t;
class Solver {
 public:
  Solver(Locations& locations, const Budget& budget) : locations_(locations), budget_(budget) {}

  Node add_node();
  Node memory(Location location);  // what is stored there
  void contains(Node node, Location location);
  void contains(Node node, const Set& locations) { changed_ |= sets_[find(node)] |= locations; }
  void copy(Node to, Node from);
  // Pointers lie at addresses that they divide, unless `packed`: others are not followed.
  void load(Node to, Node pointer, int64_t offset = 0, bool packed = false) {
    copy(to, loaded(pointer, offset, packed));
  }
  Node loaded(Node pointer, int64_t offset = 0, bool packed = false);
  void store(Node pointer, Node value, int64_t offset = 0, bool packed = false);
  // `walks`: a step of bytes, which in a cycle means walking through a buffer. `type`: the record
  // to whose field it leads.
  void step(Node to, Node from, int64_t fields, int64_t elements, bool walks = false,
            llvm::StructType* type = nullptr) {
    copy(to, stepped(from, fields, elements, walks, type));
  }
  Node stepped(Node from, int64_t fields, int64_t elements, bool walks = false,
               llvm::StructType* type = nullptr);
  // Of two nodes that mean the same, one goes on. Not while solving.
  void unite(Node a, Node b);
  // What is stored in `size` bytes behind `from`, to the same offsets behind `to`; 0: all of it.
  void copy_memory(Node to, Node from, uint64_t size = 0);
  // A copy of some number of bytes: text between buffers, or an element of a container. Only the
  // latter, which has a buffer on one side, carries pointers, in its first bytes.
  void copy_bytes(Node to, Node from);
  // `changed` is called with each function that the node comes to contain, sometimes twice.
  void watch(Node node, std::function<void(Location)> changed);

  // Called after each wave; what it adds is solved too.
  void after_wave(std::function<void()> then) { after_wave_ = std::move(then); }

  void solve();
  int coarseness() const;  // 0: exact; see coarse.cc
  // No time is left: what is added now is not solved, and counted.
  bool is_over();
  void leave_rest() { ++unfinished_; }  // something was not added for that reason
  const Set& points_to(Node node) { return sets_[find(node)]; }
  Node representative(Node node) { return find(node); }
  uint64_t waves() const { return waves_; }
  // Nodes whose contents were not followed to the end: the time was over.
  uint64_t unfinished() const { return unfinished_; }
  // Nodes that were merged although they may mean different places.
  uint64_t merged_wide() const { return merged_wide_; }
  uint64_t work() const { return work_; }
  // How much work is done in full; then wide nodes are merged.
  void set_most_work(uint64_t work) { most_work_ = work; }
  uint64_t walks() const { return walks_; }
  uint64_t other_types() const { return other_types_; }

 private:
  static constexpr Node kNone = ~0U;
  enum class Kind : uint8_t { kLoad, kStore, kStep, kWatch };
  // Of each kind with the same numbers a node has one: `other` is then a node of its own, from
  // which or to which copies lead.
  struct Complex {
    Kind kind;
    Node other;
    int64_t fields, elements;
    bool packed = false;
    bool walks = false;
    llvm::StructType* type = nullptr;
    uint32_t type_number = 0;  // in the order of their first use: addresses would differ each time
    auto key() const {
      return std::tuple(kind, fields, elements, packed, walks, type_number,
                        kind == Kind::kWatch ? other : 0);
    }
  };
  static constexpr int64_t kWord = 8;
  static constexpr uint64_t kMostWork = 10'000'000;
  // A node for each distance stands between the sources and the targets: with n sources and m
  // targets of k fields that is k (n + m) edges instead of k n m, which some programs do not
  // finish.
  struct MemoryCopy {
    Node to = 0, from = 0;
    uint64_t size = 0;
    bool only_buffers = false, only_records = false;  // as sources
    bool to_records = false;                          // as targets
    std::map<int64_t, Node> by_distance;
    llvm::DenseMap<Location, size_t> sources;  // how many parts of its object were looked at
    uint64_t looked = 0;  // how many places had a node in memory when the sources were looked at
    Set looked_at;
    std::vector<std::pair<Location, int64_t>> parts;  // not connected yet, and their distances
    Set targets;
    llvm::DenseMap<Location, size_t> with_pool;  // as `sources`, where the other side is the pool
  };

  // Of the graph of copies, and of steps if asked for.
  struct Components {
    std::vector<Node> order;  // representatives, each before those that it copies to
    std::vector<std::pair<Node, Node>> members;  // (representative, other member)
  };
  Components components(bool with_steps);
  Node find(Node node);
  Node add_complex(Node node, Complex complex);
  void catch_up();
  bool add_edge(Node from, Node to);
  void merge(Node into, Node other);
  void merge_complex(Node into, Node other);
  void unite_waiting();
  void forget_equal_copies();
  void merge_where_coarse(const std::vector<Node>& nodes);
  std::vector<Node> order_and_collapse();
  void stop_walks();
  bool propagate(const std::vector<Node>& order);
  void apply(Node node, const Set& news);
  void apply(const Complex& one, const Set& news);
  void copy_objects(MemoryCopy& copy);
  // pool.cc
  bool is_pool(Node node);
  bool is_pooled(Location location) const;
  bool keeps_memory(Location location) const;
  void add_to_pool(Node node);
  void pool_part(Location part);
  void close_pool();
  void apply_to_pool(const Complex& one, const Set& news);
  void copy_with_pool(MemoryCopy& copy);
  void connect_sources(MemoryCopy& copy, std::vector<int64_t>& fresh);

  Locations& locations_;
  const Budget& budget_;
  std::vector<Node> parent_;
  std::vector<Set> sets_, done_;
  std::vector<std::vector<Node>> edges_;
  std::vector<std::pair<uint64_t, size_t>> tidied_;  // merges and edges when the edges were sorted
  uint64_t merges_ = 0;
  std::vector<std::vector<Complex>> complex_;
  std::vector<Node> memory_;  // by location; kNone: not yet
  uint64_t stored_places_ = 0;
  std::vector<std::vector<Location>> stored_;  // by object: its locations with a node in memory_
  std::vector<std::function<void(Location)>> watchers_;
  std::vector<MemoryCopy> memory_copies_;
  std::function<void()> after_wave_;
  llvm::DenseSet<uint64_t> known_edges_;
  std::vector<std::pair<Node, Set>> pending_;
  std::vector<std::pair<Node, Node>> waiting_;  // to be united
  struct Late {  // has not seen this of what its node handled already
    Complex complex;
    Set unseen;
    bool of_pool;  // all of it
  };
  std::vector<Late> late_;
  Node pool_ = kNone, pool_memory_ = kNone;
  std::vector<bool> pooled_;  // by object
  Set pool_seen_;             // whose objects are pooled
  Location parts_seen_ = 0;   // places before this one were asked whether their object is
  llvm::DenseMap<llvm::StructType*, uint32_t> types_;
  bool solving_ = false;
  uint64_t work_ = 0, most_work_ = kMostWork, merged_wide_ = 0, copies_tidied_ = ~uint64_t{0};
  bool changed_ = false;
  bool over_ = false;         // no time is left: nothing is added any more
  uint64_t until_asked_ = 0;  // edges until the clock is asked again
  uint64_t waves_ = 0, walks_ = 0, other_types_ = 0, unfinished_ = 0;
};

}  // namespace deadheat::scan

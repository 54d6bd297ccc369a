// Pairs of accesses that may race: one object, overlapping bytes, at least one write, not both
// atomic, in parallel, without a common lock. Ranked, most likely first.
#pragma once

#include "compiler/scan/parallel.h"

namespace deadheat::scan {

struct Side {
  const AccessPoint* point = nullptr;
  size_t context = 0;
  const Locks* held = nullptr;  // lives as long as the finder
};

struct Pair {
  Side a, b;
  ObjectId object = 0;
  int64_t offset = 0;   // where the bytes in common begin
  int score = 0;        // 0 to 100
  size_t ways[2] = {};  // how each side is reached
  bool same_site_locks = false;
  size_t aliases = 0;
  bool ad_hoc = false;               // one side is a loop that only waits for the other
  bool repeats = false;              // a likelier pair of the same bytes stands before it
  bool likely_ordered = false;       // by synchronisation that is no lock
  std::vector<std::string> reasons;  // why it has this rank, the weightiest first
};

// By score; pairs of the same score keep their order.
void likeliest_first(std::vector<Pair>& pairs);
// Marks all pairs of the same bytes except the first: reviewing one of them is enough.
void mark_repeats(std::vector<Pair>& pairs);

struct PairOptions {
  size_t most_per_object = 200;
  size_t most_checks = 2'000'000;  // of accesses to one object
  bool own_objects = true;         // objects made for one thread are its own
  bool same_site_locks = false;    // locks of one allocation site count as one
  const Budget* budget = nullptr;  // when it is over, the remaining objects are not looked at
};

class PairFinder {
 public:
  PairFinder(PointsTo& points_to, Paths& paths, AccessFinder& finder, const Summaries& summaries,
             const Contexts& contexts, const Parallel& parallel, const PairOptions& options);
  std::vector<Pair> find();
  Counters counters() const;
  // Why an access is in no pair. Only reasons that depend on no choice that can miss a race.
  std::map<const llvm::Instruction*, std::string> safe();

 private:
  // How one access is reached, as far as other accesses care.
  struct Way {
    size_t context;
    size_t root;
    Locks held;
    Spawns alive, joined;
    std::set<LocationList> waited;
    std::vector<uint32_t> lock_numbers = {};
    uint32_t locks = 0, threads = 0;  // numbers: equal lock sets; equal root, alive and joined
  };
  struct Site {
    const AccessPoint* point;
    size_t way_list;     // how it is reached
    size_t aliases = 0;  // places that its pointer may mean
    // What comparing it with others showed.
    bool conflicts = false, parallel = false, left_out = false, in_pair = false;
  };
  struct Use {                     // of an object
    size_t alike;                  // accesses that differ in nothing that matters: in alike_
    std::vector<int64_t> offsets;  // ascending
  };
  struct Kind {  // of the accesses in a group, as far as ranks care
    bool spins = false, fixed = false, frees = false;  // some; some; all
    size_t aliases = ~size_t{0};                       // the fewest
  };
  static Kind kind_of(const Site& site);
  const Site& first(const Use& use) const { return sites_[alike_[use.alike].front()]; }
  void leave_out(const std::vector<Use>& uses);
  struct Group;  // uses of an object that others need not tell apart
  struct Found;  // the pairs of one object
  void leave_out(const Group& group);
  static constexpr size_t kMostRanked = 32;          // ways to one pair: for its rank only
  static constexpr size_t kMostBetweenGroups = 256;  // pairs; of larger groups each place is in one
  static constexpr ObjectId kNoObject = ~ObjectId{0};
  static constexpr size_t kManyPlaces = 1000;  // that a pointer may mean
  static constexpr size_t kObjectsOfWide = 32;
  static constexpr size_t kMostAlike = 4;  // meetings that differ only in their rank
  enum class Guard : uint8_t { kNone, kSameSite, kCommon };

  void collect();
  void index_roots();
  size_t add_way(size_t context, const AccessPoint& point, const llvm::Function& function);
  void check_object(ObjectId object, const std::vector<Use>& uses, std::vector<Pair>& out);
  std::vector<Group> group(const std::vector<Use>& uses) const;
  std::vector<std::pair<size_t, size_t>> members(const Group& a, const Group& b);
  void compare(ObjectId object, size_t i, size_t j, int64_t offset, Found& found);
  bool may_pair(ObjectId object, const Group& a, const Group& b);
  void cover(ObjectId object, const Group& a, const Group& b, int64_t offset, Found& found);
  bool check(ObjectId object, size_t a, size_t b, int64_t offset, Pair& best);
  struct Meeting {  // of two ways that may run in parallel
    size_t a, b;
    Guard guard;
    int score;  // what the ways add to a rank, at most
  };
  struct Meetings {
    std::vector<Meeting> list;  // those that make a pair the likeliest first
    bool assumed = false;       // others were left out by an assumption
    bool open = false;          // some without a common lock
  };
  const Meetings& meetings(const Site& a, const Site& b);
  Guard guard(const Way& a, const Way& b);
  Guard guard(const Lock& a, const Lock& b) const;
  enum class Together : uint8_t { kYes, kNo, kNoByAssumption };
  Together together(const Way& a, const Way& b);
  bool guarded_by_itself(const Way& a, const Access& access_a, const Way& b,
                         const Access& access_b) const;
  bool touches_heap(const llvm::Value* pointer);
  // An access through a pointer that may mean very many places is compared at a few objects only.
  void collect_wide();
  bool is_compared(ObjectId object) const;  // threads can conflict there
  ObjectId first_shared(const Set& places) const;
  void note_wide(const llvm::Value* pointer);
  bool touches_wide(const llvm::Value* pointer);  // such a pointer may mean one of its objects
  bool is_unique(ObjectId object) const;
  bool is_own(ObjectId object, size_t root);
  bool is_given_alone(const Object& object, const llvm::CallBase& spawn) const;
  const std::set<ObjectId>& shared_by_threads();
  bool handed_over(const Access& access, const Way& way, const Way& other) const;
  bool waits_for(const Way& way, size_t other_root, const Access& access) const;
  void rank(Pair& pair, bool explain) const;
  int most_by_ways(const Way& a, const Way& b, Guard guard) const;
  int most_by_places(ObjectId object, const Kind& a, const Kind& b) const;

  PointsTo& points_to_;
  Paths& paths_;
  AccessFinder& finder_;
  const Summaries& summaries_;
  const Contexts& contexts_;
  const Parallel& parallel_;
  const PairOptions& options_;
  std::vector<Way> ways_;
  std::map<std::tuple<uint32_t, uint32_t, std::set<LocationList>>, size_t> known_ways_;
  std::map<Locks, uint32_t> known_locks_;
  std::map<std::vector<unsigned>, uint32_t> known_threads_;  // root, alive, joined
  // What was answered for two lock sets, two locks, and two sets of threads.
  llvm::DenseMap<uint64_t, Guard> guards_;
  std::map<Lock, uint32_t> lock_numbers_;
  std::vector<const Lock*> locks_;  // by number
  llvm::DenseMap<uint64_t, Guard> lock_guards_;
  llvm::DenseMap<uint64_t, Together> together_;
  mutable std::map<std::pair<const Way*, size_t>, std::vector<Location>> waits_;
  mutable std::map<std::pair<LocationList, size_t>, std::vector<Location>> met_;  // of a list
  mutable llvm::DenseMap<ObjectId, bool> unique_;  // what is_unique has answered
  // A way may stand for contexts of several functions: the one that a pair shows is its own.
  std::map<std::pair<size_t, const llvm::Function*>, size_t> context_of_;
  std::vector<std::vector<size_t>> way_lists_;
  std::map<std::pair<size_t, size_t>, Meetings> meetings_;
  std::vector<Site> sites_;
  std::vector<std::vector<size_t>> alike_;  // numbers of sites
  std::map<ObjectId, std::vector<Use>> uses_;
  std::vector<size_t> wide_;  // in alike_: accesses through pointers that may mean very many places
  llvm::DenseSet<Node> wide_sets_;
  std::vector<bool> wide_objects_;  // that those may mean
  llvm::DenseMap<Node, bool> touches_wide_, touches_heap_;
  llvm::DenseSet<const AccessPoint*> listed_;  // places that are in a pair of the result
  std::set<ObjectId> shared_;                  // shared_by_threads()
  bool shared_known_ = false;
  std::vector<Set> signals_;  // by root
  std::vector<std::set<Location>> barriers_;
  std::map<const llvm::Function*, std::set<size_t>> roots_of_;
  uint64_t checks_ = 0, capped_ = 0, own_ = 0, handed_ = 0, same_site_ = 0, dropped_ = 0,
           objects_left_ = 0, alike_not_listed_ = 0, wide_accesses_ = 0;
};

}  // namespace deadheat::scan

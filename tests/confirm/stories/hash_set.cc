// HashSet of JDK 1.4.2 behind Collections.synchronizedSet, addAll against add, remove and clear.
// Its iterator keeps the table that there was when it began and looks for the next used bucket
// ahead. See collection.h.
#include "collection.h"

namespace {

class HashSet {
  static constexpr int kBuckets = 8;

  struct Entry {
    int value;
    Entry* next;
  };

 public:
  class Iterator {
   public:
    explicit Iterator(HashSet& set) : set_(set), expected_(set.modifications_) { Advance(nullptr); }

    bool HasNext() const { return next_ != nullptr; }
    int Next() {
      if (set_.modifications_ != expected_) throw ConcurrentModification();  // RACE! modifications
      if (!next_) throw NoSuchElement();
      int value = next_->value;  // NORACE written before the entry is in the table
      Advance(next_->next);      // RACE? next, where entries share a bucket
      return value;
    }

   private:
    void Advance(Entry* next) {
      while (!next && bucket_ < kBuckets) {
        next = set_.table_[bucket_++];  // RACE! table
      }
      next_ = next;
    }

    HashSet& set_;
    Entry* next_ = nullptr;
    int expected_;
    int bucket_ = 0;
  };

  ~HashSet() {
    for (Entry* entry : entries_) delete entry;
  }

  bool Add(int value) {
    if (Contains(value)) return false;
    Entry** bucket = &table_[value % kBuckets];
    Entry* entry = new Entry{value, *bucket};  // NORACE
    entries_.push_back(entry);
    *bucket = entry;   // RACE! table
    ++modifications_;  // RACE! modifications
    return true;
  }
  bool Remove(int value) {
    Entry* before = nullptr;
    Entry* entry = table_[value % kBuckets];
    while (entry && entry->value != value) {
      before = entry;
      entry = entry->next;
    }
    if (!entry) return false;
    if (before) {
      before->next = entry->next;  // RACE? next
    } else {
      table_[value % kBuckets] = entry->next;  // RACE! table
    }
    ++modifications_;  // RACE! modifications
    return true;
  }
  void Clear() {
    for (Entry*& bucket : table_) {
      bucket = nullptr;  // RACE! table
    }
    ++modifications_;  // RACE! modifications
  }
  bool Contains(int value) const {
    for (Entry* entry = table_[value % kBuckets]; entry; entry = entry->next) {
      if (entry->value == value) return true;
    }
    return false;
  }

 private:
  Entry* table_[kBuckets] = {};
  int modifications_ = 0;
  std::vector<Entry*> entries_;  // all that ever were, see collection.h
};

}  // namespace

int main() { return DriveLooking<HashSet>(&Synchronized<HashSet>::AddAll); }

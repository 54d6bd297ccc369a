// ArrayList of JDK 1.4.2 behind Collections.synchronizedList, equals against add, remove and clear.
// See collection.h.
#include "collection.h"

namespace {

class ArrayList {
 public:
  class Iterator {
   public:
    explicit Iterator(ArrayList& list) : list_(list), expected_(list.modifications_) {}

    bool HasNext() const {
      return position_ != list_.size_;  // RACE! size
    }
    int Next() {
      if (list_.modifications_ != expected_) throw ConcurrentModification();  // RACE! modifications
      if (position_ >= list_.size_) throw NoSuchElement();                    // RACE! size
      int* elements = list_.elements_;                                        // RACE! elements
      return elements[position_++];                                           // RACE! element
    }

   private:
    ArrayList& list_;
    int expected_;
    int position_ = 0;
  };

  ~ArrayList() {
    for (int* array : arrays_) delete[] array;
  }

  bool Add(int value) {
    if (size_ == capacity_) Grow();
    elements_[size_] = value;  // NORACE iterators stay below the size
    ++size_;                   // RACE! size
    ++modifications_;          // RACE! modifications
    return true;
  }
  bool Remove(int value) {
    for (int i = 0; i < size_; ++i) {
      if (elements_[i] != value) continue;
      for (int j = i + 1; j < size_; ++j) {
        int moved = elements_[j];
        elements_[j - 1] = moved;  // RACE! element
      }
      --size_;           // RACE! size
      ++modifications_;  // RACE! modifications
      return true;
    }
    return false;
  }
  void Clear() {
    size_ = 0;         // RACE! size
    ++modifications_;  // RACE! modifications
  }
  bool Contains(int value) const {
    for (int i = 0; i < size_; ++i) {
      if (elements_[i] == value) return true;
    }
    return false;
  }

 private:
  void Grow() {
    capacity_ = capacity_ ? capacity_ * 2 : 2;
    int* larger = new int[capacity_];  // NORACE
    for (int i = 0; i < size_; ++i) {
      int copied = elements_[i];
      larger[i] = copied;  // NORACE no other thread has the new array yet
    }
    arrays_.push_back(larger);
    elements_ = larger;  // RACE! elements
  }

  int* elements_ = nullptr;
  int size_ = 0;
  int capacity_ = 0;
  int modifications_ = 0;
  std::vector<int*> arrays_;  // all that ever were, see collection.h
};

}  // namespace

int main() { return DriveLooking<ArrayList>(&Synchronized<ArrayList>::Equals); }

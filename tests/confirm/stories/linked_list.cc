// LinkedList of JDK 1.4.2 behind Collections.synchronizedList, containsAll against add, remove and
// clear: both exceptions that the paper names can happen. See collection.h.
#include "collection.h"

namespace {

class LinkedList {
 public:
  struct Node {
    int value;
    Node* next;
    Node* previous;
  };

  class Iterator {
   public:
    explicit Iterator(LinkedList& list)
        : list_(list), next_(list.header_.next), expected_(list.modifications_) {}

    bool HasNext() const {
      return position_ != list_.size_;  // RACE! size
    }
    int Next() {
      if (list_.modifications_ != expected_) throw ConcurrentModification();  // RACE! modifications
      if (position_ == list_.size_) throw NoSuchElement();                    // RACE! size
      int value = next_->value;  // NORACE written before the node is in the list
      next_ = next_->next;       // RACE! next
      ++position_;
      return value;
    }

   private:
    LinkedList& list_;
    Node* next_;
    int expected_;
    int position_ = 0;
  };

  LinkedList() : header_{0, &header_, &header_} {}
  ~LinkedList() {
    for (Node* node : nodes_) delete node;
  }

  bool Add(int value) {
    Node* node = new Node{value, &header_, header_.previous};  // NORACE
    nodes_.push_back(node);
    header_.previous->next = node;  // RACE! next
    header_.previous = node;
    ++size_;           // RACE! size
    ++modifications_;  // RACE! modifications
    return true;
  }
  bool Remove(int value) {
    for (Node* node = header_.next; node != &header_; node = node->next) {
      if (node->value != value) continue;
      node->previous->next = node->next;  // RACE! next
      node->next->previous = node->previous;
      --size_;           // RACE! size
      ++modifications_;  // RACE! modifications
      return true;
    }
    return false;
  }
  void Clear() {
    header_.next = header_.previous = &header_;  // NORACE iterators read it under the lock
    size_ = 0;                                   // RACE! size
    ++modifications_;                            // RACE! modifications
  }
  bool Contains(int value) const {
    for (Node* node = header_.next; node != &header_; node = node->next) {
      if (node->value == value) return true;
    }
    return false;
  }

 private:
  Node header_;
  int size_ = 0;
  int modifications_ = 0;
  std::vector<Node*> nodes_;  // all that ever were, see collection.h
};

}  // namespace

int main() { return DriveLooking<LinkedList>(&Synchronized<LinkedList>::ContainsAll); }

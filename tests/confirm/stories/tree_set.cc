// TreeSet of JDK 1.4.2 behind Collections.synchronizedSet, addAll against add, remove and clear. A
// plain search tree: the balance does not matter here. See collection.h.
#include "collection.h"

namespace {

class TreeSet {
  struct Node {
    int value;
    Node* left;
    Node* right;
  };

 public:
  class Iterator {
   public:
    explicit Iterator(TreeSet& set) : set_(set), expected_(set.modifications_) {
      next_ = Above(-1);
    }

    bool HasNext() const { return next_ != nullptr; }
    int Next() {
      if (set_.modifications_ != expected_) throw ConcurrentModification();  // RACE! modifications
      if (!next_) throw NoSuchElement();
      int value = next_->value;  // NORACE written before the node is in the tree
      next_ = Above(value);
      return value;
    }

   private:
    // The node with the least value above this one.
    Node* Above(int value) const {
      Node* best = nullptr;
      Node* node = set_.root_;  // RACE! root
      while (node) {
        int its = node->value;  // NORACE
        if (its > value) {
          best = node;
          node = node->left;  // RACE? left
        } else {
          node = node->right;  // RACE! right
        }
      }
      return best;
    }

    TreeSet& set_;
    Node* next_;
    int expected_;
  };

  ~TreeSet() {
    for (Node* node : nodes_) delete node;
  }

  bool Add(int value) {
    if (Contains(value)) return false;
    Node* added = new Node{value, nullptr, nullptr};  // NORACE
    nodes_.push_back(added);
    if (!root_) {
      root_ = added;  // RACE? root, after Clear
    } else {
      Attach(root_, added);
    }
    ++modifications_;  // RACE! modifications
    return true;
  }
  bool Remove(int value) {
    Node* parent = nullptr;
    Node* node = root_;
    while (node && node->value != value) {
      parent = node;
      node = value < node->value ? node->left : node->right;
    }
    if (!node) return false;
    Replace(parent, node, node->right ? node->right : node->left);
    if (node->right && node->left) Attach(node->right, node->left);
    ++modifications_;  // RACE! modifications
    return true;
  }
  void Clear() {
    root_ = nullptr;   // RACE! root
    ++modifications_;  // RACE! modifications
  }
  bool Contains(int value) const {
    Node* node = root_;
    while (node && node->value != value) node = value < node->value ? node->left : node->right;
    return node != nullptr;
  }

 private:
  static void Attach(Node* node, Node* added) {
    for (;;) {
      Node** side = added->value < node->value ? &node->left : &node->right;
      if (!*side) {
        *side = added;  // RACE! right
        return;
      }
      node = *side;
    }
  }
  void Replace(Node* parent, Node* node, Node* other) {
    if (!parent) {
      root_ = other;  // NORACE the root is not removed
    } else if (parent->left == node) {
      parent->left = other;  // RACE? left
    } else {
      parent->right = other;  // RACE! right
    }
  }

  Node* root_ = nullptr;
  int modifications_ = 0;
  std::vector<Node*> nodes_;  // all that ever were, see collection.h
};

}  // namespace

int main() { return DriveLooking<TreeSet>(&Synchronized<TreeSet>::AddAll); }

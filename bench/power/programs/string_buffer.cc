// Appending one buffer to another, as JDK 1.4 did: the other one's length is asked for, then as
// many characters are copied. Each is done under its lock; in between the other may have become
// shorter.
#include <cstring>
#include <mutex>

#include "bug.h"

namespace {

class Buffer {
 public:
  explicit Buffer(const char* text) : length_(static_cast<int>(std::strlen(text))) {
    std::memcpy(text_, text, std::strlen(text));
  }

  int Length() {
    std::lock_guard guard(lock_);
    return length_;
  }
  void Copy(char* to, int count) {
    std::lock_guard guard(lock_);
    Require(count <= length_, "copied beyond the end");
    std::memcpy(to, text_, count);
  }
  void Erase() {
    std::lock_guard guard(lock_);
    length_ = 0;
  }
  void Append(Buffer& other) {
    std::lock_guard guard(lock_);
    int count = other.Length();
    other.Copy(text_ + length_, count);
    length_ += count;
  }

 private:
  std::mutex lock_;
  int length_;
  char text_[64] = {};
};

Buffer to("ab"), from("cd");

}  // namespace

int main() {
  RunThreads([] { to.Append(from); }, [] { from.Erase(); });
}

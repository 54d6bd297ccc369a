// Text without stdio: appends to a fixed buffer and writes it to a descriptor in one call, so that
// lines of threads and processes do not mix. Text that does not fit is truncated with "...".
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace deadheat::runtime {

class Text {
 public:
  Text(char* buffer, size_t capacity) : begin_(buffer), capacity_(capacity) {}

  Text& operator<<(const char* text);
  Text& operator<<(char c) { return put(&c, 1); }
  Text& decimal(uint64_t value);
  Text& signed_decimal(int64_t value);
  Text& hex(uint64_t value);       // 0x...
  Text& quoted(const char* text);  // a JSON string
  Text& put(const char* text, size_t size);

  const char* data() const { return begin_; }
  size_t size() const { return size_; }
  bool cut() const { return cut_; }
  void clear() { back_to(0); }
  void back_to(size_t size) { size_ = size, cut_ = false; }  // an earlier size()
  const char* c_str();                                       // with a final 0

 private:
  char* begin_;
  size_t capacity_;
  size_t size_ = 0;
  bool cut_ = false;
};

template <size_t N>
class TextBuffer : public Text {
 public:
  TextBuffer() : Text(buffer_, N) {}

 private:
  char buffer_[N];
};

// Prints one line to standard error, or to log_path.
void say(const char* line);
void write_log(const char* text, size_t size);
void set_log_path(const char* path);  // overrides the option
void set_log_fd(int fd);
const char* log_file();  // the file of the reports; empty if there is none

}  // namespace deadheat::runtime

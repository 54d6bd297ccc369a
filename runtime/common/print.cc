#include "runtime/common/print.h"

#include <fcntl.h>
#include <string.h>

#include "runtime/common/options.h"
#include "runtime/common/os.h"

namespace deadheat::runtime {

Text& Text::put(const char* text, size_t size) {
  const size_t room = capacity_ - 1 - size_;
  if (size > room) {
    cut_ = true;
    size = room;
  }
  memcpy(begin_ + size_, text, size);
  size_ += size;
  return *this;
}

Text& Text::operator<<(const char* text) { return put(text, text == nullptr ? 0 : strlen(text)); }

Text& Text::decimal(uint64_t value) {
  char digits[24];
  size_t at = sizeof digits;
  do {
    digits[--at] = static_cast<char>('0' + value % 10);
    value /= 10;
  } while (value != 0);
  return put(digits + at, sizeof digits - at);
}

Text& Text::signed_decimal(int64_t value) {
  if (value < 0) *this << '-';
  return decimal(value < 0 ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value));
}

Text& Text::hex(uint64_t value) {
  char digits[18];
  size_t at = sizeof digits;
  do {
    digits[--at] = "0123456789abcdef"[value & 15];
    value >>= 4;
  } while (value != 0);
  return (*this << "0x").put(digits + at, sizeof digits - at);
}

Text& Text::quoted(const char* text) {
  *this << '"';
  for (; text != nullptr && *text != '\0'; ++text) {
    const auto c = static_cast<unsigned char>(*text);
    if (c == '"' || c == '\\') {
      *this << '\\' << static_cast<char>(c);
    } else if (c < 0x20 || c >= 0x7f) {
      *this << "\\u00" << "0123456789abcdef"[c >> 4] << "0123456789abcdef"[c & 15];
    } else {
      *this << static_cast<char>(c);
    }
  }
  return *this << '"';
}

const char* Text::c_str() {
  begin_[size_] = '\0';
  return begin_;
}

namespace {

char chosen_path[1024];
int chosen_fd = -1;

const char* log_path() { return chosen_path[0] != '\0' ? chosen_path : runtime_options().log_path; }

// An open descriptor; -1: a file of our own.
int standard_log() {
  if (chosen_fd >= 0) return chosen_fd;
  const char* const path = log_path();
  if (path[0] == '\0' || strcmp(path, "stderr") == 0) return 2;
  return strcmp(path, "stdout") == 0 ? 1 : -1;
}

}  // namespace

void set_log_path(const char* path) {
  strncpy(chosen_path, path, sizeof chosen_path - 1);
  chosen_fd = -1;
}
void set_log_fd(int fd) { chosen_fd = fd; }

const char* log_file() {
  static TextBuffer<4096> path;
  path.clear();
  if (standard_log() < 0) (path << log_path() << '.').decimal(process_id());
  return path.c_str();
}

// Opened for each text: reports are few, and a descriptor that the program closes or reuses would
// put them into its files.
void write_log(const char* text, size_t size) {
  const int open = standard_log();
  if (open >= 0) {
    write_all(open, text, size);
    return;
  }
  TextBuffer<4096> path;
  (path << log_path() << '.').decimal(process_id());
  const int fd = open_file(path.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0666);
  write_all(fd >= 0 ? fd : 2, text, size);
  if (fd >= 0) close_file(fd);
}

void say(const char* line) {
  TextBuffer<2048> text;
  text << "deadheat: " << line << '\n';
  write_log(text.data(), text.size());
}

}  // namespace deadheat::runtime

// What the files of the hostile command share: what it knows of the machine outside, and how a
// try says what became of it.
#pragma once

#include <fcntl.h>

#include <cerrno>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

namespace escape {

struct Host {
  int pid = 0;         // a process outside
  std::string folder;  // outside, anybody may write there; holds a listening socket "socket"
  int port = 0;        // a server outside listens there, on loopback
  std::string name;    // a server outside listens on this abstract socket
};
extern Host host;

// What a try came to. Reached: what it did get at.
struct Outcome {
  bool reached = false;
  std::string text;
};

inline Outcome stopped(const std::string& why) { return {false, why}; }
inline Outcome reached(const std::string& what) { return {true, what}; }

inline std::string error_name(int number) {
  return std::string(::strerrorname_np(number)) + " (" + std::strerror(number) + ")";
}

// The result of a call: negative is an error, anything else got through.
inline Outcome call(long result, const std::string& what) {
  return result < 0 ? stopped(error_name(errno)) : reached(what);
}

inline Outcome opens(const char* path, int flags) {
  const int file = ::open(path, flags | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  return call(file, std::string(path) + " is open");
}

// Passed on to the call's own checks of its arguments: the permission was there.
inline Outcome permitted(long result, const std::string& what) {
  if (result >= 0) return reached(what);
  for (const int refused : {EPERM, EACCES, ENOSYS, EROFS, EAFNOSUPPORT, EPROTONOSUPPORT, ENODEV,
                            ENOENT, EOPNOTSUPP, ENOSPC, EUSERS})
    if (errno == refused) return stopped(error_name(errno));
  return reached(what + ": only its arguments were refused, " + error_name(errno));
}

struct Try {
  const char* name;
  std::function<Outcome()> run;
};

// Tries that change no part of the sandbox for those after them.
std::vector<Try> quiet_tries();
std::vector<Try> tries_at_what_is_shared();

}  // namespace escape

// Results of scans, so that a program that has not changed is not analysed again. The analysis is
// of the whole program: where one module has changed, all is analysed anew.
#pragma once

#include <string>

namespace deadheat::scan {

class Cache {
 public:
  // An empty folder: nothing is kept. The key also covers this program itself.
  Cache(const std::string& folder, const std::string& key);
  // True: the files were written from what was kept. An empty path: that file is not wanted.
  bool fetch(const std::string& findings, const std::string& facts) const;
  // A folder that cannot be written only costs time: it is ignored.
  void keep(const std::string& findings, const std::string& facts) const;

 private:
  void forget_oldest() const;
  std::string folder_, stem_;
};

}  // namespace deadheat::scan

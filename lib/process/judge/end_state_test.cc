#include "lib/process/judge/end_state.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace deadheat::process::judge {
namespace {

namespace fs = std::filesystem;

class EndState : public testing::Test {
 protected:
  EndState() {
    for (const char* const run : {"one", "other"}) {
      write(std::string(run) + "/out", "said\n");
      write(std::string(run) + "/err", "");
      write(std::string(run) + "/upper/srv/file", "content");
      fs::create_symlink("file", folder_ / run / "upper/srv/link");
    }
  }
  ~EndState() override { fs::remove_all(folder_); }
  EndState(const EndState&) = delete;
  EndState& operator=(const EndState&) = delete;

  void write(const std::string& name, const std::string& text) {
    fs::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name) << text;
  }
  std::string compare() const {
    return first_difference((folder_ / "one").string(), (folder_ / "other").string());
  }

  std::string name_ = testing::TempDir() + "end_state_XXXXXX";
  const fs::path folder_ = ::mkdtemp(name_.data());
};

TEST_F(EndState, Alike) { EXPECT_EQ(compare(), ""); }

TEST_F(EndState, Output) {
  write("other/out", "said \n");
  EXPECT_EQ(compare(), "standard output differs");
}

TEST_F(EndState, Content) {
  write("other/upper/srv/file", "contenT");
  EXPECT_EQ(compare(), "/srv/file differs");
}

TEST_F(EndState, Permissions) {
  fs::permissions(folder_ / "other/upper/srv/file", fs::perms::owner_read);
  EXPECT_EQ(compare(), "/srv/file differs");
}

TEST_F(EndState, WhereALinkLeads) {
  fs::remove(folder_ / "other/upper/srv/link");
  fs::create_symlink("elsewhere", folder_ / "other/upper/srv/link");
  EXPECT_EQ(compare(), "/srv/link differs");
}

TEST_F(EndState, MissingAndNew) {
  fs::remove(folder_ / "other/upper/srv/file");
  EXPECT_EQ(compare(), "/srv/file is missing");
  write("other/upper/srv/file", "content");
  write("other/upper/more", "");
  EXPECT_EQ(compare(), "/more is new");
}

}  // namespace
}  // namespace deadheat::process::judge

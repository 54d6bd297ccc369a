// Runs each case of intercept_cases in its own process and compares its events with the expected
// ones.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace {

struct Output {
  std::string text;
  int status = 0;
};

// What the program writes to descriptor `fd`.
Output run(const std::vector<std::string>& arguments, int fd) {
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    if (ends[1] != fd) {
      dup2(ends[1], fd);
      close(ends[1]);
    }
    if (ends[0] != fd) close(ends[0]);
    setenv("DEADHEAT_LOG_FD", std::to_string(fd).c_str(), 1);
    std::vector<char*> words;
    for (const std::string& argument : arguments)
      words.push_back(const_cast<char*>(argument.c_str()));
    words.push_back(nullptr);
    execv(INTERCEPT_CASES, words.data());
    _exit(127);
  }
  close(ends[1]);
  Output output;
  char buffer[4096];
  ssize_t got;
  while ((got = read(ends[0], buffer, sizeof buffer)) > 0)
    output.text.append(buffer, static_cast<size_t>(got));
  close(ends[0]);
  waitpid(child, &output.status, 0);
  return output;
}

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream stream(line);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

using Events = std::map<std::string, std::vector<std::string>>;  // by thread

Events events_of(const std::string& text) {
  std::map<std::string, std::string> names;
  Events events;
  size_t numbered = 0;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    std::vector<std::string> words = words_of(line);
    if (words.size() < 2) continue;
    if (words[1] == "object") {
      names[words.at(3)] = words[2];
      continue;
    }
    // Objects created by the runtime (for descriptors, signals, exit handlers) are numbered.
    if (words[1] == "happens_before" && words.at(2).starts_with("0x") && !names.contains(words[2]))
      names[words[2]] = "o" + std::to_string(++numbered);
    bool unnamed = false;
    std::string event = words[1];
    for (size_t i = 2; i < words.size(); ++i) {
      const bool address = words[i].starts_with("0x");
      const auto name = names.find(words[i]);
      unnamed |= address && name == names.end();
      event += " " + (address && name != names.end() ? name->second : words[i]);
    }
    if (!unnamed) events[words[0]].push_back(event);
  }
  return events;
}

std::string text_of(const Events& events) {
  std::string text;
  for (const auto& [thread, lines] : events)
    for (const std::string& line : lines) text += thread + " " + line + "\n";
  return text;
}

std::vector<std::string> all_cases() {
  return words_of(run({"intercept_cases", "--list"}, 1).text);
}

class Intercept : public testing::TestWithParam<std::string> {};

TEST_P(Intercept, MakesTheEventsThatItAnnounces) {
  const Output expected = run({"intercept_cases", "--expect", GetParam()}, 1);
  const Output seen = run({"intercept_cases", GetParam()}, 100);
  ASSERT_TRUE(WIFEXITED(seen.status)) << "status " << seen.status << "\n" << seen.text;
  EXPECT_EQ(WEXITSTATUS(seen.status), 0) << seen.text;
  EXPECT_FALSE(expected.text.empty());
  EXPECT_EQ(text_of(events_of(seen.text)), text_of(events_of(expected.text))) << seen.text;
}

// A finding changes the status, however the program ends; unwritten output is still written.
TEST(ExitCode, ReplacesTheProgramsOwn) {
  setenv("DEADHEAT_LOG_EXIT", "66", 1);
  for (const char* const way : {"return", "exit", "_exit", "quick_exit", "pthread_exit"}) {
    const Output ended = run({"intercept_cases", "--end", way}, 1);
    ASSERT_TRUE(WIFEXITED(ended.status)) << way;
    EXPECT_EQ(WEXITSTATUS(ended.status), 66) << way;
    const std::string lost = way[0] == '_' || way[0] == 'q' ? "" : "buffered\n";
    EXPECT_EQ(ended.text, lost) << way;
  }
  unsetenv("DEADHEAT_LOG_EXIT");
  EXPECT_EQ(WEXITSTATUS(run({"intercept_cases", "--end", "exit"}, 1).status), 3);
}

INSTANTIATE_TEST_SUITE_P(Cases, Intercept, testing::ValuesIn(all_cases()),
                         [](const auto& one) { return one.param; });

}  // namespace

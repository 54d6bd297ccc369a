// What oneTBB orders, shape by shape (the first argument). With a second argument the tasks of a
// shape also count in a plain variable that they share without a lock.
#include <oneapi/tbb.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <thread>
#include <vector>

namespace {

constexpr int kCount = 2000;
long shared_counter;
bool racy;
std::atomic<int> meeting;

// The first task that comes here waits for a second, which a second thread must bring: within ten
// seconds on the busiest machine. Relaxed: it orders nothing.
void meet() {
  meeting.fetch_add(1, std::memory_order_relaxed);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (meeting.load(std::memory_order_relaxed) < 2 && std::chrono::steady_clock::now() < deadline)
    std::this_thread::yield();
}

void race() {
  if (!racy) return;
  meet();
  ++shared_counter;  // RACE! with itself
}

long sum(const std::vector<long>& values) {
  long all = 0;
  for (const long value : values) all += value;
  return all;
}

long loop() {
  std::vector<long> values(kCount);
  tbb::parallel_for(0, kCount, [&](int i) {
    if (i % (kCount / 4) == 0) race();
    values[i] = i;
  });
  tbb::parallel_for(tbb::blocked_range<int>(0, kCount), [&](const tbb::blocked_range<int>& range) {
    for (int i = range.begin(); i < range.end(); ++i) values[kCount - 1 - i] += 1;
  });
  return sum(values);
}

long reduce() {
  std::vector<long> values(kCount, 1);
  return tbb::parallel_reduce(
      tbb::blocked_range<int>(0, kCount), 0L,
      [&](const tbb::blocked_range<int>& range, long so_far) {
        if (range.begin() == 0 || range.end() == kCount) race();
        for (int i = range.begin(); i < range.end(); ++i) so_far += values[i];
        return so_far;
      },
      [](long a, long b) { return a + b; });
}

long groups() {
  std::vector<long> values(64);
  for (int round = 0; round < 20; ++round) {
    tbb::task_group group;
    for (long& value : values)
      group.run([&value, &values] {
        if (&value == &values[0] || &value == &values[63]) race();
        ++value;
      });
    group.wait();
    for (long& value : values) ++value;
  }
  return sum(values);
}

long nested() {
  std::vector<long> values(32 * 32);
  tbb::parallel_for(0, 32, [&](int row) {
    if (row == 0 || row == 31) race();
    tbb::parallel_for(0, 32, [&](int column) { values[row * 32 + column] = 1; });
    for (int column = 0; column < 32; ++column) ++values[row * 32 + column];
  });
  return sum(values);
}

long arena() {
  tbb::task_arena threads(4);
  long result = 0;
  threads.execute([&] {
    ++result;
    tbb::parallel_invoke([] { race(); }, [] { race(); });
    tbb::parallel_for(0, 100, [&](int) {});
    ++result;
  });
  ++result;
  long later = 0;
  tbb::task_group group;
  threads.execute([&] { group.run([&] { ++later; }); });
  threads.execute([&] { group.wait(); });
  return result + later;
}

long locks() {
  tbb::queuing_rw_mutex reader_writer;
  tbb::spin_mutex spin;
  tbb::queuing_mutex queuing;
  tbb::speculative_spin_mutex speculative;
  long a = 0, b = 0, c = 0, d = 0;
  tbb::parallel_for(0, 400, [&](int i) {
    if (i == 0 || i == 399) race();
    {
      tbb::queuing_rw_mutex::scoped_lock lock(reader_writer, i % 4 == 0);
      if (i % 4 == 0) ++a;
      if (a < 0) std::puts("never");
    }
    {
      tbb::spin_mutex::scoped_lock lock(spin);
      ++b;
    }
    {
      tbb::speculative_spin_mutex::scoped_lock lock(speculative);
      ++d;
    }
    tbb::queuing_mutex::scoped_lock lock(queuing);
    ++c;
  });
  return a + b + c + d;
}

long own() {  // what belongs to the thread, not to the task
  tbb::enumerable_thread_specific<long> each(0);
  tbb::combinable<long> other([] { return 0L; });
  tbb::parallel_for(0, kCount, [&](int i) {
    if (i == 0 || i == kCount - 1) race();
    ++each.local();
    ++other.local();
  });
  return each.combine([](long a, long b) { return a + b; }) +
         other.combine([](long a, long b) { return a + b; });
}

long containers() {
  tbb::concurrent_queue<long*> queue;
  tbb::concurrent_vector<long> grown;
  tbb::concurrent_hash_map<int, long> map;
  tbb::parallel_for(0, 200, [&](int i) {
    if (i == 0 || i == 199) race();
    queue.push(new long(i));
    long* got = nullptr;
    if (queue.try_pop(got)) {
      ++*got;
      delete got;
    }
    grown.push_back(i);
    tbb::concurrent_hash_map<int, long>::accessor at;
    map.insert(at, i % 10);
    ++at->second;
  });
  long left = 0;
  for (long* got = nullptr; queue.try_pop(got);) {
    ++left;
    delete got;
  }
  return left + static_cast<long>(grown.size()) + static_cast<long>(map.size());
}

long failure() {
  std::vector<long> values(kCount);
  try {
    tbb::parallel_for(0, kCount, [&](int i) {
      values[i] = 1;
      if (i == kCount / 2) throw std::runtime_error("stop");
    });
  } catch (const std::exception&) {
    for (long& value : values) ++value;
  }
  return sum(values);
}

long graph() {
  tbb::flow::graph nodes;
  long last = 0;
  tbb::flow::function_node<long, long> add(nodes, tbb::flow::unlimited, [](long value) {
    if (value == 0 || value == 99) race();
    return value + 1;
  });
  tbb::flow::function_node<long, long> collect(nodes, tbb::flow::serial,
                                               [&](long value) { return last += value; });
  tbb::flow::make_edge(add, collect);
  for (long i = 0; i < 100; ++i) add.try_put(i);
  nodes.wait_for_all();
  return last;
}

long pipeline() {
  long next = 0, all = 0;
  tbb::parallel_pipeline(4, tbb::make_filter<void, long>(tbb::filter_mode::serial_in_order,
                                                         [&](tbb::flow_control& control) {
                                                           if (next == 200) control.stop();
                                                           return next++;
                                                         }) &
                                tbb::make_filter<long, long>(tbb::filter_mode::parallel,
                                                             [](long value) { return value * 2; }) &
                                tbb::make_filter<long, void>(tbb::filter_mode::serial_in_order,
                                                             [&](long value) { all += value; }));
  return all;
}

class Observer : public tbb::task_scheduler_observer {
 public:
  Observer() { observe(true); }
  ~Observer() override { observe(false); }
  void on_scheduler_entry(bool) override { entries.fetch_add(step, std::memory_order_relaxed); }
  int step = 1;
  std::atomic<int> entries{0};
};

long observer() {  // not modelled
  const Observer here;
  tbb::parallel_for(0, kCount, [](int) {});
  return here.step;
}

}  // namespace

int main(int count, char** arguments) {
  racy = count > 2;
  const struct {
    const char* name;
    long (*run)();
  } shapes[] = {{"loop", loop},       {"reduce", reduce},         {"groups", groups},
                {"nested", nested},   {"arena", arena},           {"locks", locks},
                {"own", own},         {"containers", containers}, {"graph", graph},
                {"failure", failure}, {"pipeline", pipeline},     {"observer", observer}};
  // As many threads as the shapes want, also where there are fewer processors.
  const tbb::global_control threads(tbb::global_control::max_allowed_parallelism, 4);
  for (const auto& shape : shapes)
    if (std::strcmp(shape.name, arguments[1]) == 0) std::printf("%ld\n", shape.run());
  return 0;
}

// A C++ thread pool: small tasks through a queue, results through futures.
// pool THREADS [ROUNDS]. Without a race.
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>
class Pool {
  std::mutex m;
  std::condition_variable c;
  std::deque<std::function<void()>> q;
  bool end = false;
  std::vector<std::thread> t;
  void run() {
    for (;;) {
      std::function<void()> f;
      {
        std::unique_lock<std::mutex> l(m);
        c.wait(l, [&] { return end || !q.empty(); });
        if (q.empty()) return;
        f = std::move(q.front());
        q.pop_front();
      }
      f();
    }
  }

 public:
  explicit Pool(int n) {
    for (int i = 0; i < n; i++) t.emplace_back([this] { run(); });
  }
  ~Pool() {
    {
      std::lock_guard<std::mutex> l(m);
      end = true;
    }
    c.notify_all();
    for (auto& x : t) x.join();
  }
  template <class F>
  auto submit(F f) {
    auto p = std::make_shared<std::packaged_task<decltype(f())()>>(std::move(f));
    auto r = p->get_future();
    {
      std::lock_guard<std::mutex> l(m);
      q.emplace_back([p] { (*p)(); });
    }
    c.notify_one();
    return r;
  }
};
int main(int argc, char** argv) {
  int threads = argc > 1 ? atoi(argv[1]) : 2, rounds = argc > 2 ? atoi(argv[2]) : 200;
  Pool pool(threads);
  long sum = 0;
  for (int r = 0; r < rounds; r++) {
    std::vector<std::future<long>> f;
    for (int i = 0; i < 50; i++)
      f.push_back(pool.submit([=] {
        std::vector<long> v(20);
        long s = 0;
        for (int k = 0; k < 20; k++) v[k] = k * i + r;
        for (long x : v) s += x;
        return s;
      }));
    for (auto& x : f) sum += x.get();
  }
  printf("%ld\n", sum);
}

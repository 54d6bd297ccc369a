// Real work on two leveldb databases from several threads, which checks what it reads, and a few
// planted races.
//
// Threads write, read, delete and iterate in key ranges of their own and read a shared range that
// never changes; the main thread compacts, takes properties and snapshots meanwhile. leveldb itself
// has no race that we know of, so statistics are kept here without any lock: lines that end in
// RACE! and a name. Two accesses of one name are a true race; bench/rdit/run counts the names.
//
// usage: driver FOLDER THREADS OPERATIONS. Exit: 0, or 1 if the databases gave a wrong answer.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "leveldb/cache.h"
#include "leveldb/comparator.h"
#include "leveldb/db.h"
#include "leveldb/filter_policy.h"
#include "leveldb/write_batch.h"

namespace {

constexpr int kDatabases = 2;
constexpr int kShared = 400;  // keys that every thread may read

long operations;             // bumped at every operation
long compares;               // bumped inside the library's calls of our comparator
size_t largest_value;        // read at every write, written when it grows
long written[kDatabases];    // between the threads of one database
long started, finished;      // written once by each thread
const char* first_database;  // set by the first thread
int report_every = 100;      // the main thread changes it while the others read it
std::atomic<bool> wrong{false};

class CountingComparator : public leveldb::Comparator {
 public:
  int Compare(const leveldb::Slice& a, const leveldb::Slice& b) const override {
    compares += 1;  // RACE! compares
    return a.compare(b);
  }
  const char* Name() const override { return "counting"; }
  void FindShortestSeparator(std::string*, const leveldb::Slice&) const override {}
  void FindShortSuccessor(std::string*) const override {}
};

void expect(bool good, const char* what, const std::string& key) {
  if (good) return;
  std::fprintf(stderr, "driver: %s is wrong at %s\n", what, key.c_str());
  wrong = true;
}

struct Database {
  std::string path;
  std::unique_ptr<leveldb::Cache> cache;
  std::unique_ptr<const leveldb::FilterPolicy> filter;
  std::unique_ptr<leveldb::DB> db;
};

std::string shared_key(int i) { return "shared" + std::to_string(i); }
std::string value_of(const std::string& key, int version) {
  return key + ":" + std::to_string(version) + std::string(static_cast<size_t>(version) % 700, 'x');
}

void open(Database& database, const CountingComparator& order) {
  leveldb::Options options;
  options.create_if_missing = true;
  options.comparator = &order;
  options.write_buffer_size = 64 << 10;
  options.max_file_size = 1 << 20;
  options.block_cache = database.cache.get();
  options.filter_policy = database.filter.get();
  leveldb::DB* db = nullptr;
  leveldb::DestroyDB(database.path, options);
  const leveldb::Status status = leveldb::DB::Open(options, database.path, &db);
  if (!status.ok()) {
    std::fprintf(stderr, "driver: %s\n", status.ToString().c_str());
    std::exit(1);
  }
  database.db.reset(db);
  for (int i = 0; i < kShared; ++i)
    db->Put(leveldb::WriteOptions(), shared_key(i), value_of(shared_key(i), i));
  db->CompactRange(nullptr, nullptr);
}

class Worker {
 public:
  Worker(Database& database, int index, int number)
      : db_(*database.db), index_(index), random_(static_cast<unsigned>(number) * 7919 + 1) {
    prefix_ = "thread" + std::to_string(number) + "/";
  }

  void run(int count) {
    started += 1;                                                    // RACE! started
    if (first_database == nullptr) first_database = kNames[index_];  // RACE! first_database
    for (int i = 0; i < count && !wrong; ++i) {
      step(i);
      operations += 1;  // RACE! operations
    }
    iterate();
    finished += 1;  // RACE! finished
  }

 private:
  static constexpr const char* kNames[kDatabases] = {"a", "b"};

  unsigned next() { return random_ = random_ * 1664525 + 1013904223, random_ >> 8; }

  void step(int i) {
    const std::string key = prefix_ + std::to_string(next() % 64);
    switch (next() % 8) {
      case 0:
      case 1:
      case 2:
        put(key, i);
        break;
      case 3:
        put_batch(i);
        break;
      case 4:
        remove(key);
        break;
      case 5:
        read_shared();
        break;
      default:
        get(key);
        break;
    }
    if (i % report_every == 0) iterate();  // RACE! report_every
  }

  void put(const std::string& key, int version) {
    const std::string value = value_of(key, version);
    if (value.size() > largest_value) largest_value = value.size();  // RACE! largest_value
    expect(db_.Put(leveldb::WriteOptions(), key, value).ok(), "put", key);
    mine_[key] = value;
    written[index_] += 1;  // RACE! written
  }

  void put_batch(int version) {
    leveldb::WriteBatch batch;
    for (int i = 0; i < 4; ++i) {
      const std::string key = prefix_ + std::to_string(next() % 64);
      mine_[key] = value_of(key, version + i);
      batch.Put(key, mine_[key]);
    }
    expect(db_.Write(leveldb::WriteOptions(), &batch).ok(), "batch", prefix_);
  }

  void remove(const std::string& key) {
    expect(db_.Delete(leveldb::WriteOptions(), key).ok(), "delete", key);
    mine_.erase(key);
  }

  void get(const std::string& key) {
    std::string value;
    const leveldb::Status status = db_.Get(leveldb::ReadOptions(), key, &value);
    const auto found = mine_.find(key);
    expect(found == mine_.end() ? status.IsNotFound() : status.ok() && value == found->second,
           "get", key);
  }

  void read_shared() {
    const int i = static_cast<int>(next() % kShared);
    std::string value;
    expect(db_.Get(leveldb::ReadOptions(), shared_key(i), &value).ok() &&
               value == value_of(shared_key(i), i),
           "shared", shared_key(i));
  }

  // The whole database, in order: all of its own keys, and the others' as they come.
  void iterate() {
    const std::unique_ptr<leveldb::Iterator> at(db_.NewIterator(leveldb::ReadOptions()));
    auto expected = mine_.begin();
    int shared = 0;
    for (at->SeekToFirst(); at->Valid(); at->Next()) {
      shared += at->key().starts_with("shared") ? 1 : 0;
      if (!at->key().starts_with(prefix_)) continue;
      if (expected == mine_.end()) break;
      expect(at->key() == expected->first && at->value() == expected->second, "iterator",
             expected->first);
      ++expected;
    }
    expect(expected == mine_.end() && shared == kShared && at->status().ok(), "end of iterator",
           prefix_);
  }

  leveldb::DB& db_;
  int index_;
  unsigned random_;
  std::string prefix_;
  std::map<std::string, std::string> mine_;
};

void disturb(Database* databases) {
  for (int i = 0; i < kDatabases; ++i) {
    leveldb::DB& db = *databases[i].db;
    const leveldb::Snapshot* const snapshot = db.GetSnapshot();
    db.CompactRange(nullptr, nullptr);
    std::string text;
    expect(db.GetProperty("leveldb.stats", &text), "property", "stats");
    leveldb::ReadOptions options;
    options.snapshot = snapshot;
    expect(db.Get(options, shared_key(1), &text).ok(), "snapshot", shared_key(1));
    db.ReleaseSnapshot(snapshot);
  }
  report_every = 50;  // RACE! report_every
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: driver FOLDER THREADS OPERATIONS\n");
    return 2;
  }
  const int threads = std::atoi(argv[2]);
  const int count = std::atoi(argv[3]);
  static const CountingComparator order;
  Database databases[kDatabases];
  for (int i = 0; i < kDatabases; ++i) {
    databases[i].path = std::string(argv[1]) + "/" + std::to_string(i);
    databases[i].cache.reset(leveldb::NewLRUCache(64 << 10));
    databases[i].filter.reset(leveldb::NewBloomFilterPolicy(10));
    open(databases[i], order);
  }
  std::vector<std::unique_ptr<Worker>> workers;
  for (int i = 0; i < threads; ++i)
    workers.push_back(std::make_unique<Worker>(databases[i % kDatabases], i % kDatabases, i));
  std::vector<std::thread> running;
  running.reserve(workers.size());
  for (auto& worker : workers) running.emplace_back([&worker, count] { worker->run(count); });
  disturb(databases);
  for (std::thread& thread : running) thread.join();
  const long compared = compares;  // RACE! compares
  std::printf("%ld operations, %ld compares, largest value %zu, written %ld and %ld, %ld of %ld\n",
              operations, compared, largest_value, written[0], written[1], finished, started);
  return wrong ? 1 : 0;
}

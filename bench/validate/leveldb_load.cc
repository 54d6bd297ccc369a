// leveldb_load FOLDER THREADS OPERATIONS: each thread writes and reads keys of its own and of
// others.
#include <leveldb/db.h>
#include <leveldb/write_batch.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  leveldb::Options options;
  options.create_if_missing = true;
  options.write_buffer_size = 1 << 20;
  leveldb::DB* db = nullptr;
  if (!leveldb::DB::Open(options, argv[1], &db).ok()) return 1;
  const int threads = std::atoi(argv[2]), operations = std::atoi(argv[3]);
  std::vector<std::thread> all;
  for (int thread = 0; thread < threads; ++thread)
    all.emplace_back([=] {
      unsigned long random = 88172645463325252UL + static_cast<unsigned long>(thread);
      std::string value(100, 'x'), found;
      for (int i = 0; i < operations; ++i) {
        random ^= random << 13, random ^= random >> 7, random ^= random << 17;
        const std::string key = std::to_string(random % 20000);
        if (i % 4 == 0)
          db->Put(leveldb::WriteOptions(), key, value);
        else
          db->Get(leveldb::ReadOptions(), key, &found);
      }
    });
  for (std::thread& one : all) one.join();
  delete db;
  std::puts("done");
  return 0;
}

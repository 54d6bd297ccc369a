// A load for SQLite: THREADS threads with a connection each on one file in WAL mode (readers,
// writers, checkpoints), and as many that share one connection in serialized mode, on a database in
// memory. ROUNDS transactions a thread. Exits with 1 on an error of SQLite, and if the sums do not
// add up at the end.
#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kMaxThreads = 64, kAccounts = 50 };

static const char* path;
static int rounds;
static sqlite3* shared;

static void check(sqlite3* db, int status, const char* what) {
  if (status == SQLITE_OK || status == SQLITE_DONE || status == SQLITE_ROW) return;
  fprintf(stderr, "sqlite_load: %s: %s\n", what, sqlite3_errmsg(db));
  exit(1);
}

static void execute(sqlite3* db, const char* sql) {
  check(db, sqlite3_exec(db, sql, NULL, NULL, NULL), sql);
}

static sqlite3* open_file(void) {
  sqlite3* db = NULL;
  check(db,
        sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
                        NULL),
        path);
  sqlite3_busy_timeout(db, 60000);
  execute(db, "pragma journal_mode=wal");
  execute(db, "pragma synchronous=off");
  execute(db, "pragma wal_autocheckpoint=40");
  return db;
}

static long long number(sqlite3* db, const char* sql) {
  sqlite3_stmt* statement = NULL;
  check(db, sqlite3_prepare_v2(db, sql, -1, &statement, NULL), sql);
  check(db, sqlite3_step(statement), sql);
  const long long value = sqlite3_column_int64(statement, 0);
  sqlite3_finalize(statement);
  return value;
}

static void expect_balance(sqlite3* db) {
  if (number(db, "select sum(balance) from account") == 100LL * kAccounts) return;
  fprintf(stderr, "sqlite_load: the balances do not add up\n");
  exit(1);
}

static void transfer(sqlite3* db, int round) {
  char sql[512];
  snprintf(
      sql, sizeof sql,
      "begin immediate; update account set balance=balance-1 where id=%d; update account set "
      "balance=balance+1 where id=%d; insert into entry(text) values(hex(randomblob(%d))); commit",
      round * 7 % kAccounts, round * 13 % kAccounts, 20 + round % 90);
  execute(db, sql);
}

static void* own_connection(void* argument) {
  const int me = (int)(long)argument;
  sqlite3* db = open_file();
  for (int round = 0; round < rounds; ++round) {
    if ((round + me) % 4 == 0) {
      transfer(db, round + me);
    } else {
      expect_balance(db);
      number(db, "select count(*) from entry where text like '%A0%' or text like '%77%'");
    }
  }
  check(db, sqlite3_close(db), "close");
  return NULL;
}

static void* shared_connection(void* argument) {
  const int me = (int)(long)argument;
  sqlite3_stmt* insert = NULL;
  check(shared,
        sqlite3_prepare_v2(shared, "insert into log(thread, round) values(?1, ?2)", -1, &insert,
                           NULL),
        "prepare");
  for (int round = 0; round < rounds * 4; ++round) {
    sqlite3_bind_int(insert, 1, me);
    sqlite3_bind_int(insert, 2, round);
    check(shared, sqlite3_step(insert), "insert");
    sqlite3_reset(insert);
    if (round % 10 == me) number(shared, "select count(distinct round) from log");
  }
  sqlite3_finalize(insert);
  return NULL;
}

int main(int argc, char** argv) {
  const int threads = argc == 4 ? atoi(argv[2]) : 0;
  if (threads < 1 || 2 * threads > kMaxThreads) {
    fprintf(stderr, "usage: sqlite_load FILE THREADS ROUNDS\n");
    return 2;
  }
  path = argv[1];
  rounds = atoi(argv[3]);
  sqlite3* db = open_file();
  execute(db, "drop table if exists account; drop table if exists entry");
  execute(db,
          "create table account(id integer primary key, balance); create table entry(id integer "
          "primary key, text)");
  execute(db, "create index by_text on entry(text)");
  for (int id = 0; id < kAccounts; ++id) {
    char sql[96];
    snprintf(sql, sizeof sql, "insert into account values(%d, 100)", id);
    execute(db, sql);
  }
  check(shared,
        sqlite3_open_v2(":memory:", &shared, SQLITE_OPEN_READWRITE | SQLITE_OPEN_FULLMUTEX, NULL),
        "memory");
  execute(shared, "create table log(thread, round)");

  pthread_t workers[kMaxThreads];
  for (int i = 0; i < 2 * threads; ++i) {
    pthread_create(&workers[i], NULL, i % 2 == 0 ? own_connection : shared_connection,
                   (void*)(long)(i / 2));
  }
  for (int i = 0; i < 2 * threads; ++i) pthread_join(workers[i], NULL);

  expect_balance(db);
  const int complete = number(shared, "select count(*) from log") == 4LL * rounds * threads;
  if (!complete) fprintf(stderr, "sqlite_load: rows are missing\n");
  sqlite3_close(shared);
  sqlite3_close(db);
  return complete ? 0 : 1;
}

// SQLite. Writers wait for each other (busy timeout) and take the write lock at the start of a
// transaction, so that no transaction fails in the middle because of another. A commit is on disk
// when it returns (synchronous=FULL): nothing acknowledged is lost.
#include <sqlite3.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdlib>
#include <map>

#include "lib/base/file.h"
#include "lib/hive/store/connection.h"

namespace deadheat::hive::store {
namespace {

constexpr int kBusyMs = 10'000;

class Sqlite : public Connection {
 public:
  explicit Sqlite(sqlite3* database) : database_(database) {}
  ~Sqlite() override {
    for (auto& [sql, statement] : statements_) sqlite3_finalize(statement);
    sqlite3_close_v2(database_);
  }

  Dialect dialect() const override { return Dialect::kSqlite; }

  Result<std::vector<Row>> run(const std::string& sql, const std::vector<Value>& values) override {
    sqlite3_stmt* statement = prepared(sql);
    if (statement == nullptr) return problem(sql);
    for (size_t i = 0; i < values.size(); ++i) bind(statement, i, values[i]);
    std::vector<Row> rows;
    int status = SQLITE_ROW;
    while ((status = sqlite3_step(statement)) == SQLITE_ROW) rows.push_back(row_of(statement));
    Error error;
    if (status != SQLITE_DONE) error = problem(sql);
    sqlite3_reset(statement);
    sqlite3_clear_bindings(statement);
    if (status != SQLITE_DONE) return error;
    return rows;
  }

  Status script(const std::string& sql) override {
    if (sqlite3_exec(database_, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK)
      return problem(sql);
    return Ok{};
  }

  // A consistent copy while others write; for the owner alone, as the database is.
  Status backup(const std::string& path) override {
    const mode_t old = ::umask(077);
    const auto done = run("VACUUM INTO $1", {path});
    ::umask(old);
    if (!done) return done.error();
    return Ok{};
  }

 private:
  // The statements are the store's own texts: a few dozen.
  sqlite3_stmt* prepared(const std::string& sql) {
    const auto known = statements_.find(sql);
    if (known != statements_.end()) return known->second;
    sqlite3_stmt* statement = nullptr;
    if (sqlite3_prepare_v2(database_, sql.c_str(), -1, &statement, nullptr) != SQLITE_OK)
      return nullptr;
    return statements_[sql] = statement;
  }

  static void bind(sqlite3_stmt* statement, size_t i, const Value& value) {
    const std::string name = "$" + std::to_string(i + 1);
    const int at = sqlite3_bind_parameter_index(statement, name.c_str());
    if (at == 0) return;
    if (const auto* number = std::get_if<int64_t>(&value)) {
      sqlite3_bind_int64(statement, at, *number);
    } else if (const auto* real = std::get_if<double>(&value)) {
      sqlite3_bind_double(statement, at, *real);
    } else if (const auto* text = std::get_if<std::string>(&value)) {
      sqlite3_bind_text(statement, at, text->c_str(), static_cast<int>(text->size()),
                        SQLITE_TRANSIENT);
    } else {
      sqlite3_bind_null(statement, at);
    }
  }

  static Row row_of(sqlite3_stmt* statement) {
    Row row;
    for (int i = 0; i < sqlite3_column_count(statement); ++i) {
      if (sqlite3_column_type(statement, i) == SQLITE_NULL) {
        row.cells.emplace_back();
        continue;
      }
      const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement, i));
      const auto size = static_cast<size_t>(sqlite3_column_bytes(statement, i));
      row.cells.emplace_back(std::string(text == nullptr ? "" : text, text == nullptr ? 0 : size));
    }
    return row;
  }

  Error problem(const std::string& sql) const {
    const int code = sqlite3_errcode(database_);
    std::string hint = "statement: " + sql.substr(0, 200);
    if (code == SQLITE_FULL) hint = "the disk is full: make room, nothing acknowledged was lost";
    if (code == SQLITE_NOTADB || code == SQLITE_CORRUPT)
      hint = "the file is no hive's database, or is damaged: `deadheat hive restore`";
    return {"the hive's database: " + std::string(sqlite3_errmsg(database_)), hint};
  }

  sqlite3* database_;
  std::map<std::string, sqlite3_stmt*> statements_;
};

}  // namespace

int64_t Row::number(size_t column) const {
  return cells[column] ? std::strtoll(cells[column]->c_str(), nullptr, 10) : 0;
}
double Row::real(size_t column) const {
  return cells[column] ? std::strtod(cells[column]->c_str(), nullptr) : 0;
}

Result<std::unique_ptr<Connection>> open_sqlite(const std::string& path, bool create) {
  sqlite3* database = nullptr;
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | (create ? SQLITE_OPEN_CREATE : 0);
  // Hashes of secrets and other people's findings: for the owner alone.
  const mode_t old = ::umask(077);
  const int status = sqlite3_open_v2(path.c_str(), &database, flags, nullptr);
  ::umask(old);
  auto connection = std::make_unique<Sqlite>(database);
  if (status != SQLITE_OK)
    return Error{"cannot open the hive's database " + path + ": " + sqlite3_errmsg(database),
                 create ? "" : "`deadheat hive init` makes one"};
  sqlite3_busy_timeout(database, kBusyMs);
  const Status set = connection->script(
      "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA foreign_keys=ON;"
      "PRAGMA temp_store=MEMORY; PRAGMA trusted_schema=OFF;");
  if (!set) return set.error();
  return std::unique_ptr<Connection>(std::move(connection));
}

}  // namespace deadheat::hive::store

// One connection to a database, limited to what the store needs: statements with numbered
// parameters ($1, $2, ...) and rows of text. The store's SQL works in both SQLite and PostgreSQL;
// features of only one are selected by dialect().
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "lib/base/result.h"

namespace deadheat::hive::store {

using Value = std::variant<std::monostate, int64_t, double, std::string>;

class Row {
 public:
  std::vector<std::optional<std::string>> cells;
  std::string text(size_t column) const { return cells[column].value_or(""); }
  bool null(size_t column) const { return !cells[column].has_value(); }
  int64_t number(size_t column) const;  // 0 where there is none
  double real(size_t column) const;
};

enum class Dialect : uint8_t { kSqlite, kPostgres };

class Connection {
 public:
  virtual ~Connection() = default;
  virtual Dialect dialect() const = 0;
  virtual Result<std::vector<Row>> run(const std::string& sql,
                                       const std::vector<Value>& values) = 0;
  // Several statements without parameters.
  virtual Status script(const std::string& sql) = 0;
  virtual Status backup(const std::string& path) = 0;
  // The last transaction failed only because of a conflicting one: it may be retried.
  virtual bool collided() const { return false; }
};

// `create`: make the file if there is none. ":memory:" is a database of its own.
Result<std::unique_ptr<Connection>> open_sqlite(const std::string& path, bool create);
Result<std::unique_ptr<Connection>> open_postgres(const std::string& url);
// postgresql://... or a file.
bool is_postgres(const std::string& where);
Result<std::unique_ptr<Connection>> open_connection(const std::string& where, bool create);

}  // namespace deadheat::hive::store

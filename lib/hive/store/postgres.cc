// PostgreSQL. Transactions are READ COMMITTED: the store locks the rows on which it
// decides (Statements::row_lock), and repeats the whole transaction if the server chose
// it as a deadlock victim. A lost connection fails its transaction; the next one
// reconnects.
#include <libpq-fe.h>

#include <cstdlib>
#include <cstring>
#include <map>

#include "lib/base/printable.h"
#include "lib/hive/store/connection.h"

namespace deadheat::hive::store {
namespace {

// Of PostgreSQL's catalogue; they never change.
constexpr Oid kBigint = 20, kText = 25, kDouble = 701;

struct ClearResult {
  void operator()(PGresult* result) const { PQclear(result); }
};
using Answer = std::unique_ptr<PGresult, ClearResult>;

// PostgreSQL takes neither a zero byte nor broken UTF-8 into a text (a line that was cut in the
// middle of a character); SQLite does. They become '?'.
std::string as_text(const std::string& text) {
  std::string safe;
  safe.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    uint32_t point = 0;
    const size_t size = decode_utf8(std::string_view(text).substr(at), point);
    if (size == 0 || point == 0) {
      safe += '?';
      ++at;
      continue;
    }
    safe.append(text, at, size);
    at += size;
  }
  return safe;
}

class Postgres : public Connection {
 public:
  explicit Postgres(std::string url) : url_(std::move(url)) {}
  ~Postgres() override { PQfinish(server_); }
  Postgres(const Postgres&) = delete;
  Postgres& operator=(const Postgres&) = delete;

  Dialect dialect() const override { return Dialect::kPostgres; }
  bool collided() const override { return collided_; }

  Status connect() {
    PQfinish(server_);
    prepared_.clear();
    const char* keys[] = {"connect_timeout",  "keepalives_idle", "tcp_user_timeout",
                          "application_name", "dbname",          nullptr};
    const char* values[] = {"10", "30", "30000", "deadheat hive", url_.c_str(), nullptr};
    server_ = PQconnectdbParams(keys, values, 1);
    if (PQstatus(server_) != CONNECTION_OK) return problem("");
    PQsetNoticeProcessor(server_, [](void*, const char*) {}, nullptr);
    // Nothing acknowledged is lost, whatever the server's default; no wait is unbounded. The
    // statements are few and find their rows by key: planning them anew each time, over all parts
    // of a table, would cost more than running them.
    return executed(
        "SET plan_cache_mode=force_generic_plan; SET synchronous_commit=on; SET "
        "lock_timeout='10s'; SET client_min_messages=error;"
        "SET idle_in_transaction_session_timeout='60s'");
  }

  Result<std::vector<Row>> run(const std::string& sql, const std::vector<Value>& values) override {
    if (const Status there = be_connected(); !there) return there.error();
    const auto name = prepare(sql, values);
    if (!name) return name.error();
    std::vector<std::string> texts(values.size());
    std::vector<const char*> pointers(values.size());
    for (size_t i = 0; i < values.size(); ++i) {
      if (std::holds_alternative<std::monostate>(values[i])) continue;
      texts[i] = text_of(values[i]);
      pointers[i] = texts[i].c_str();
    }
    const Answer answer(PQexecPrepared(server_, name.value().c_str(),
                                       static_cast<int>(values.size()), pointers.data(), nullptr,
                                       nullptr, 0));
    const ExecStatusType status = PQresultStatus(answer.get());
    if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) return problem(sql, answer.get());
    std::vector<Row> rows(static_cast<size_t>(PQntuples(answer.get())));
    for (size_t row = 0; row < rows.size(); ++row)
      for (int column = 0; column < PQnfields(answer.get()); ++column) {
        const int at = static_cast<int>(row);
        auto& cell = rows[row].cells.emplace_back();
        if (PQgetisnull(answer.get(), at, column) == 0)
          cell.emplace(PQgetvalue(answer.get(), at, column),
                       static_cast<size_t>(PQgetlength(answer.get(), at, column)));
      }
    return rows;
  }

  Status script(const std::string& sql) override {
    if (sql == "BEGIN") {
      collided_ = false;
      inside_ = false;
    }
    if (const Status there = be_connected(); !there) {
      if (sql == "ROLLBACK") inside_ = false;
      return there.error();
    }
    const Status done = executed(sql);
    if (sql == "BEGIN") inside_ = done.ok();
    if (sql == "COMMIT" || sql == "ROLLBACK") inside_ = false;
    return done;
  }

  Status backup(const std::string&) override {
    return Error{"this hive's database is PostgreSQL", "pg_dump copies it while it is used"};
  }

 private:
  // A transaction that lost its connection stays lost: half of it must not run on a new one.
  Status be_connected() {
    if (server_ != nullptr && PQstatus(server_) == CONNECTION_OK) return Ok{};
    if (inside_) return Error{"the connection to the hive's database was lost", "try again"};
    return connect();
  }

  Status executed(const std::string& sql) {
    const Answer answer(PQexec(server_, sql.c_str()));
    if (PQresultStatus(answer.get()) != PGRES_COMMAND_OK &&
        PQresultStatus(answer.get()) != PGRES_TUPLES_OK)
      return problem(sql, answer.get());
    // A failed transaction answers COMMIT with a rollback, and calls that a success.
    if (sql == "COMMIT" && std::strcmp(PQcmdStatus(answer.get()), "COMMIT") != 0)
      return Error{"the hive's database took the transaction back", "try again"};
    return Ok{};
  }

  static std::string text_of(const Value& value) {
    if (const auto* number = std::get_if<int64_t>(&value)) return std::to_string(*number);
    if (const auto* text = std::get_if<std::string>(&value)) return as_text(*text);
    char digits[32];
    std::snprintf(digits, sizeof digits, "%.17g", std::get<double>(value));
    return digits;
  }

  // By its text and the types of its values: the types are ours, not guessed from the place.
  Result<std::string> prepare(const std::string& sql, const std::vector<Value>& values) {
    std::vector<Oid> types;
    std::string key = sql;
    for (const Value& value : values) {
      types.push_back(std::holds_alternative<int64_t>(value)  ? kBigint
                      : std::holds_alternative<double>(value) ? kDouble
                                                              : kText);
      key += static_cast<char>('0' + value.index());
    }
    const auto known = prepared_.find(key);
    if (known != prepared_.end()) return known->second;
    std::string name = "s" + std::to_string(prepared_.size());
    const Answer answer(PQprepare(server_, name.c_str(), sql.c_str(),
                                  static_cast<int>(types.size()), types.data()));
    if (PQresultStatus(answer.get()) != PGRES_COMMAND_OK) return problem(sql, answer.get());
    prepared_.emplace(std::move(key), name);
    return name;
  }

  Error problem(const std::string& sql, const PGresult* answer = nullptr) {
    const char* state = answer == nullptr ? nullptr : PQresultErrorField(answer, PG_DIAG_SQLSTATE);
    if (state != nullptr) collided_ |= std::strncmp(state, "40", 2) == 0;
    std::string message = PQerrorMessage(server_);
    while (!message.empty() && message.back() == '\n') message.pop_back();
    return {"the hive's database: " + message,
            sql.empty() ? "is PostgreSQL running, and is this its address?"
                        : "statement: " + sql.substr(0, 200)};
  }

  std::string url_;
  PGconn* server_ = nullptr;
  std::map<std::string, std::string> prepared_;
  bool inside_ = false;    // a transaction
  bool collided_ = false;  // the last one was chosen to break a deadlock
};

}  // namespace

Result<std::unique_ptr<Connection>> open_postgres(const std::string& url) {
  auto connection = std::make_unique<Postgres>(url);
  if (const Status connected = connection->connect(); !connected) return connected.error();
  return std::unique_ptr<Connection>(std::move(connection));
}

}  // namespace deadheat::hive::store

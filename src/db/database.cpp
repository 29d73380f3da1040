// SPDX-License-Identifier: Apache-2.0
// The wrapper of SQLite's C interface.
#include "db/database.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <chrono>
#include <thread>

#include "base/check.h"

namespace szarena::db {
namespace {

constexpr int kBusyTimeoutMs = 10000;

Error MakeError(sqlite3* connection, int status, const std::string& what) {
  ErrorCode code = ErrorCode::kInternal;
  switch (status & 0xFF) {
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT:
      code = ErrorCode::kCorrupt;
      break;
    case SQLITE_FULL:
      code = ErrorCode::kCapacity;
      break;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      code = ErrorCode::kTimeout;
      break;
    case SQLITE_CANTOPEN:
    case SQLITE_IOERR:
    case SQLITE_PERM:
    case SQLITE_READONLY:
      code = ErrorCode::kIo;
      break;
    default:
      break;
  }
  const char* text = connection ? sqlite3_errmsg(connection) : sqlite3_errstr(status);
  return {code, fmt::format("{}: {}", what, text), {}};
}

}  // namespace

void Statement::Finalizer::operator()(sqlite3_stmt* statement) const {
  sqlite3_finalize(statement);
}

Result<void> Statement::Check(int status) const {
  if (status == SQLITE_OK || status == SQLITE_DONE || status == SQLITE_ROW) return {};
  return tl::unexpected(MakeError(
      sqlite3_db_handle(statement_.get()), status,
      fmt::format("database statement '{:.60}'", std::string_view(sqlite3_sql(statement_.get())))));
}

Result<void> Statement::Reset(size_t parameter_count) {
  SZARENA_CHECK(
      static_cast<size_t>(sqlite3_bind_parameter_count(statement_.get())) == parameter_count,
      "a statement gets exactly its parameters");
  sqlite3_reset(statement_.get());  // repeats the fault of the last Step, already reported
  return {};
}

Result<void> Statement::BindOne(int index, std::nullptr_t) {
  return Check(sqlite3_bind_null(statement_.get(), index));
}
Result<void> Statement::BindOne(int index, std::string_view text) {
  // An empty view may have a null pointer, which SQLite would bind as NULL.
  const char* data = text.data() ? text.data() : "";
  return Check(sqlite3_bind_text64(statement_.get(), index, data, text.size(), SQLITE_TRANSIENT,
                                   SQLITE_UTF8));
}
Result<void> Statement::BindOne(int index, double value) {
  return Check(sqlite3_bind_double(statement_.get(), index, value));
}
Result<void> Statement::BindInt(int index, int64_t value) {
  return Check(sqlite3_bind_int64(statement_.get(), index, value));
}

Result<bool> Statement::Step() {
  const int status = sqlite3_step(statement_.get());
  SZARENA_TRY_VOID(Check(status));
  return status == SQLITE_ROW;
}

Result<void> Statement::Run() {
  SZARENA_TRY(const bool row, Step());
  SZARENA_CHECK(!row, "Run is for statements without rows");
  sqlite3_reset(statement_.get());
  return {};
}

bool Statement::IsNull(int column) const {
  return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL;
}
int64_t Statement::Int(int column) const { return sqlite3_column_int64(statement_.get(), column); }
double Statement::Real(int column) const { return sqlite3_column_double(statement_.get(), column); }
std::string Statement::Text(int column) const {
  const auto* text = static_cast<const char*>(sqlite3_column_blob(statement_.get(), column));
  const int size = sqlite3_column_bytes(statement_.get(), column);
  return text ? std::string(text, static_cast<size_t>(size)) : std::string();
}
std::optional<int64_t> Statement::OptionalInt(int column) const {
  return IsNull(column) ? std::nullopt : std::optional(Int(column));
}
std::optional<double> Statement::OptionalReal(int column) const {
  return IsNull(column) ? std::nullopt : std::optional(Real(column));
}
std::optional<std::string> Statement::OptionalText(int column) const {
  return IsNull(column) ? std::nullopt : std::optional(Text(column));
}

namespace {

// SQLite does not wait for another process that is switching the same new file to WAL.
Result<void> UseWal(Database& database) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(kBusyTimeoutMs);
  for (;;) {
    SZARENA_TRY(Statement journal, database.Prepare("PRAGMA journal_mode = WAL"));
    const auto row = journal.Step();
    if (row) return {};
    if (row.error().code != ErrorCode::kTimeout || std::chrono::steady_clock::now() >= until) {
      return tl::unexpected(row.error());
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

}  // namespace

void Database::Closer::operator()(sqlite3* connection) const { sqlite3_close_v2(connection); }

Result<Database> Database::Open(const std::string& path, OpenMode mode) {
  int flags = mode == OpenMode::kReadOnly ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE;
  if (mode == OpenMode::kCreate) flags |= SQLITE_OPEN_CREATE;
  sqlite3* raw = nullptr;
  const int status = sqlite3_open_v2(path.c_str(), &raw, flags, nullptr);
  Database database(raw, path);
  const std::string what = fmt::format("cannot open database '{}'", path);
  if (status != SQLITE_OK) {
    Error error = MakeError(raw, status, what);
    if (status == SQLITE_CANTOPEN && mode != OpenMode::kCreate) error.code = ErrorCode::kNotFound;
    return tl::unexpected(std::move(error));
  }
  sqlite3_extended_result_codes(raw, 1);
  sqlite3_busy_timeout(raw, kBusyTimeoutMs);
  // SQLite reads the file only now; a foreign file is found here.
  auto readable = database.UserVersion();
  if (!readable)
    return tl::unexpected(Error{readable.error().code, what + ": " + readable.error().message, {}});
  SZARENA_TRY_VOID(database.Execute("PRAGMA foreign_keys = ON"));
  if (mode != OpenMode::kReadOnly) {
    SZARENA_TRY_VOID(UseWal(database));
    SZARENA_TRY_VOID(database.Execute("PRAGMA synchronous = NORMAL"));
  }
  return database;
}

Result<void> Database::Execute(const std::string& sql) {
  const int status = sqlite3_exec(connection_.get(), sql.c_str(), nullptr, nullptr, nullptr);
  if (status == SQLITE_OK) return {};
  return tl::unexpected(MakeError(connection_.get(), status, fmt::format("database '{}'", path_)));
}

Result<Statement> Database::Prepare(std::string_view sql) {
  sqlite3_stmt* statement = nullptr;
  const int status = sqlite3_prepare_v2(connection_.get(), sql.data(), static_cast<int>(sql.size()),
                                        &statement, nullptr);
  if (status == SQLITE_OK) return Statement(statement);
  return tl::unexpected(MakeError(connection_.get(), status, fmt::format("database '{}'", path_)));
}

int64_t Database::LastInsertId() const { return sqlite3_last_insert_rowid(connection_.get()); }

Result<int> Database::UserVersion() {
  SZARENA_TRY(Statement statement, Prepare("PRAGMA user_version"));
  SZARENA_TRY([[maybe_unused]] const bool row, statement.Step());
  return static_cast<int>(statement.Int(0));
}

Result<Transaction> Transaction::Begin(Database& database) {
  SZARENA_TRY_VOID(database.Execute("BEGIN IMMEDIATE"));
  return Transaction(database);
}

Transaction::Transaction(Transaction&& other) noexcept
    : database_(std::exchange(other.database_, nullptr)) {}

Transaction::~Transaction() {
  // A failed rollback means that SQLite has rolled back already.
  if (database_) static_cast<void>(database_->Execute("ROLLBACK"));
}

Result<void> Transaction::Commit() {
  SZARENA_TRY_VOID(database_->Execute("COMMIT"));
  database_ = nullptr;
  return {};
}

}  // namespace szarena::db

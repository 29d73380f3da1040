// SPDX-License-Identifier: Apache-2.0
// SQLite: a connection, prepared statements, transactions that roll back unless committed.
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"

struct sqlite3;
struct sqlite3_stmt;

namespace szarena::db {

// One prepared statement. Parameters are numbered from 1, columns from 0. Used by one thread.
class Statement {
 public:
  // Binds every parameter in order; the number must be that of the statement.
  template <typename... Args>
  Result<void> Bind(const Args&... args) {
    SZARENA_TRY_VOID(Reset(sizeof...(args)));
    int index = 0;
    Result<void> status;
    ((status = status ? BindOne(++index, args) : status), ...);
    return status;
  }

  // Advances to the next row; false after the last.
  Result<bool> Step();
  // Runs a statement that returns no rows.
  Result<void> Run();

  // Columns of the current row.
  bool IsNull(int column) const;
  int64_t Int(int column) const;
  double Real(int column) const;
  std::string Text(int column) const;
  std::optional<int64_t> OptionalInt(int column) const;
  std::optional<double> OptionalReal(int column) const;
  std::optional<std::string> OptionalText(int column) const;

 private:
  friend class Database;
  struct Finalizer {
    void operator()(sqlite3_stmt* statement) const;
  };
  explicit Statement(sqlite3_stmt* statement) : statement_(statement) {}

  Result<void> Reset(size_t parameter_count);
  Result<void> BindOne(int index, std::nullptr_t);
  Result<void> BindOne(int index, std::string_view text);
  Result<void> BindOne(int index, const char* text) {
    return BindOne(index, std::string_view(text));
  }
  Result<void> BindOne(int index, double value);
  template <std::integral T>
  Result<void> BindOne(int index, T value) {
    return BindInt(index, static_cast<int64_t>(value));
  }
  template <typename T>
  Result<void> BindOne(int index, const std::optional<T>& value) {
    return value ? BindOne(index, *value) : BindOne(index, nullptr);
  }
  Result<void> BindInt(int index, int64_t value);
  Result<void> Check(int status) const;

  std::unique_ptr<sqlite3_stmt, Finalizer> statement_;
};

enum class OpenMode : uint8_t { kReadOnly, kReadWrite, kCreate };

// A connection. WAL journal (a killed writer leaves a readable file), foreign keys on, waits up to
// 10 s for another writer. Movable; used by one thread at a time.
class Database {
 public:
  // `path` is a file, or ":memory:". A file that is not SQLite is kCorrupt, a missing one
  // kNotFound.
  static Result<Database> Open(const std::string& path, OpenMode mode);

  const std::string& path() const { return path_; }

  // Runs one or more statements without parameters.
  Result<void> Execute(const std::string& sql);
  Result<Statement> Prepare(std::string_view sql);
  // Prepares, binds and runs a statement that returns no rows.
  template <typename... Args>
  Result<void> Run(std::string_view sql, const Args&... args) {
    SZARENA_TRY(Statement statement, Prepare(sql));
    SZARENA_TRY_VOID(statement.Bind(args...));
    return statement.Run();
  }
  int64_t LastInsertId() const;

  // PRAGMA user_version: the schema's version, see migrate.h.
  Result<int> UserVersion();

 private:
  struct Closer {
    void operator()(sqlite3* connection) const;
  };
  Database(sqlite3* connection, std::string path)
      : connection_(connection), path_(std::move(path)) {}

  std::unique_ptr<sqlite3, Closer> connection_;
  std::string path_;
};

// BEGIN IMMEDIATE; rolls back in its destructor unless committed. The database must outlive it.
class Transaction {
 public:
  static Result<Transaction> Begin(Database& database);
  Transaction(Transaction&& other) noexcept;
  Transaction& operator=(Transaction&&) = delete;
  ~Transaction();
  Result<void> Commit();

 private:
  explicit Transaction(Database& database) : database_(&database) {}
  Database* database_;  // null once committed or moved from
};

}  // namespace szarena::db

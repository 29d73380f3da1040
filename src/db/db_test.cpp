// SPDX-License-Identifier: Apache-2.0
// Statements, transactions, migrations, foreign and newer files, a killed writer.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "db/database.h"
#include "db/migrate.h"

namespace szarena::db {
namespace {

class DbTest : public testing::Test {
 protected:
  DbTest() : folder_(testing::TempDir() + "/db_" + std::to_string(getpid())) {
    std::filesystem::create_directories(folder_);
  }
  ~DbTest() override { std::filesystem::remove_all(folder_); }
  std::string Path(const std::string& name) const { return folder_ + "/" + name; }
  std::string folder_;
};

Database Opened(const std::string& path, OpenMode mode = OpenMode::kCreate) {
  auto database = Database::Open(path, mode);
  EXPECT_TRUE(database) << database.error().ToString();
  return *std::move(database);
}

int64_t Count(Database& database) {
  auto statement = database.Prepare("SELECT count(*) FROM t");
  EXPECT_TRUE(statement && statement->Step());
  return statement->Int(0);
}

TEST_F(DbTest, ValuesComeBackAsTheyWent) {
  Database database = Opened(":memory:");
  ASSERT_TRUE(
      database.Execute("CREATE TABLE t (a INTEGER, b REAL, c TEXT, d TEXT, e REAL) STRICT"));
  const std::string nul("a\0b", 3);
  ASSERT_TRUE(database.Run("INSERT INTO t VALUES (?, ?, ?, ?, ?)", INT64_MIN, 0.1, nul,
                           std::string_view(), std::optional<double>()));
  auto statement = database.Prepare("SELECT * FROM t WHERE a = ?");
  ASSERT_TRUE(statement && statement->Bind(INT64_MIN));
  ASSERT_EQ(*statement->Step(), true);
  EXPECT_EQ(statement->Int(0), INT64_MIN);
  EXPECT_EQ(statement->Real(1), 0.1);
  EXPECT_EQ(statement->Text(2), nul);
  EXPECT_FALSE(statement->IsNull(3));
  EXPECT_EQ(statement->OptionalReal(4), std::nullopt);
  EXPECT_EQ(*statement->Step(), false);
  EXPECT_FALSE(database.Run("INSERT INTO t (a) VALUES ('text')"));  // STRICT
  EXPECT_FALSE(database.Prepare("SELEC"));
}

TEST_F(DbTest, TransactionRollsBackUnlessCommitted) {
  Database database = Opened(Path("t.sqlite"));
  ASSERT_TRUE(database.Execute("CREATE TABLE t (a INTEGER) STRICT"));
  {
    auto transaction = Transaction::Begin(database);
    ASSERT_TRUE(transaction && database.Run("INSERT INTO t VALUES (1)"));
  }
  EXPECT_EQ(Count(database), 0);
  {
    auto transaction = Transaction::Begin(database);
    ASSERT_TRUE(transaction && database.Run("INSERT INTO t VALUES (1)") && transaction->Commit());
  }
  EXPECT_EQ(Count(database), 1);
}

constexpr std::string_view kVersions[] = {
    "CREATE TABLE t (a INTEGER) STRICT; INSERT INTO t VALUES (7)",
    "ALTER TABLE t ADD COLUMN b TEXT"};

TEST_F(DbTest, MigratesOldDataAndRefusesNewerOnes) {
  const std::string path = Path("m.sqlite");
  {
    Database database = Opened(path);
    ASSERT_TRUE(Migrate(database, std::span(kVersions, 1)));
    EXPECT_EQ(*database.UserVersion(), 1);
  }
  Database database = Opened(path);
  ASSERT_TRUE(Migrate(database, kVersions));
  ASSERT_TRUE(Migrate(database, kVersions));  // nothing to do
  EXPECT_EQ(*database.UserVersion(), 2);
  EXPECT_EQ(Count(database), 1);
  EXPECT_TRUE(database.Run("UPDATE t SET b = 'x'"));
  const auto refused = Migrate(database, std::span(kVersions, 1));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(refused.error().message.find("schema version 2"), std::string::npos);
}

TEST_F(DbTest, FailedMigrationLeavesTheOldVersion) {
  const std::string path = Path("f.sqlite");
  Database database = Opened(path);
  ASSERT_TRUE(Migrate(database, std::span(kVersions, 1)));
  const std::string_view broken[] = {kVersions[0], "CREATE TABLE u (a INTEGER); NONSENSE"};
  EXPECT_FALSE(Migrate(database, broken));
  EXPECT_EQ(*database.UserVersion(), 1);
  EXPECT_FALSE(database.Prepare("SELECT * FROM u"));
}

TEST_F(DbTest, ForeignAndMissingFiles) {
  std::ofstream(Path("text")) << std::string(5000, 'x');
  EXPECT_EQ(Database::Open(Path("text"), OpenMode::kReadWrite).error().code, ErrorCode::kCorrupt);
  const auto missing = Database::Open(Path("none"), OpenMode::kReadOnly);
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
  EXPECT_NE(missing.error().message.find("none"), std::string::npos);
}

TEST_F(DbTest, KilledWriterLeavesWhatWasCommitted) {
  const std::string path = Path("k.sqlite");
  const pid_t child = fork();
  if (child == 0) {
    auto database = Database::Open(path, OpenMode::kCreate);
    if (!database || !database->Execute("CREATE TABLE t (a INTEGER) STRICT") ||
        !database->Run("INSERT INTO t VALUES (1)")) {
      _exit(1);
    }
    auto transaction = Transaction::Begin(*database);
    if (!transaction || !database->Run("INSERT INTO t VALUES (2)")) _exit(1);
    raise(SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  Database database = Opened(path, OpenMode::kReadOnly);
  EXPECT_EQ(Count(database), 1);
}

}  // namespace
}  // namespace szarena::db

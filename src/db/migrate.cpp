// SPDX-License-Identifier: Apache-2.0
// Applies the migrations that a database lacks.
#include "db/migrate.h"

#include <fmt/format.h>

namespace szarena::db {
namespace {

Result<void> RefuseNewer(const Database& database, int version, size_t known) {
  if (version >= 0 && static_cast<size_t>(version) <= known) return {};
  return Fail(
      ErrorCode::kInvalidArgument,
      fmt::format("'{}' has schema version {}, this program knows versions up to {}: use the "
                  "szarena that wrote it, or a newer one",
                  database.path(), version, known));
}

}  // namespace

Result<void> Migrate(Database& database, std::span<const std::string_view> migrations) {
  SZARENA_TRY(int version, database.UserVersion());
  SZARENA_TRY_VOID(RefuseNewer(database, version, migrations.size()));
  if (static_cast<size_t>(version) == migrations.size()) return {};
  SZARENA_TRY(Transaction transaction, Transaction::Begin(database));
  SZARENA_TRY(version, database.UserVersion());  // another process may have been first
  SZARENA_TRY_VOID(RefuseNewer(database, version, migrations.size()));
  for (size_t i = static_cast<size_t>(version); i < migrations.size(); ++i) {
    SZARENA_TRY_VOID(database.Execute(std::string(migrations[i])));
  }
  SZARENA_TRY_VOID(database.Execute(fmt::format("PRAGMA user_version = {}", migrations.size())));
  return transaction.Commit();
}

}  // namespace szarena::db

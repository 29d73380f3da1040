// SPDX-License-Identifier: Apache-2.0
// Schema versions: a database carries the number of migrations applied to it in user_version.
#pragma once

#include <span>
#include <string_view>

#include "db/database.h"

namespace szarena::db {

// Brings `database` to version migrations.size(): migration i (SQL text) leads from version i to
// i + 1, all in one transaction. A database of a newer version is refused (kInvalidArgument)
// and left untouched. Published migrations never change; a new one is appended.
Result<void> Migrate(Database& database, std::span<const std::string_view> migrations);

}  // namespace szarena::db

// SPDX-License-Identifier: Apache-2.0
// The tables of the results file.
#pragma once

#include <span>
#include <string_view>

namespace szarena::store {

// Migration i leads from schema version i to i + 1 (db/migrate.h).
std::span<const std::string_view> Migrations();

}  // namespace szarena::store

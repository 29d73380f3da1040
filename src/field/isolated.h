// SPDX-License-Identifier: Apache-2.0
// Runs a reader in a process of its own: HDF5 and netCDF crash or loop on some malformed files.
#pragma once

#include <functional>
#include <string>

#include "field/field.h"

namespace szarena::field {

// What `read` gives, made in a forked child that has `cpu_seconds` of processor time. A child that
// crashes or runs out of time becomes a kCorrupt error that names `path`. Readers run one at a time
// (HDF5 and netCDF are not thread-safe as Debian builds them).
Result<Field> ReadIsolated(const std::string& path, unsigned cpu_seconds,
                           const std::function<Result<Field>()>& read);

}  // namespace szarena::field

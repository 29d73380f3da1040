// SPDX-License-Identifier: Apache-2.0
// A program as bytes and as a file (out/program.szcsl): versioned, checksummed, refused where
// corrupt.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "bytecode/program.h"

namespace szarena::bytecode {

inline constexpr uint32_t kImageVersion = 3;

std::vector<uint8_t> ToBytes(const Program& program);
// Fails with kCorrupt; a program that loads has also passed Verify().
Result<Program> FromBytes(std::span<const uint8_t> bytes);

// Writes to a temporary name beside `path`, then renames.
Result<void> SaveImage(const Program& program, const std::string& path);
Result<Program> LoadImage(const std::string& path);

}  // namespace szarena::bytecode

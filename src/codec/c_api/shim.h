// SPDX-License-Identifier: Apache-2.0
// What the C functions share: contexts, status codes, guards against exceptions, size-first
// structs.
#pragma once

#include <algorithm>
#include <cstring>
#include <new>
#include <string>

#include "base/error.h"
#include "codec/c_api/szarena_codec.h"
#include "codec/core/dtype.h"

struct szac_context {
  std::string message;
};

namespace szarena::codec::c_api {

szac_status StatusOf(ErrorCode code);

// Runs body, a function that returns a Result, keeps its message in the context and returns the
// status.
template <typename Body>
szac_status Guard(szac_context* context, Body&& body) noexcept {
  try {
    if (context != nullptr) context->message.clear();
    const auto result = body();
    if (result) return SZAC_OK;
    if (context != nullptr) context->message = result.error().ToString();
    return StatusOf(result.error().code);
  } catch (const std::bad_alloc&) {
    return SZAC_OUT_OF_MEMORY;
  } catch (...) {
    return SZAC_INTERNAL;
  }
}

// A struct that a program of any version filled in: what it does not know keeps `defaults`.
template <typename Struct>
Result<Struct> ReadStruct(const Struct* from, const Struct& defaults, const char* name) {
  Struct filled = defaults;
  size_t size = 0;
  if (from != nullptr) std::memcpy(&size, from, sizeof size);
  if (size < sizeof size) {
    return Fail(ErrorCode::kInvalidArgument,
                std::string("'") + name + "' is missing or was not set up by its _init function");
  }
  std::memcpy(&filled, from, std::min(size, sizeof filled));
  filled.size = sizeof filled;
  return filled;
}

// Writes as much of `from` as the program's struct can hold; its size field stays.
template <typename Struct>
Result<void> WriteStruct(const Struct& from, Struct* to, const char* name) {
  size_t size = 0;
  if (to != nullptr) std::memcpy(&size, to, sizeof size);
  if (size < sizeof size) {
    return Fail(ErrorCode::kInvalidArgument,
                std::string("'") + name + "' is missing or was not set up by its _init function");
  }
  std::memcpy(reinterpret_cast<char*>(to) + sizeof size,
              reinterpret_cast<const char*>(&from) + sizeof size,
              std::min(size, sizeof from) - sizeof size);
  return {};
}

Result<DType> CheckDType(uint32_t dtype);
// The array's size in bytes must be addressable; its pointer may be null only where it is empty.
Result<void> CheckArray(const void* values, uint64_t count, DType dtype);
// Refuses an unknown codec or a mode that the codec does not have.
Result<void> CheckCodecAndMode(uint32_t codec, uint32_t mode);

// Refuses a null pointer where bytes are expected.
inline Result<void> CheckPointer(const void* pointer, uint64_t bytes, const char* name) {
  if (pointer != nullptr || bytes == 0) return {};
  return Fail(ErrorCode::kInvalidArgument, std::string("'") + name + "' is null");
}

}  // namespace szarena::codec::c_api

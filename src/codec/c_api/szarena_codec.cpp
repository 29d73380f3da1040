// SPDX-License-Identifier: Apache-2.0
// Bare payloads through the C interface.
#include "codec/c_api/szarena_codec.h"

#include <fmt/format.h>

#include <cmath>

#include "codec/c_api/shim.h"
#include "codec/core/bound.h"
#include "codec/szp/szp.h"
#include "codec/szx/szx.h"

namespace szarena::codec::c_api {

szac_status StatusOf(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
    case ErrorCode::kNotFound:
      return SZAC_INVALID_ARGUMENT;
    case ErrorCode::kCorrupt:
      return SZAC_CORRUPT;
    case ErrorCode::kCapacity:
      return SZAC_CAPACITY;
    case ErrorCode::kUnavailable:
    case ErrorCode::kTimeout:
    case ErrorCode::kCancelled:
    case ErrorCode::kIo:
    case ErrorCode::kInternal:
      return SZAC_INTERNAL;
  }
  return SZAC_INTERNAL;
}

Result<DType> CheckDType(uint32_t dtype) {
  if (dtype == SZAC_F32) return DType::kF32;
  if (dtype == SZAC_F64) return DType::kF64;
  return Fail(ErrorCode::kInvalidArgument,
              fmt::format("element type '{}' is unknown, expected 0 (f32) or 1 (f64)", dtype));
}

Result<void> CheckArray(const void* values, uint64_t count, DType dtype) {
  SZARENA_TRY_VOID(CheckPointer(values, count, "values"));
  if (count > SIZE_MAX / SizeOf(dtype)) {
    return Fail(ErrorCode::kCapacity, fmt::format("'{}' elements exceed the address space", count));
  }
  return {};
}

Result<void> CheckCodecAndMode(uint32_t codec, uint32_t mode) {
  if (codec != SZAC_SZP && codec != SZAC_SZX) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("codec '{}' is unknown, expected 1 (SZp) or 2 (SZx)", codec));
  }
  const uint32_t modes = codec == SZAC_SZP ? 3 : 2;
  if (mode >= modes) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("mode '{}' is unknown, expected less than {}", mode, modes));
  }
  return {};
}

namespace {

struct Checked {
  szac_params raw;
  DType dtype;
  szp::Params szp() const {
    return {.eb = raw.eb,
            .mode = static_cast<szp::Mode>(raw.mode),
            .padding_blocks = raw.padding_blocks};
  }
  szx::Params szx() const { return {.eb = raw.eb, .mode = static_cast<szx::Mode>(raw.mode)}; }
  bool is_szp() const { return raw.codec == SZAC_SZP; }
};

szac_params Defaults() {
  return {.size = sizeof(szac_params),
          .codec = 0,
          .dtype = 0,
          .mode = 0,
          .threads = 1,
          .eb = 0,
          .padding_blocks = 1024};
}

Result<Checked> Check(const szac_params* params) {
  Checked checked{};
  SZARENA_TRY(checked.raw, ReadStruct(params, Defaults(), "params"));
  SZARENA_TRY(checked.dtype, CheckDType(checked.raw.dtype));
  SZARENA_TRY_VOID(CheckCodecAndMode(checked.raw.codec, checked.raw.mode));
  if (!(checked.raw.eb >= 0) || std::isinf(checked.raw.eb)) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("bound '{}' has no meaning, expected a finite number from 0 up",
                            checked.raw.eb));
  }
  return checked;
}

std::span<const std::byte> View(const void* payload, uint64_t size) {
  return {static_cast<const std::byte*>(payload), size};
}

Result<szac_payload_info> InspectPayload(const Checked& p, std::span<const std::byte> payload,
                                         uint64_t count) {
  szac_payload_info info{};
  info.size = sizeof info;
  if (p.is_szp()) {
    SZARENA_TRY(const szp::Info found, szp::Inspect(payload, count, p.dtype, p.szp()));
    info.block_values = 32;
    info.blocks = found.blocks;
    info.raw_blocks = found.raw_blocks;
    info.empty_blocks = found.zero_blocks;
    info.outlier_blocks = found.outlier_blocks;
    info.table_bytes = found.rate_bytes;
    return info;
  }
  SZARENA_TRY(const szx::Info found, szx::Inspect(payload, count, p.dtype));
  info.block_values = found.block_values;
  info.blocks = found.blocks;
  info.raw_blocks = found.full_blocks;
  info.empty_blocks = found.constant_blocks;
  info.table_bytes = found.table_bytes;
  return info;
}

}  // namespace
}  // namespace szarena::codec::c_api

using namespace szarena;  // NOLINT(google-build-using-namespace): the shim's only users are below
using namespace szarena::codec;         // NOLINT(google-build-using-namespace)
using namespace szarena::codec::c_api;  // NOLINT(google-build-using-namespace)

extern "C" {

const char* szac_status_name(szac_status status) {
  switch (status) {
    case SZAC_OK:
      return "ok";
    case SZAC_INVALID_ARGUMENT:
      return "invalid-argument";
    case SZAC_CORRUPT:
      return "corrupt";
    case SZAC_CAPACITY:
      return "capacity";
    case SZAC_OUT_OF_MEMORY:
      return "out-of-memory";
    case SZAC_INTERNAL:
      return "internal";
  }
  return "unknown";
}

szac_context* szac_context_create(void) { return new (std::nothrow) szac_context; }

void szac_context_destroy(szac_context* context) { delete context; }

const char* szac_message(const szac_context* context) {
  return context == nullptr ? "" : context->message.c_str();
}

szac_status szac_params_init(szac_context* context, szac_params* params, szac_codec codec,
                             szac_dtype dtype) {
  return Guard(context, [&]() -> Result<void> {
    SZARENA_TRY_VOID(CheckPointer(params, sizeof *params, "params"));
    szac_params filled = Defaults();
    filled.codec = static_cast<uint32_t>(codec);
    filled.dtype = static_cast<uint32_t>(dtype);
    filled.mode = codec == SZAC_SZX ? static_cast<uint32_t>(SZAC_SZX_RANDOM_ACCESS)
                                    : static_cast<uint32_t>(SZAC_SZP_OUTLIER);
    SZARENA_TRY_VOID(Check(&filled));
    *params = filled;
    return {};
  });
}

szac_status szac_max_payload_size(szac_context* context, const szac_params* params, uint64_t count,
                                  uint64_t* size) {
  return Guard(context, [&]() -> Result<void> {
    SZARENA_TRY_VOID(CheckPointer(size, sizeof *size, "size"));
    SZARENA_TRY(const Checked p, Check(params));
    SZARENA_TRY(*size, p.is_szp() ? szp::MaxPayloadSize(count, p.dtype, p.szp())
                                  : szx::MaxPayloadSize(count, p.dtype, p.szx()));
    return {};
  });
}

szac_status szac_compress(szac_context* context, const szac_params* params, const void* values,
                          uint64_t count, void* payload, uint64_t capacity, uint64_t* size) {
  return Guard(context, [&]() -> Result<void> {
    SZARENA_TRY(const Checked p, Check(params));
    SZARENA_TRY_VOID(CheckArray(values, count, p.dtype));
    SZARENA_TRY_VOID(CheckPointer(payload, capacity, "payload"));
    SZARENA_TRY_VOID(CheckPointer(size, sizeof *size, "size"));
    const ConstArray array{static_cast<const std::byte*>(values), count, p.dtype};
    const std::span<std::byte> out(static_cast<std::byte*>(payload), capacity);
    SZARENA_TRY(*size, p.is_szp() ? szp::Compress(array, p.szp(), out, p.raw.threads)
                                  : szx::Compress(array, p.szx(), out, p.raw.threads));
    return {};
  });
}

szac_status szac_decompress(szac_context* context, const szac_params* params, const void* payload,
                            uint64_t size, void* values, uint64_t count) {
  return Guard(context, [&]() -> Result<void> {
    SZARENA_TRY(const Checked p, Check(params));
    SZARENA_TRY_VOID(CheckArray(values, count, p.dtype));
    SZARENA_TRY_VOID(CheckPointer(payload, size, "payload"));
    const MutableArray array{static_cast<std::byte*>(values), count, p.dtype};
    return p.is_szp() ? szp::Decompress(View(payload, size), p.szp(), array, p.raw.threads)
                      : szx::Decompress(View(payload, size), array, p.raw.threads);
  });
}

szac_status szac_decompress_blocks(szac_context* context, const szac_params* params,
                                   const void* payload, uint64_t size, uint64_t count,
                                   uint64_t first_block, void* values, uint64_t value_count) {
  return Guard(context, [&]() -> Result<void> {
    SZARENA_TRY(const Checked p, Check(params));
    SZARENA_TRY_VOID(CheckArray(values, value_count, p.dtype));
    SZARENA_TRY_VOID(CheckPointer(payload, size, "payload"));
    const MutableArray array{static_cast<std::byte*>(values), value_count, p.dtype};
    return p.is_szp()
               ? szp::DecompressBlocks(View(payload, size), count, p.szp(), first_block, array)
               : szx::DecompressBlocks(View(payload, size), count, first_block, array);
  });
}

szac_status szac_payload_info_init(szac_context* context, szac_payload_info* info) {
  return Guard(context, [&]() -> Result<void> {
    SZARENA_TRY_VOID(CheckPointer(info, sizeof *info, "info"));
    *info = szac_payload_info{};
    info->size = sizeof *info;
    return {};
  });
}

szac_status szac_inspect(szac_context* context, const szac_params* params, const void* payload,
                         uint64_t size, uint64_t count, szac_payload_info* info) {
  return Guard(context, [&]() -> Result<void> {
    SZARENA_TRY(const Checked p, Check(params));
    SZARENA_TRY_VOID(CheckPointer(payload, size, "payload"));
    SZARENA_TRY(const szac_payload_info found, InspectPayload(p, View(payload, size), count));
    return WriteStruct(found, info, "info");
  });
}

szac_status szac_resolve_relative_bound(szac_context* context, szac_dtype dtype, const void* values,
                                        uint64_t count, double relative, const double* fill,
                                        uint32_t threads, double* eb) {
  return Guard(context, [&]() -> Result<void> {
    SZARENA_TRY(const DType type, CheckDType(static_cast<uint32_t>(dtype)));
    SZARENA_TRY_VOID(CheckArray(values, count, type));
    SZARENA_TRY_VOID(CheckPointer(eb, sizeof *eb, "eb"));
    SZARENA_TRY_VOID(CheckUserBound(relative, "relative bound"));
    const ConstArray array{static_cast<const std::byte*>(values), count, type};
    *eb = ResolveRelativeBound(
        relative, FindRange(array, fill == nullptr ? std::nullopt : std::optional(*fill), threads));
    return {};
  });
}

}  // extern "C"

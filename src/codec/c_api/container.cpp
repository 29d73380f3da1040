// SPDX-License-Identifier: Apache-2.0
// Containers through the C interface.
#include "codec/container/container.h"

#include <algorithm>
#include <bit>

#include "codec/c_api/shim.h"

namespace szarena::codec::c_api {
namespace {

szac_container_options DefaultOptions() {
  szac_container_options options{};
  options.size = sizeof options;
  options.threads = 1;
  options.rank = 1;
  options.dims[1] = options.dims[2] = 1;
  options.padding_blocks = 1024;
  return options;
}

struct Request {
  container::Options options;
  container::Dims dims;
  DType dtype = DType::kF32;
  uint64_t count = 0;
};

Result<Request> ReadRequest(const szac_container_options* given) {
  SZARENA_TRY(const szac_container_options raw, ReadStruct(given, DefaultOptions(), "options"));
  SZARENA_TRY_VOID(CheckCodecAndMode(raw.codec, raw.mode));
  Request request;
  SZARENA_TRY(request.dtype, CheckDType(raw.dtype));
  if (raw.bound_kind > SZAC_RELATIVE || raw.has_fill > 1) {
    return Fail(ErrorCode::kInvalidArgument, "'bound_kind' and 'has_fill' must be 0 or 1");
  }
  std::copy_n(raw.dims, 3, request.dims.extent.begin());
  request.dims.rank = raw.rank;
  const auto count = request.dims.Count();
  if (!count || raw.rank < 1 || raw.rank > 3) {
    return Fail(ErrorCode::kInvalidArgument,
                "rank is not 1 to 3, or the dims' product exceeds 64 bits");
  }
  request.count = *count;
  container::Options& options = request.options;
  options.codec = static_cast<container::Codec>(raw.codec);
  options.bound_kind = static_cast<container::BoundKind>(raw.bound_kind);
  options.bound = raw.bound;
  if (raw.codec == SZAC_SZP) {
    options.szp_mode = static_cast<szp::Mode>(raw.mode);
  } else {
    options.szx_mode = static_cast<szx::Mode>(raw.mode);
  }
  options.szp_padding_blocks = raw.padding_blocks;
  if (raw.has_fill != 0) options.fill = raw.fill;
  options.threads = raw.threads;
  return request;
}

szac_container_info InfoOf(const container::Header& header) {
  szac_container_info info{};
  info.size = sizeof info;
  info.codec = static_cast<uint32_t>(header.codec);
  info.dtype = static_cast<uint32_t>(header.dtype);
  info.mode = header.mode;
  info.rank = header.dims.rank;
  info.bound_kind = static_cast<uint32_t>(header.bound_kind);
  info.constant = header.constant;
  std::copy_n(header.dims.extent.begin(), 3, info.dims);
  info.count = header.count();
  info.bound = header.bound;
  info.eb = header.eb;
  info.payload_offset = header.payload_offset();
  info.payload_bytes = header.payload_bytes;
  info.padding_blocks = header.parameter;
  info.has_fill = header.fill.has_value();
  if (header.fill) {
    info.fill = header.dtype == DType::kF64
                    ? std::bit_cast<double>(*header.fill)
                    : std::bit_cast<float>(static_cast<uint32_t>(*header.fill));
  }
  return info;
}

}  // namespace
}  // namespace szarena::codec::c_api

using namespace szarena;  // NOLINT(google-build-using-namespace): the shim's only users are below
using namespace szarena::codec;         // NOLINT(google-build-using-namespace)
using namespace szarena::codec::c_api;  // NOLINT(google-build-using-namespace)

extern "C" {

szac_status szac_container_options_init(szac_context* context, szac_container_options* options,
                                        szac_codec codec, szac_dtype dtype) {
  return Guard(context, [&]() -> Result<void> {
    SZARENA_TRY_VOID(CheckPointer(options, sizeof *options, "options"));
    szac_container_options filled = DefaultOptions();
    filled.codec = static_cast<uint32_t>(codec);
    filled.dtype = static_cast<uint32_t>(dtype);
    filled.mode = codec == SZAC_SZX ? static_cast<uint32_t>(SZAC_SZX_RANDOM_ACCESS)
                                    : static_cast<uint32_t>(SZAC_SZP_OUTLIER);
    SZARENA_TRY_VOID(ReadRequest(&filled));
    *options = filled;
    return {};
  });
}

szac_status szac_container_max_size(szac_context* context, const szac_container_options* options,
                                    uint64_t* size) {
  return Guard(context, [&]() -> Result<void> {
    SZARENA_TRY_VOID(CheckPointer(size, sizeof *size, "size"));
    SZARENA_TRY(const Request request, ReadRequest(options));
    SZARENA_TRY(*size, container::MaxSize(request.count, request.dtype, request.options));
    return {};
  });
}

szac_status szac_container_compress(szac_context* context, const szac_container_options* options,
                                    const void* values, void* file, uint64_t capacity,
                                    uint64_t* size) {
  return Guard(context, [&]() -> Result<void> {
    SZARENA_TRY(const Request request, ReadRequest(options));
    SZARENA_TRY_VOID(CheckArray(values, request.count, request.dtype));
    SZARENA_TRY_VOID(CheckPointer(file, capacity, "file"));
    SZARENA_TRY_VOID(CheckPointer(size, sizeof *size, "size"));
    SZARENA_TRY(*size,
                container::Compress(
                    {static_cast<const std::byte*>(values), request.count, request.dtype},
                    request.dims, request.options, {static_cast<std::byte*>(file), capacity}));
    return {};
  });
}

szac_status szac_container_info_init(szac_context* context, szac_container_info* info) {
  return Guard(context, [&]() -> Result<void> {
    SZARENA_TRY_VOID(CheckPointer(info, sizeof *info, "info"));
    *info = szac_container_info{};
    info->size = sizeof *info;
    return {};
  });
}

szac_status szac_container_inspect(szac_context* context, const void* head, uint64_t head_bytes,
                                   uint64_t size, szac_container_info* info) {
  return Guard(context, [&]() -> Result<void> {
    SZARENA_TRY_VOID(CheckPointer(head, head_bytes, "head"));
    SZARENA_TRY(const container::Header header,
                container::ReadHeader({static_cast<const std::byte*>(head), head_bytes}, size));
    return WriteStruct(InfoOf(header), info, "info");
  });
}

szac_status szac_container_decompress(szac_context* context, const void* file, uint64_t size,
                                      szac_dtype dtype, void* values, uint64_t count,
                                      uint32_t threads) {
  return Guard(context, [&]() -> Result<void> {
    SZARENA_TRY_VOID(CheckPointer(file, size, "file"));
    SZARENA_TRY(const DType type, CheckDType(static_cast<uint32_t>(dtype)));
    SZARENA_TRY_VOID(CheckArray(values, count, type));
    return container::Decompress({static_cast<const std::byte*>(file), size},
                                 {static_cast<std::byte*>(values), count, type}, threads);
  });
}

}  // extern "C"

// SPDX-License-Identifier: Apache-2.0
// Whole containers in memory: an array with its shape and bound in, self-describing bytes out, and
// back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/error.h"
#include "codec/container/header.h"
#include "codec/container/payload_codec.h"
#include "codec/core/array.h"
#include "codec/szp/szp.h"
#include "codec/szx/szx.h"

namespace szarena::codec::container {

struct Options {
  Codec codec = Codec::kSzp;
  BoundKind bound_kind = BoundKind::kAbsolute;
  double bound = 0;  // finite and above 0; relative: times the range of the finite, non-fill values
  szp::Mode szp_mode = szp::Mode::kOutlier;
  uint32_t szp_padding_blocks = 1024;
  szx::Mode szx_mode = szx::Mode::kRandomAccess;
  std::optional<double> fill =
      {};                // elements with this value's bits are kept exactly and out of the range
  unsigned threads = 1;  // 0: one per processor; the bytes do not depend on it
  PayloadCodec* device = nullptr;  // codes the payload instead of the processor; the same bytes
};

// Exact size of the largest container of `count` elements with these options; refuses what does not
// fit 64 bits.
Result<uint64_t> MaxSize(uint64_t count, DType dtype, const Options& options);

// Writes a container to the front of `file` (MaxSize always suffices) and returns its size. A
// relative bound on a field whose values are all the same stores one value. Bytes of `file` behind
// the container may be overwritten.
Result<uint64_t> Compress(ConstArray values, const Dims& dims, const Options& options,
                          std::span<std::byte> file);

// Writes every element of `values`, whose type and count must be the header's. Checks both
// checksums first; safe on any bytes. On failure the content of `values` is unspecified.
// `device`: as in Options.
Result<void> Decompress(std::span<const std::byte> file, MutableArray values, unsigned threads = 1,
                        PayloadCodec* device = nullptr);

// The bare payload inside a container whose header is `header`.
std::span<const std::byte> PayloadOf(std::span<const std::byte> file, const Header& header);

// How many elements the payload of a container holds: all but the fill values.
Result<uint64_t> PayloadCount(std::span<const std::byte> file, const Header& header);

// The parameters of the payload's codec.
szp::Params SzpParams(const Header& header);
szx::Params SzxParams(const Header& header);

}  // namespace szarena::codec::container

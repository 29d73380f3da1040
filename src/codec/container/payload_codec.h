// SPDX-License-Identifier: Apache-2.0
// Who codes payloads where the processor does not: a device. Payloads are the same bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/error.h"
#include "codec/container/header.h"
#include "codec/core/array.h"

namespace szarena::codec::container {

class PayloadCodec {
 public:
  virtual ~PayloadCodec() = default;
  // Codec, mode, bound and parameter are the header's. The payload goes to the front of `payload`,
  // which has the room that the codec's MaxPayloadSize says; returns its size. kInvalidArgument
  // where the device does not write that mode.
  virtual Result<uint64_t> Compress(ConstArray values, const Header& header,
                                    std::span<std::byte> payload) = 0;
  // Writes every element of `values`; kCorrupt as the codec's Decompress.
  virtual Result<void> Decompress(std::span<const std::byte> payload, const Header& header,
                                  MutableArray values) = 0;
};

}  // namespace szarena::codec::container

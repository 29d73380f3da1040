// SPDX-License-Identifier: Apache-2.0
// The device's codecs for arrays in host memory. An array travels in chunks, so that the transfers
// of both directions and the work on the device overlap; payloads are those of codec/szp and
// codec/szx, byte for byte, whatever the chunk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/error.h"
#include "codec/core/array.h"
#include "codec/szp/szp.h"
#include "codec/szx/szx.h"

namespace szarena::codec::cuda {

// Host memory that the device reaches at the full speed of the link ("pinned"). Slow to allocate:
// keep it.
class PinnedBuffer {
 public:
  // kUnavailable where the driver gives none.
  static Result<PinnedBuffer> Allocate(std::uint64_t size);
  PinnedBuffer(PinnedBuffer&& other) noexcept;
  PinnedBuffer& operator=(PinnedBuffer&& other) noexcept;
  ~PinnedBuffer();
  std::byte* data() const { return data_; }
  std::uint64_t size() const { return size_; }

 private:
  PinnedBuffer(std::byte* data, std::uint64_t size) : data_(data), size_(size) {}
  std::byte* data_;
  std::uint64_t size_;
};

// Device memory and streams for one call at a time; allocated by the first call that needs them and
// kept. Arrays and payloads may be any host memory; where both are pinned, a call takes as long as
// the slower of its two transfers and little more.
class HostCodec {
 public:
  static constexpr std::uint64_t kChunkBytes = std::uint64_t{8} << 20;

  // `chunk_bytes` of values travel at a time (rounded to whole blocks, at least one). kUnavailable
  // where there is no device.
  static Result<HostCodec> Create(std::uint64_t chunk_bytes = kChunkBytes);
  HostCodec(HostCodec&&) noexcept;
  HostCodec& operator=(HostCodec&&) noexcept;
  ~HostCodec();

  // As szp::Compress: the payload at the front of `payload`, which needs szp::MaxPayloadSize bytes;
  // returns its size.
  Result<std::uint64_t> SzpCompress(ConstArray values, const szp::Params& params,
                                    std::span<std::byte> payload);
  // As szp::Decompress.
  Result<void> SzpDecompress(std::span<const std::byte> payload, const szp::Params& params,
                             MutableArray values);

  // As szx::CompressInPlace, random access only: the payload lies where the answer says; `buffer`
  // needs szx::RoomySize bytes.
  Result<szx::Placed> SzxCompress(ConstArray values, double eb, std::span<std::byte> buffer);
  // As szx::Decompress: either mode, any block size; a sequential payload travels in one piece,
  // and one of more than kMostSequentialBlocks blocks (szx_cuda.h) is kCapacity: the processor
  // reads it.
  Result<void> SzxDecompress(std::span<const std::byte> payload, MutableArray values);

 private:
  class Impl;
  explicit HostCodec(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace szarena::codec::cuda

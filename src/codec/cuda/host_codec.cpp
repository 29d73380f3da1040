// SPDX-License-Identifier: Apache-2.0
#include "codec/cuda/host_codec.h"

#include <cuda_runtime.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "codec/core/size.h"
#include "codec/cuda/szp_cuda.h"
#include "codec/cuda/szx_cuda.h"
#include "codec/szp/format.h"
#include "codec/szx/format.h"

namespace szarena::codec::cuda {
namespace {

Result<void> Checked(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return {};
  cudaGetLastError();  // an error that was reported is not reported again
  const bool missing = error == cudaErrorNoDevice || error == cudaErrorInsufficientDriver ||
                       error == cudaErrorMemoryAllocation;
  return Fail(missing ? ErrorCode::kUnavailable : ErrorCode::kInternal,
              fmt::format("CUDA: {}: {}", what, cudaGetErrorString(error)));
}

Result<void> Checked(LaunchStatus status, const char* what) {
  if (status == LaunchStatus::kOk) return {};
  const cudaError_t why = status == LaunchStatus::kLaunchFailed ? cudaGetLastError() : cudaSuccess;
  if (why != cudaSuccess) return Checked(why, what);
  return Fail(ErrorCode::kInternal,
              fmt::format("CUDA: {}: refused with status {}", what, static_cast<int>(status)));
}

// Device memory that grows and is kept.
class DeviceMemory {
 public:
  DeviceMemory() = default;
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  ~DeviceMemory() { cudaFree(data_); }
  Result<void> Reserve(std::uint64_t size) {
    if (size <= size_) return {};
    cudaFree(data_);
    data_ = nullptr;
    size_ = 0;
    SZARENA_TRY_VOID(Checked(cudaMalloc(&data_, size), "allocating device memory"));
    size_ = size;
    return {};
  }
  std::byte* data() const { return static_cast<std::byte*>(data_); }

 private:
  void* data_ = nullptr;
  std::uint64_t size_ = 0;
};

// One chunk on its way: a stream orders its steps, and those of the chunk that uses the slot next.
struct Slot {
  cudaStream_t stream = nullptr;
  cudaEvent_t done = nullptr;
  DeviceMemory values, payload, workspace, result;
  DeviceResult* fetched = nullptr;  // pinned
  std::byte* header = nullptr;      // pinned, 64 bytes

  Slot() = default;
  Slot(const Slot&) = delete;
  Slot& operator=(const Slot&) = delete;
  ~Slot() {
    cudaFreeHost(fetched);
    cudaFreeHost(header);
    if (done != nullptr) cudaEventDestroy(done);
    if (stream != nullptr) cudaStreamDestroy(stream);
  }
  Result<void> Open() {
    SZARENA_TRY_VOID(
        Checked(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "a stream"));
    SZARENA_TRY_VOID(Checked(cudaEventCreateWithFlags(&done, cudaEventDisableTiming), "an event"));
    SZARENA_TRY_VOID(Checked(cudaMallocHost(&fetched, sizeof *fetched), "pinned memory"));
    SZARENA_TRY_VOID(Checked(cudaMallocHost(&header, 64), "pinned memory"));
    return result.Reserve(sizeof(DeviceResult));
  }
  DeviceResult* device_result() const { return reinterpret_cast<DeviceResult*>(result.data()); }
  Result<void> ToDevice(std::byte* to, const std::byte* from, std::uint64_t size) {
    if (size == 0) return {};
    return Checked(cudaMemcpyAsync(to, from, size, cudaMemcpyHostToDevice, stream),
                   "copying to the device");
  }
  Result<void> ToHost(std::byte* to, const std::byte* from, std::uint64_t size) {
    if (size == 0) return {};
    return Checked(cudaMemcpyAsync(to, from, size, cudaMemcpyDeviceToHost, stream),
                   "copying from the device");
  }
  Result<void> Within(std::byte* to, const std::byte* from, std::uint64_t size) {
    if (size == 0) return {};
    return Checked(cudaMemcpyAsync(to, from, size, cudaMemcpyDeviceToDevice, stream),
                   "copying on the device");
  }
  // The result follows what is enqueued; Arrived waits for it.
  Result<void> FetchResult() {
    SZARENA_TRY_VOID(ToHost(reinterpret_cast<std::byte*>(fetched), result.data(), sizeof *fetched));
    return Checked(cudaEventRecord(done, stream), "an event");
  }
  Result<DeviceResult> Arrived() {
    SZARENA_TRY_VOID(Checked(cudaEventSynchronize(done), "waiting for the device"));
    return *fetched;
  }
};

Error Corrupt(std::string_view what) { return {ErrorCode::kCorrupt, std::string(what), {}}; }

}  // namespace

Result<PinnedBuffer> PinnedBuffer::Allocate(std::uint64_t size) {
  void* data = nullptr;
  SZARENA_TRY_VOID(
      Checked(cudaMallocHost(&data, std::max<std::uint64_t>(size, 1)), "pinned memory"));
  return PinnedBuffer(static_cast<std::byte*>(data), size);
}
PinnedBuffer::PinnedBuffer(PinnedBuffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
PinnedBuffer& PinnedBuffer::operator=(PinnedBuffer&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}
PinnedBuffer::~PinnedBuffer() { cudaFreeHost(data_); }

class HostCodec::Impl {
 public:
  // Enough that one chunk travels in, one is worked on, one travels out and one waits for the host.
  static constexpr std::size_t kSlots = 4;

  std::uint64_t chunk_bytes = kChunkBytes;
  std::array<Slot, kSlots> slots;
  DeviceMemory tables;  // of a whole SZx payload

  // Nothing of an earlier call may be under way when memory changes or a call returns.
  Result<void> Settle() {
    for (Slot& slot : slots)
      SZARENA_TRY_VOID(Checked(cudaStreamSynchronize(slot.stream), "waiting"));
    return {};
  }

  // Runs `start(slot, c)` and, in order and up to kSlots chunks later, `finish(slot, c)`. Chunk c +
  // kSlots starts only then.
  template <class Start, class Finish>
  Result<void> ForEachChunk(std::uint64_t chunks, Start&& start, Finish&& finish) {
    const auto run = [&]() -> Result<void> {
      for (std::uint64_t c = 0; c < chunks + kSlots; ++c) {
        if (c >= kSlots) SZARENA_TRY_VOID(finish(slots[c % kSlots], c - kSlots));
        if (c < chunks) SZARENA_TRY_VOID(start(slots[c % kSlots], c));
        if (c >= kSlots && c - kSlots + 1 == chunks) break;
      }
      return {};
    };
    const auto status = chunks == 0 ? Result<void>() : run();
    const auto settled = Settle();
    if (!status) return status;
    return settled;
  }

  Result<void> Reserve(std::uint64_t chunks, std::uint64_t values, std::uint64_t payload,
                       std::uint64_t workspace) {
    for (std::size_t s = 0; s < std::min<std::uint64_t>(kSlots, chunks); ++s) {
      SZARENA_TRY_VOID(slots[s].values.Reserve(values));
      SZARENA_TRY_VOID(slots[s].payload.Reserve(payload));
      SZARENA_TRY_VOID(slots[s].workspace.Reserve(workspace));
    }
    return {};
  }
};

HostCodec::HostCodec(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
HostCodec::HostCodec(HostCodec&&) noexcept = default;
HostCodec& HostCodec::operator=(HostCodec&&) noexcept = default;
HostCodec::~HostCodec() = default;

Result<HostCodec> HostCodec::Create(std::uint64_t chunk_bytes) {
  int devices = 0;
  const cudaError_t counted = cudaGetDeviceCount(&devices);
  if (counted != cudaSuccess || devices == 0) {
    cudaGetLastError();
    return Fail(ErrorCode::kUnavailable,
                fmt::format("there is no CUDA device here ({})",
                            counted != cudaSuccess ? cudaGetErrorString(counted) : "none found"));
  }
  {
    // Fails here, with a message, where the device cannot give any.
    SZARENA_TRY_VOID(PinnedBuffer::Allocate(0).map([](const PinnedBuffer&) {}));
  }
  auto impl = std::make_unique<Impl>();
  impl->chunk_bytes = chunk_bytes;
  for (Slot& slot : impl->slots) SZARENA_TRY_VOID(slot.Open());
  return HostCodec(std::move(impl));
}

Result<std::uint64_t> HostCodec::SzpCompress(ConstArray values, const szp::Params& params,
                                             std::span<std::byte> payload) {
  SZARENA_TRY_VOID(szp::CheckParams(params));
  SZARENA_TRY(const auto most, szp::MaxPayloadSize(values.count, values.dtype, params));
  SZARENA_TRY(const auto table_bytes, szp::RateTableBytes(values.count, params));
  if (payload.size() < most) {
    return Fail(ErrorCode::kCapacity,
                fmt::format("output buffer has {} bytes, SZp on the device needs {} for {} values",
                            payload.size(), most, values.count));
  }
  const std::uint64_t width = SizeOf(values.dtype);
  const std::uint64_t chunk = std::max<std::uint64_t>(impl_->chunk_bytes / width / 32, 1) * 32;
  const std::uint64_t chunks = CeilDiv(values.count, chunk);
  const std::uint64_t chunk_most = std::min(chunk, values.count);
  // A chunk is a stream of its own with an unpadded table.
  const szp::Params chunk_params{.eb = params.eb, .mode = params.mode, .padding_blocks = 1};
  SZARENA_TRY(const auto chunk_room, szp::MaxPayloadSize(chunk_most, values.dtype, chunk_params));
  const std::uint64_t workspace_bytes = SzpWorkspaceBytes(chunk_most, values.dtype, chunk_params);
  SZARENA_TRY_VOID(impl_->Reserve(chunks, chunk_most * width, chunk_room, workspace_bytes));
  const std::uint64_t blocks = szp::BlockCount(values.count);
  std::uint64_t at = table_bytes;
  const auto count_of = [&](std::uint64_t c) { return std::min(chunk, values.count - c * chunk); };
  const auto start = [&](Slot& slot, std::uint64_t c) -> Result<void> {
    const std::uint64_t count = count_of(c);
    SZARENA_TRY_VOID(
        slot.ToDevice(slot.values.data(), values.data + c * chunk * width, count * width));
    SZARENA_TRY_VOID(
        Checked(cuda::SzpCompress(slot.values.data(), count, values.dtype, chunk_params, 0,
                                  slot.payload.data(), chunk_room, slot.device_result(), nullptr,
                                  slot.workspace.data(), workspace_bytes, slot.stream),
                "SZp compression"));
    return slot.FetchResult();
  };
  const auto finish = [&](Slot& slot, std::uint64_t c) -> Result<void> {
    SZARENA_TRY(const DeviceResult result, slot.Arrived());
    const std::uint64_t table = szp::BlockCount(count_of(c));
    SZARENA_TRY_VOID(slot.ToHost(payload.data() + c * chunk / 32, slot.payload.data(), table));
    SZARENA_TRY_VOID(
        slot.ToHost(payload.data() + at, slot.payload.data() + table, result.size - table));
    at += result.size - table;
    return {};
  };
  SZARENA_TRY_VOID(impl_->ForEachChunk(chunks, start, finish));
  std::fill(payload.begin() + static_cast<std::ptrdiff_t>(blocks),
            payload.begin() + static_cast<std::ptrdiff_t>(table_bytes), std::byte{0});
  return at;
}

Result<void> HostCodec::SzpDecompress(std::span<const std::byte> payload, const szp::Params& params,
                                      MutableArray values) {
  SZARENA_TRY_VOID(szp::CheckParams(params));
  SZARENA_TRY(const auto table_bytes, szp::RateTableBytes(values.count, params));
  if (payload.size() < table_bytes || (values.count == 0 && !payload.empty())) {
    return tl::unexpected(
        Corrupt(fmt::format("SZp payload of {} bytes does not hold the {} rate bytes of {} values",
                            payload.size(), table_bytes, values.count)));
  }
  const std::uint64_t width = SizeOf(values.dtype);
  const std::uint64_t chunk = std::max<std::uint64_t>(impl_->chunk_bytes / width / 32, 1) * 32;
  const std::uint64_t chunks = CeilDiv(values.count, chunk);
  const std::uint64_t chunk_most = std::min(chunk, values.count);
  const szp::Params chunk_params{.eb = params.eb, .mode = params.mode, .padding_blocks = 1};
  const std::uint64_t chunk_room =
      szp::BlockCount(chunk_most) * (1 + szp::MaxBlockBytes(values.dtype, params.mode));
  const std::uint64_t workspace_bytes = SzpWorkspaceBytes(chunk_most, values.dtype, chunk_params);
  SZARENA_TRY_VOID(impl_->Reserve(chunks, chunk_most * width, chunk_room, workspace_bytes));
  const szp::SizeTable sizes = szp::MakeSizeTable(values.dtype, params.mode);
  const std::uint64_t blocks = szp::BlockCount(values.count);
  for (std::uint64_t b = blocks; b < table_bytes; ++b) {
    if (payload[b] != std::byte{0})
      return tl::unexpected(Corrupt("SZp payload has a rate byte behind the last block"));
  }
  std::uint64_t at = table_bytes;
  const auto count_of = [&](std::uint64_t c) { return std::min(chunk, values.count - c * chunk); };
  const auto start = [&](Slot& slot, std::uint64_t c) -> Result<void> {
    const std::uint64_t count = count_of(c);
    const std::uint64_t table = szp::BlockCount(count);
    const auto rates = payload.subspan(c * chunk / 32, table);
    std::uint64_t bytes = 0;
    bool valid = true;
    for (const std::byte rate : rates) {
      const std::uint16_t size = sizes[static_cast<std::uint8_t>(rate)];
      valid &= size != szp::kInvalidSize;
      bytes += size;
    }
    if (!valid || bytes > payload.size() - at) {
      return tl::unexpected(Corrupt(
          fmt::format("SZp payload of {} bytes disagrees with its rate bytes", payload.size())));
    }
    SZARENA_TRY_VOID(slot.ToDevice(slot.payload.data(), rates.data(), table));
    SZARENA_TRY_VOID(slot.ToDevice(slot.payload.data() + table, payload.data() + at, bytes));
    at += bytes;
    SZARENA_TRY_VOID(
        Checked(cuda::SzpDecompress(slot.payload.data(), table + bytes, count, values.dtype,
                                    chunk_params, slot.values.data(), slot.device_result(),
                                    slot.workspace.data(), workspace_bytes, slot.stream),
                "SZp decompression"));
    SZARENA_TRY_VOID(
        slot.ToHost(values.data + c * chunk * width, slot.values.data(), count * width));
    return slot.FetchResult();
  };
  const auto finish = [&](Slot& slot, std::uint64_t) -> Result<void> {
    SZARENA_TRY(const DeviceResult result, slot.Arrived());
    if (result.status != DeviceStatus::kOk)
      return tl::unexpected(Corrupt("SZp payload is damaged"));
    return {};
  };
  SZARENA_TRY_VOID(impl_->ForEachChunk(chunks, start, finish));
  if (at != payload.size()) {
    return tl::unexpected(
        Corrupt(fmt::format("SZp payload has {} bytes after its last block", payload.size() - at)));
  }
  return {};
}

Result<szx::Placed> HostCodec::SzxCompress(ConstArray values, double eb,
                                           std::span<std::byte> buffer) {
  using szx::Mode;
  SZARENA_TRY_VOID(szx::MakeBound<double>(eb).map([](const auto&) {}));
  SZARENA_TRY(const auto room, szx::RoomySize(values.count, values.dtype, {}));
  if (buffer.size() < room) {
    return Fail(ErrorCode::kCapacity,
                fmt::format("output buffer has {} bytes, SZx on the device needs {} for {} values",
                            buffer.size(), room, values.count));
  }
  const std::uint64_t width = SizeOf(values.dtype);
  // Whole bytes of state bits.
  constexpr std::uint64_t kStep = 8 * szx::kBlockValues;
  const std::uint64_t chunk =
      std::max<std::uint64_t>(impl_->chunk_bytes / width / kStep, 1) * kStep;
  const std::uint64_t chunks = CeilDiv(values.count, chunk);
  const std::uint64_t chunk_most = std::min(chunk, values.count);
  SZARENA_TRY(const auto chunk_room, szx::RoomySize(chunk_most, values.dtype, {}));
  const std::uint64_t workspace_bytes = SzxWorkspaceBytes(chunk_most, values.dtype);
  SZARENA_TRY_VOID(impl_->Reserve(chunks, chunk_most * width, chunk_room, workspace_bytes));
  const std::uint64_t blocks = szx::BlockCount(values.count);
  // Coded blocks go to their final places, behind room for the longest tables, which are those of
  // constant blocks; tables are gathered on the device.
  const std::uint64_t header = szx::HeaderBytes(Mode::kRandomAccess);
  const std::uint64_t coded_at = header + CeilDiv(blocks, 8) + width * blocks;
  SZARENA_TRY_VOID(impl_->tables.Reserve(CeilDiv(blocks, 8) + (2 + width) * blocks));
  std::byte* const sizes = impl_->tables.data();
  std::byte* const states = sizes + 2 * blocks;
  std::byte* const medians = states + CeilDiv(blocks, 8);
  std::uint64_t coded_blocks = 0;
  std::uint64_t done_blocks = 0;
  std::uint64_t at = coded_at;
  const auto count_of = [&](std::uint64_t c) { return std::min(chunk, values.count - c * chunk); };
  const auto start = [&](Slot& slot, std::uint64_t c) -> Result<void> {
    const std::uint64_t count = count_of(c);
    SZARENA_TRY_VOID(
        slot.ToDevice(slot.values.data(), values.data + c * chunk * width, count * width));
    SZARENA_TRY_VOID(
        Checked(cuda::SzxCompress(slot.values.data(), count, values.dtype, eb, 0,
                                  slot.payload.data(), chunk_room, slot.device_result(), nullptr,
                                  slot.workspace.data(), workspace_bytes, slot.stream),
                "SZx compression"));
    return slot.FetchResult();
  };
  const auto finish = [&](Slot& slot, std::uint64_t c) -> Result<void> {
    SZARENA_TRY(const DeviceResult result, slot.Arrived());
    const std::uint64_t in_chunk = szx::BlockCount(count_of(c));
    // A coded block has an entry of two bytes where a constant one has its median: so far the
    // payload starts later.
    const std::uint64_t coded = result.offset / (width - 2);
    const std::uint64_t constant = in_chunk - coded;
    const std::byte* from = slot.payload.data() + result.offset + header;
    SZARENA_TRY_VOID(slot.Within(sizes + 2 * coded_blocks, from, 2 * coded));
    from += 2 * coded;
    SZARENA_TRY_VOID(slot.Within(states + done_blocks / 8, from, CeilDiv(in_chunk, 8)));
    from += CeilDiv(in_chunk, 8);
    SZARENA_TRY_VOID(
        slot.Within(medians + width * (done_blocks - coded_blocks), from, width * constant));
    from += width * constant;
    const std::uint64_t bytes =
        static_cast<std::uint64_t>(slot.payload.data() + result.offset + result.size - from);
    SZARENA_TRY_VOID(slot.ToHost(buffer.data() + at, from, bytes));
    at += bytes;
    coded_blocks += coded;
    done_blocks += in_chunk;
    return {};
  };
  SZARENA_TRY_VOID(impl_->ForEachChunk(chunks, start, finish));
  const std::uint64_t constant = blocks - coded_blocks;
  const std::uint64_t offset =
      coded_at - (header + 2 * coded_blocks + CeilDiv(blocks, 8) + width * constant);
  std::byte* out = buffer.data() + offset;
  const szx::Header fields{.mode = Mode::kRandomAccess, .constant_blocks = constant};
  if (values.dtype == DType::kF32) {
    szx::WriteHeader<float>(fields, reinterpret_cast<std::uint8_t*>(out));
  } else {
    szx::WriteHeader<double>(fields, reinterpret_cast<std::uint8_t*>(out));
  }
  Slot& slot = impl_->slots[0];
  out += header;
  SZARENA_TRY_VOID(slot.ToHost(out, sizes, 2 * coded_blocks));
  out += 2 * coded_blocks;
  SZARENA_TRY_VOID(slot.ToHost(out, states, CeilDiv(blocks, 8)));
  out += CeilDiv(blocks, 8);
  SZARENA_TRY_VOID(slot.ToHost(out, medians, width * constant));
  SZARENA_TRY_VOID(impl_->Settle());
  return szx::Placed{offset, at - offset};
}

Result<void> HostCodec::SzxDecompress(std::span<const std::byte> payload, MutableArray values) {
  using szx::Mode;
  const bool f32 = values.dtype == DType::kF32;
  const szx::Bytes stream(reinterpret_cast<const std::uint8_t*>(payload.data()), payload.size());
  SZARENA_TRY(const szx::Parts parts, f32 ? szx::Split<float>(stream, values.count)
                                          : szx::Split<double>(stream, values.count));
  const std::uint64_t width = SizeOf(values.dtype);
  const std::uint64_t block_values = parts.header.block_values;
  const bool sequential = parts.header.mode == Mode::kSequential;
  if (sequential && CeilDiv(values.count, block_values) > kMostSequentialBlocks) {
    return Fail(ErrorCode::kCapacity,
                fmt::format("a sequential SZx stream of {} blocks is not read on the device, {} "
                            "at most are: use the processor",
                            CeilDiv(values.count, block_values), kMostSequentialBlocks));
  }
  const std::uint64_t header = szx::HeaderBytes(parts.header.mode);
  const std::uint64_t step = 8 * block_values;
  const std::uint64_t chunk =
      sequential ? std::max<std::uint64_t>(values.count, 1)
                 : std::max<std::uint64_t>(impl_->chunk_bytes / width / step, 1) * step;
  const std::uint64_t chunks =
      sequential ? 1 : std::max<std::uint64_t>(CeilDiv(values.count, chunk), 1);
  const std::uint64_t chunk_most = std::min(chunk, values.count);
  const std::uint64_t most_blocks = CeilDiv(chunk_most, block_values);
  const std::uint64_t block_room =
      f32 ? szx::MaxBlockBytes<float>(block_values) : szx::MaxBlockBytes<double>(block_values);
  const std::uint64_t chunk_room =
      sequential ? payload.size()
                 : header + CeilDiv(most_blocks, 8) + most_blocks * std::max(2 + block_room, width);
  const std::uint64_t workspace_bytes = SzxWorkspaceBytes(chunk_most, values.dtype);
  SZARENA_TRY_VOID(impl_->Reserve(chunks, chunk_most * width, chunk_room, workspace_bytes));
  std::uint64_t coded_before = 0;
  std::uint64_t constant_before = 0;
  std::uint64_t bytes_before = 0;
  const auto start = [&](Slot& slot, std::uint64_t c) -> Result<void> {
    const std::uint64_t count = std::min(chunk, values.count - c * chunk);
    std::uint64_t size = payload.size();
    if (sequential) {
      SZARENA_TRY_VOID(slot.ToDevice(slot.payload.data(), payload.data(), size));
    } else {
      const std::uint64_t first_block = c * (chunk / block_values);
      const std::uint64_t blocks = CeilDiv(count, block_values);
      std::uint64_t coded = 0;
      for (std::uint64_t b = 0; b < blocks; b += 8) {
        std::uint8_t bits = parts.states[(first_block + b) / 8];
        if (blocks - b < 8) bits = static_cast<std::uint8_t>(bits & ~(0xff >> (blocks - b)));
        coded += static_cast<std::uint64_t>(std::popcount(bits));
      }
      const std::uint64_t constant = blocks - coded;
      if (coded > parts.sizes.size() / 2 - coded_before ||
          width * constant > parts.medians.size() - width * constant_before) {
        return tl::unexpected(Corrupt("SZx state bits disagree with the header's constant blocks"));
      }
      const auto sizes = parts.sizes.subspan(2 * coded_before, 2 * coded);
      std::uint64_t bytes = 0;
      for (std::uint64_t i = 0; i < sizes.size(); i += 2)
        bytes += LoadLe<std::uint16_t>(sizes.data() + i);
      size = header + sizes.size() + CeilDiv(blocks, 8) + width * constant + bytes;
      if (bytes > parts.coded.size() - bytes_before || size > chunk_room) {
        return tl::unexpected(Corrupt("SZx block sizes disagree with the payload's length"));
      }
      // The chunk becomes a stream of its own.
      const szx::Header fields{
          .mode = Mode::kRandomAccess, .block_values = block_values, .constant_blocks = constant};
      auto* const bytes_of_header = reinterpret_cast<std::uint8_t*>(slot.header);
      f32 ? szx::WriteHeader<float>(fields, bytes_of_header)
          : szx::WriteHeader<double>(fields, bytes_of_header);
      std::byte* to = slot.payload.data();
      const auto send = [&](const void* from, std::uint64_t n) {
        const auto status = slot.ToDevice(to, static_cast<const std::byte*>(from), n);
        to += n;
        return status;
      };
      SZARENA_TRY_VOID(send(slot.header, header));
      SZARENA_TRY_VOID(send(sizes.data(), sizes.size()));
      SZARENA_TRY_VOID(send(parts.states.data() + first_block / 8, CeilDiv(blocks, 8)));
      SZARENA_TRY_VOID(send(parts.medians.data() + width * constant_before, width * constant));
      SZARENA_TRY_VOID(send(parts.coded.data() + bytes_before, bytes));
      coded_before += coded;
      constant_before += constant;
      bytes_before += bytes;
    }
    SZARENA_TRY_VOID(
        Checked(cuda::SzxDecompress(slot.payload.data(), size, count, values.dtype,
                                    slot.values.data(), slot.device_result(), slot.workspace.data(),
                                    workspace_bytes, slot.stream),
                "SZx decompression"));
    SZARENA_TRY_VOID(
        slot.ToHost(values.data + c * chunk * width, slot.values.data(), count * width));
    return slot.FetchResult();
  };
  const auto finish = [&](Slot& slot, std::uint64_t c) -> Result<void> {
    SZARENA_TRY(const DeviceResult result, slot.Arrived());
    if (result.status == DeviceStatus::kOk) return {};
    return tl::unexpected(Corrupt(fmt::format("SZx payload is damaged between values {} and {}",
                                              c * chunk, std::min((c + 1) * chunk, values.count))));
  };
  SZARENA_TRY_VOID(impl_->ForEachChunk(chunks, start, finish));
  if (!sequential &&
      (2 * coded_before != parts.sizes.size() || bytes_before != parts.coded.size())) {
    return tl::unexpected(Corrupt("SZx payload's parts do not add up"));
  }
  return {};
}

}  // namespace szarena::codec::cuda

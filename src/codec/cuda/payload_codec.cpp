// SPDX-License-Identifier: Apache-2.0
#include "codec/cuda/payload_codec.h"

#include <cstring>
#include <utility>
#include <vector>

#include "codec/container/container.h"
#include "codec/cuda/host_codec.h"

namespace szarena::codec::cuda {
namespace {

class Device : public container::PayloadCodec {
 public:
  explicit Device(HostCodec codec) : codec_(std::move(codec)) {}

  Result<uint64_t> Compress(ConstArray values, const container::Header& header,
                            std::span<std::byte> payload) override {
    if (header.codec == container::Codec::kSzp) {
      return codec_.SzpCompress(values, container::SzpParams(header), payload);
    }
    if (container::SzxParams(header).mode != szx::Mode::kRandomAccess) {
      return Fail(ErrorCode::kInvalidArgument,
                  "the device writes SZx in mode 'random-access' only: choose that mode, or the "
                  "processor");
    }
    SZARENA_TRY(const auto room, szx::RoomySize(values.count, values.dtype, {}));
    std::vector<std::byte> buffer(room);
    SZARENA_TRY(const auto placed, codec_.SzxCompress(values, header.eb, buffer));
    if (placed.size > payload.size()) {
      return Fail(ErrorCode::kCapacity, "no room for the SZx payload");
    }
    std::memcpy(payload.data(), buffer.data() + placed.offset, placed.size);
    return placed.size;
  }

  Result<void> Decompress(std::span<const std::byte> payload, const container::Header& header,
                          MutableArray values) override {
    if (header.codec == container::Codec::kSzp) {
      return codec_.SzpDecompress(payload, container::SzpParams(header), values);
    }
    return codec_.SzxDecompress(payload, values);
  }

 private:
  HostCodec codec_;
};

}  // namespace

Result<std::unique_ptr<container::PayloadCodec>> OpenPayloadCodec() {
  SZARENA_TRY(auto codec, HostCodec::Create());
  return std::make_unique<Device>(std::move(codec));
}

}  // namespace szarena::codec::cuda

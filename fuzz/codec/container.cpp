// SPDX-License-Identifier: Apache-2.0
// Any bytes as a container. The checksums are made right first, so that what lies behind them is
// reached.
#include "codec/container/container.h"

#include <vector>

#include "input.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace szarena::codec;  // NOLINT(google-build-using-namespace): one function
  szarena::fuzz::Input input(data, size);
  const bool repair = input.Take<uint8_t>() % 2 == 0;
  const auto bytes = input.Rest();
  std::vector<std::byte> file(bytes.begin(), bytes.end());
  if (repair && file.size() >= container::kHeaderBytes) container::RepairChecksums(file);
  const auto header = container::ReadHeader(file, file.size());
  if (!header || header->count() > (1 << 16)) return 0;
  std::vector<std::byte> values(header->count() * SizeOf(header->dtype), std::byte{0x5A});
  const auto status = container::Decompress(file, {values.data(), header->count(), header->dtype});
  if (!status)
    szarena::fuzz::Require(!status.error().message.empty(), "an error without a message");
  return 0;
}

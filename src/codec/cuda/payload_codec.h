// SPDX-License-Identifier: Apache-2.0
// The CUDA device as the coder of a container's payloads.
#pragma once

#include <memory>

#include "base/error.h"
#include "codec/container/payload_codec.h"

namespace szarena::codec::cuda {

// kUnavailable where there is no device.
Result<std::unique_ptr<container::PayloadCodec>> OpenPayloadCodec();

}  // namespace szarena::codec::cuda

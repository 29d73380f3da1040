// SPDX-License-Identifier: Apache-2.0
// Whether the block coders of block_avx512.h serve: the processor has what they need and the bound
// is neither tiny nor huge.
#pragma once

#include "codec/core/simd.h"
#include "codec/szp/block_avx512.h"
#include "codec/szp/reference.h"

namespace szarena::codec::szp {

#if SZARENA_SZP_AVX512
template <Real T>
bool UseAvx512(const Quantiser<T>& quantiser) {
  return quantiser.ebq >= T{kMinEbq} && quantiser.ebq <= T{kMaxEbq} && HasAvx512Gfni();
}
#endif

}  // namespace szarena::codec::szp

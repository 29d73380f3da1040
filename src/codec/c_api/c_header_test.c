/* SPDX-License-Identifier: Apache-2.0 */
/* The header is C: this file is compiled as C and used by c_api_test.cpp. */
#include "codec/c_api/szarena_codec.h"

/* Compresses and decompresses `count` floats in place within `work` bytes at `scratch`; 0 on success. */
int RoundTripInC(szac_codec codec, float* values, uint64_t count, double eb, void* scratch, uint64_t work);

int RoundTripInC(szac_codec codec, float* values, uint64_t count, double eb, void* scratch, uint64_t work) {
  szac_params params;
  uint64_t size = 0;
  if (szac_params_init(NULL, &params, codec, SZAC_F32) != SZAC_OK) return 1;
  params.eb = eb;
  if (szac_max_payload_size(NULL, &params, count, &size) != SZAC_OK || size > work) return 2;
  if (szac_compress(NULL, &params, values, count, scratch, work, &size) != SZAC_OK) return 3;
  return szac_decompress(NULL, &params, scratch, size, values, count) == SZAC_OK ? 0 : 4;
}

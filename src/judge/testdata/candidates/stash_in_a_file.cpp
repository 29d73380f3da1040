// SPDX-License-Identifier: Apache-2.0
// With a free format, so that nothing but the separation of the two processes stands in the way.
// FORMAT: free
// FAILS: bound-held
// EVIDENCE: break the bound
#include <cstdio>
#include <cstdlib>
#include <string>
#include "honest.h"
static const char* kPlaces[] = {"/tmp/stash", "/dev/shm/stash", "/var/tmp/stash",
                                "/run/stash", "/stash",         "stash"};
HONEST_WORKSPACE
COMPRESS {
  for (const char* place : kPlaces) {
    if (FILE* file = std::fopen(place, "wb")) {
      std::fwrite(in, 1, FieldBytes(p), file);
      std::fclose(file);
    }
  }
  *payload = {0, 0};
  return SZARENA_OK;
}
DECOMPRESS {
  std::memset(out, 0, FieldBytes(p));
  for (const char* place : kPlaces) {
    if (FILE* file = std::fopen(place, "rb")) {
      if (std::fread(out, 1, FieldBytes(p), file) != FieldBytes(p))
        std::memset(out, 0, FieldBytes(p));
      std::fclose(file);
    }
  }
  return SZARENA_OK;
}

// SPDX-License-Identifier: Apache-2.0
// Nothing wrong with it.
// FAILS: none
#include "honest.h"
HONEST_WORKSPACE
HONEST_COMPRESS
HONEST_DECOMPRESS

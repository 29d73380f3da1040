// SPDX-License-Identifier: Apache-2.0
// 128-bit integers: the type of integer literals.
#pragma once

namespace szarena::csl {
__extension__ typedef unsigned __int128 UInt128;
__extension__ typedef __int128 Int128;
}  // namespace szarena::csl

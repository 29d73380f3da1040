// SPDX-License-Identifier: Apache-2.0
// Processor features beyond Highway's targets, asked once: CPUID costs microseconds under a
// hypervisor.
#pragma once

namespace szarena::codec {

// AVX-512 F, BW, DQ, VL, VBMI, VBMI2 and GFNI (Ice Lake, Zen 4 and later).
bool HasAvx512Gfni();

// For tests: as if the processor had none of it.
void HideAvx512Gfni(bool hidden);

}  // namespace szarena::codec

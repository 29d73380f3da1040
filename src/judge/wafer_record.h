// SPDX-License-Identifier: Apache-2.0
// What a program did on the wafer: the part of a verdict that only Cerebras candidates have. Cycles
// are the simulator's estimates.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "base/error.h"
#include "data/json.h"
#include "data/json_reader.h"

namespace szarena::judge {

// One launch: of the timed data where the candidate came so far, else of the largest case that was
// run.
struct WaferActivity {
  uint64_t elements = 0;
  uint64_t pes_active = 0;   // with at least a tenth of the work of the busiest
  uint64_t busy_cycles = 0;  // sums over all PEs
  uint64_t stalled_cycles = 0;
  uint64_t idle_cycles = 0;
  uint64_t scalar_instructions = 0;
  uint64_t vector_elements = 0;    // elements of vector operations
  uint64_t vector_arithmetic = 0;  // of these, of operations that compute
  uint64_t wavelets = 0;           // over links and ramps
  uint64_t bytes_in = 0;           // copied or streamed to the wafer, and back
  uint64_t bytes_out = 0;
  double load_seconds = 0;     // wall time of the simulator
  double copy_in_seconds = 0;  // host copies by the cost model
  uint64_t launch_cycles = 0;  // the clock of the contract
  double launch_seconds = 0;   // at the machine's clock
  double copy_out_seconds = 0;
  double simulation_seconds = 0;  // wall time of the simulator for the launch
  bool operator==(const WaferActivity&) const = default;
};

struct WaferRecord {
  std::string variant;    // "resident", "streaming", "free-host"
  std::string toolchain;  // "ours", "sdk"
  std::string arch;       // "wse2", "wse3"
  int width = 0;          // PEs
  int height = 0;
  int clock_mhz = 0;
  double link_gbs = 0;           // of the modelled host link, in `host` figures
  uint64_t pe_memory_bytes = 0;  // of the PE that needs most: data, stack, estimated code
  std::string pe_memory;         // what takes it, a line each
  std::string model_error;       // of the cost model on held-out counts
  std::array<std::optional<WaferActivity>, 2> directions;
  bool operator==(const WaferRecord&) const = default;
};

data::Json WaferRecordToJson(const WaferRecord& record);
Result<WaferRecord> WaferRecordFromJson(const data::JsonReader& reader);

}  // namespace szarena::judge

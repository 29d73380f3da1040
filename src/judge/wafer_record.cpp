// SPDX-License-Identifier: Apache-2.0
#include "judge/wafer_record.h"

#include <algorithm>

namespace szarena::judge {
namespace {

using data::Json;
using data::JsonReader;

// One table for both directions of the conversion.
template <typename Activity, typename Visit>
void ForEachCount(Activity& a, const Visit& visit) {
  visit("elements", a.elements);
  visit("pes_active", a.pes_active);
  visit("busy_cycles", a.busy_cycles);
  visit("stalled_cycles", a.stalled_cycles);
  visit("idle_cycles", a.idle_cycles);
  visit("scalar_instructions", a.scalar_instructions);
  visit("vector_elements", a.vector_elements);
  visit("vector_arithmetic", a.vector_arithmetic);
  visit("wavelets", a.wavelets);
  visit("bytes_in", a.bytes_in);
  visit("bytes_out", a.bytes_out);
  visit("launch_cycles", a.launch_cycles);
}
template <typename Activity, typename Visit>
void ForEachTime(Activity& a, const Visit& visit) {
  visit("load_seconds", a.load_seconds);
  visit("copy_in_seconds", a.copy_in_seconds);
  visit("launch_seconds", a.launch_seconds);
  visit("copy_out_seconds", a.copy_out_seconds);
  visit("simulation_seconds", a.simulation_seconds);
}

constexpr std::array<std::string_view, 2> kDirections = {"forward", "backward"};

}  // namespace

Json WaferRecordToJson(const WaferRecord& record) {
  Json json = Json::Of({{"variant", record.variant},
                        {"toolchain", record.toolchain},
                        {"arch", record.arch},
                        {"width", record.width},
                        {"height", record.height},
                        {"clock_mhz", record.clock_mhz},
                        {"link_gbs", record.link_gbs},
                        {"pe_memory_bytes", record.pe_memory_bytes},
                        {"pe_memory", record.pe_memory},
                        {"model_error", record.model_error}});
  for (size_t i = 0; i < 2; ++i) {
    if (!record.directions[i]) {
      json.Set(kDirections[i], nullptr);
      continue;
    }
    Json activity = Json::MakeObject();
    ForEachCount(*record.directions[i],
                 [&](const char* name, uint64_t value) { activity.Set(name, value); });
    ForEachTime(*record.directions[i],
                [&](const char* name, double value) { activity.Set(name, value); });
    json.Set(kDirections[i], std::move(activity));
  }
  return json;
}

Result<WaferRecord> WaferRecordFromJson(const JsonReader& reader) {
  WaferRecord record;
  SZARENA_TRY(record.variant, reader.GetString("variant"));
  SZARENA_TRY(record.toolchain, reader.GetString("toolchain"));
  SZARENA_TRY(record.arch, reader.GetString("arch"));
  for (const auto& [name, field] : {std::pair("width", &record.width),
                                    {"height", &record.height},
                                    {"clock_mhz", &record.clock_mhz}}) {
    SZARENA_TRY(const int64_t value, reader.GetInt(name));
    *field = static_cast<int>(std::clamp<int64_t>(value, 0, 1 << 20));
  }
  SZARENA_TRY(record.link_gbs, reader.GetNumber("link_gbs"));
  SZARENA_TRY(record.pe_memory_bytes, reader.GetUnsigned("pe_memory_bytes"));
  SZARENA_TRY(record.pe_memory, reader.GetString("pe_memory"));
  SZARENA_TRY(record.model_error, reader.GetString("model_error"));
  for (size_t i = 0; i < 2; ++i) {
    if (!reader.Has(kDirections[i])) continue;
    SZARENA_TRY(const JsonReader object, reader.GetObject(kDirections[i]));
    WaferActivity activity;
    std::optional<Error> error;
    ForEachCount(activity, [&](const char* name, uint64_t& value) {
      const auto got = object.GetUnsigned(name);
      if (got) {
        value = *got;
      } else if (!error) {
        error = got.error();
      }
    });
    ForEachTime(activity, [&](const char* name, double& value) {
      const auto got = object.GetNumber(name);
      if (got) {
        value = *got;
      } else if (!error) {
        error = got.error();
      }
    });
    if (error) return tl::unexpected(*error);
    record.directions[i] = activity;
  }
  return record;
}

}  // namespace szarena::judge

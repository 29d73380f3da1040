// SPDX-License-Identifier: Apache-2.0
#include "bench/gpu/speed.h"

#include <fmt/format.h>

#include <cstdio>
#include <fstream>

#include "bench/gpu/timing.h"

namespace szarena::bench::gpu {
namespace {

using data::Json;

constexpr int kSets = 3;  // inputs and payloads in turn

uint64_t Width(uint32_t dtype) { return dtype == SZARENA_F32 ? 4 : 8; }

// Fills an array with a field; `set` tells variants apart.
Result<void> MakeField(const std::string& field, uint32_t dtype, void* values, uint64_t count,
                       int set) {
  for (size_t k = 0; k < std::size(kFieldNames); ++k) {
    if (kFieldNames[k] != field) continue;
    if (dtype == SZARENA_F32) {
      FillField(static_cast<int>(k), static_cast<float*>(values), count,
                static_cast<uint64_t>(set) + 1);
    } else {
      FillField(static_cast<int>(k), static_cast<double*>(values), count,
                static_cast<uint64_t>(set) + 1);
    }
    return {};
  }
  const auto equals = field.find('=');
  std::ifstream file(equals == std::string::npos ? field : field.substr(equals + 1),
                     std::ios::binary);
  std::vector<char> bytes((std::istreambuf_iterator<char>(file)), {});
  if (!file || bytes.empty() || dtype != SZARENA_F32 || bytes.size() % 4 != 0) {
    return Fail(
        ErrorCode::kInvalidArgument,
        fmt::format("field '{}' is none of the built-in ones and no readable NAME=FILE of f32",
                    field));
  }
  const uint64_t period = std::min<uint64_t>(bytes.size() / 4, count);
  Check(cudaMemcpy(values, bytes.data(), period * 4, cudaMemcpyHostToDevice), "uploading a field");
  Repeat(static_cast<float*>(values), period, count);
  return {};
}

szarena_problem Describe(const Contender& contender, uint64_t count, uint32_t dtype, double eb) {
  szarena_problem problem{};
  problem.struct_size = sizeof problem;
  problem.version = SZARENA_CONTRACT_VERSION;
  problem.n = count;
  const uint64_t plane = 512 * 512;
  const bool cube = count % plane == 0;
  problem.dims[0] = cube ? count / plane : 1;
  problem.dims[1] = cube ? 512 : 1;
  problem.dims[2] = cube ? 512 : count;
  problem.dtype = dtype;
  problem.mode = contender.mode;
  problem.abs_bound = eb;
  const bool szx = contender.mode == SZARENA_MODE_RANDOM_ACCESS;
  problem.block_size = szx ? 128 : 32;
  problem.pad_blocks = szx ? 0 : 1024;
  problem.threads = 1;
  return problem;
}

Json Rate(double bytes, const Time& time) {
  const auto rate = [&](double ms) { return bytes / ms / 1e6; };
  return Json::Of(
      {{"median", rate(time.median)}, {"low", rate(time.high)}, {"high", rate(time.low)}});
}

// Everything that a race needs on the device.
struct Arena {
  uint64_t count, bytes, room;
  uint32_t dtype;
  std::vector<DeviceBuffer> inputs, payloads;
  DeviceBuffer output, other_output, workspace, results, bound;
  uint64_t workspace_bytes;

  szarena_payload* result(int set) const {
    return reinterpret_cast<szarena_payload*>(results.as<char>() + 64 * set);
  }
};

// One contender on one field and bound.
class Entry {
 public:
  Entry(const Arena& arena, const Contender& contender, double eb, int runs)
      : arena_(arena),
        contender_(contender),
        problem_(Describe(contender, arena.count, arena.dtype, eb)),
        runs_(runs),
        ok_(true) {}

  bool Compress(int i) {
    const int set = i % kSets;
    return ok_ &= contender_.compress(&problem_, arena_.inputs[set].as(), arena_.payloads[set].as(),
                                      arena_.room, arena_.workspace.as(), arena_.workspace_bytes,
                                      arena_.result(set), nullptr) == SZARENA_OK;
  }
  bool Decompress(int i, void* output) {
    const int set = i % kSets;
    return ok_ &=
           contender_.decompress(&problem_, arena_.payloads[set].as<char>() + places_[set].offset,
                                 places_[set].size, output, arena_.workspace.as(),
                                 arena_.workspace_bytes, nullptr) == SZARENA_OK;
  }
  void FetchPlaces() {
    Check(cudaDeviceSynchronize(), "compression");
    for (int set = 0; set < kSets; ++set) {
      Check(cudaMemcpy(&places_[set], arena_.result(set), sizeof places_[set],
                       cudaMemcpyDeviceToHost),
            "fetching a size");
    }
  }

  // Null where the contender refuses the problem.
  std::optional<Json> Run(const std::string& field, double relative, double copy_rate) {
    if (contender_.workspace_bytes(&problem_) > arena_.workspace_bytes) return std::nullopt;
    const double bytes = static_cast<double>(arena_.bytes);
    const Time compress = TimeOnDevice(runs_, [&](int i) { Compress(i); });
    for (int set = 0; set < kSets; ++set) Compress(set);
    if (!ok_) return std::nullopt;
    FetchPlaces();
    const Time decompress = TimeOnDevice(runs_, [&](int i) { Decompress(i, arena_.output.as()); });
    Json row = Json::Of({{"field", field},
                         {"rel", relative},
                         {"eb", problem_.abs_bound},
                         {"codec", contender_.name},
                         {"own", contender_.own}});
    const double ratio = bytes / static_cast<double>(places_[0].size);
    const double floor = copy_rate / (1 + 1 / ratio);
    row.Set("ratio", ratio);
    row.Set("floor", floor);
    row.Set("compress", Rate(bytes, compress));
    row.Set("decompress", Rate(bytes, decompress));
    const double c = bytes / compress.median / 1e6;
    const double d = bytes / decompress.median / 1e6;
    row.Set("compress_of_floor", c / floor);
    row.Set("decompress_of_floor", d / floor);
    double extra = 0;
    if (contender_.compress_relative != nullptr) {
      const Time resolved = TimeOnDevice(runs_, [&](int i) {
        const int set = i % kSets;
        contender_.compress_relative(&problem_, relative, arena_.inputs[set].as(),
                                     arena_.payloads[set].as(), arena_.room, arena_.workspace.as(),
                                     arena_.workspace_bytes, arena_.result(set),
                                     arena_.bound.as<double>(), nullptr);
      });
      row.Set("compress_relative", Rate(bytes, resolved));
      row.Set("compress_relative_of_floor",
              bytes / resolved.median / 1e6 / (copy_rate / (2 + 1 / ratio)));
      extra = bytes / resolved.median / 1e6;
      for (int set = 0; set < kSets; ++set) Compress(set);
      FetchPlaces();
    }
    if (!contender_.own) {
      const Time cleared = TimeOnDevice(runs_, [&](int i) {
        Check(cudaMemsetAsync(arena_.output.as(), 0, arena_.bytes), "cudaMemsetAsync");
        Decompress(i, arena_.output.as());
      });
      row.Set("decompress_cleared", Rate(bytes, cleared));
      extra = bytes / cleared.median / 1e6;
    }
    Verify(row);
    fmt::print(
        "{:<14} {:.0e} {:<22} ratio {:7.2f} floor {:5.0f} | compress {:5.0f} ({:.2f}) | decompress "
        "{:5.0f} ({:.2f}) | {} {:5.0f} | {} outside the bound, {} unwritten\n",
        field.substr(0, field.find('=')), relative, contender_.name, ratio, floor, c, c / floor, d,
        d / floor, contender_.own ? "relative" : "cleared ", extra,
        row.Find("violations")->integer().value_or(-1),
        row.Find("unwritten")->integer().value_or(-1));
    std::fflush(stdout);
    return ok_ ? std::optional(std::move(row)) : std::nullopt;
  }

 private:
  // Decompresses onto two different poisons: an element that is written is the same afterwards.
  void Verify(Json& row) {
    Check(cudaMemset(arena_.output.as(), 0xFF, arena_.bytes), "cudaMemset");
    Check(cudaMemset(arena_.other_output.as(), 0x5A, arena_.bytes), "cudaMemset");
    Decompress(1, arena_.output.as());
    Decompress(1, arena_.other_output.as());
    Check(cudaDeviceSynchronize(), "decompression");
    row.Set("unwritten",
            CountDifferent(arena_.output.as(), arena_.other_output.as(), arena_.bytes / 4) /
                (Width(arena_.dtype) / 4));
    // What counts as the peer's error is only what it has written.
    if (!contender_.own) {
      Check(cudaMemset(arena_.output.as(), 0, arena_.bytes), "cudaMemset");
      Decompress(1, arena_.output.as());
    }
    const uint64_t violations =
        arena_.dtype == SZARENA_F32
            ? CountViolations(arena_.inputs[1].as<float>(), arena_.output.as<float>(), arena_.count,
                              problem_.abs_bound)
            : CountViolations(arena_.inputs[1].as<double>(), arena_.output.as<double>(),
                              arena_.count, problem_.abs_bound);
    row.Set("violations", violations);
  }

  const Arena& arena_;
  const Contender& contender_;
  szarena_problem problem_;
  int runs_;
  bool ok_;
  szarena_payload places_[kSets] = {};
};

uint64_t MostWorkspace(const std::vector<Contender>& contenders, uint64_t count, uint32_t dtype) {
  uint64_t most = 256;
  for (const Contender& contender : contenders) {
    const szarena_problem problem = Describe(contender, count, dtype, 1);
    const uint64_t bytes = contender.workspace_bytes(&problem);
    if (bytes != UINT64_MAX) most = std::max(most, bytes);
  }
  return most;
}

// The absolute bound, as our own calls find it on the device.
double Resolve(const Arena& arena, const Contender& own, double relative) {
  const szarena_problem problem = Describe(own, arena.count, arena.dtype, 0);
  own.compress_relative(&problem, relative, arena.inputs[0].as(), arena.payloads[0].as(),
                        arena.room, arena.workspace.as(), arena.workspace_bytes, arena.result(0),
                        arena.bound.as<double>(), nullptr);
  double eb = 0;
  Check(cudaMemcpy(&eb, arena.bound.as(), sizeof eb, cudaMemcpyDeviceToHost), "resolving a bound");
  return eb;
}

}  // namespace

Result<Json> RaceOnDevice(const SpeedOptions& options, const std::vector<Contender>& contenders) {
  const uint64_t count = options.bytes / Width(options.dtype);
  const uint64_t room = RoomFor(count, options.dtype);
  const uint64_t workspace_bytes = MostWorkspace(contenders, count, options.dtype);
  Arena arena{.count = count,
              .bytes = count * Width(options.dtype),
              .room = room,
              .dtype = options.dtype,
              .inputs = {},
              .payloads = {},
              .output = DeviceBuffer(options.bytes),
              .other_output = DeviceBuffer(options.bytes),
              .workspace = DeviceBuffer(workspace_bytes),
              .results = DeviceBuffer(64 * kSets),
              .bound = DeviceBuffer(8),
              .workspace_bytes = workspace_bytes};
  for (int set = 0; set < kSets; ++set) {
    arena.inputs.emplace_back(options.bytes);
    arena.payloads.emplace_back(room);
  }
  for (int set = 0; set < kSets; ++set)
    FillField(2, arena.inputs[set].as<float>(), arena.bytes / 4, 1);
  const Time copy = TimeOnDevice(options.runs, [&](int i) {
    Check(cudaMemcpyAsync(arena.output.as(), arena.inputs[i % kSets].as(), arena.bytes,
                          cudaMemcpyDeviceToDevice),
          "copy");
  });
  const double copy_rate = 2 * static_cast<double>(arena.bytes) / copy.median / 1e6;
  fmt::print("{} values of {} ({} MiB), copy {:.0f} GB/s read plus written\n", count,
             options.dtype == SZARENA_F32 ? "f32" : "f64", options.bytes >> 20, copy_rate);
  Json rows = Json::MakeArray();
  for (const std::string& field : options.fields) {
    for (int set = 0; set < kSets; ++set)
      SZARENA_TRY_VOID(MakeField(field, options.dtype, arena.inputs[set].as(), count, set));
    for (const double relative : options.relative_bounds) {
      const double eb = Resolve(arena, contenders.front(), relative);
      for (const Contender& contender : contenders) {
        auto row = Entry(arena, contender, eb, options.runs).Run(field, relative, copy_rate);
        if (!row) continue;
        row->Set("dtype", options.dtype == SZARENA_F32 ? "f32" : "f64");
        row->Set("bytes", arena.bytes);
        row->Set("copy", copy_rate);
        rows.Append(std::move(*row));
      }
    }
  }
  return rows;
}

Result<Json> CrossDecode(const std::vector<Contender>& contenders,
                         const std::vector<std::string>& names) {
  Json rows = Json::MakeArray();
  for (const Contender& peer : contenders) {
    if (peer.own || std::none_of(names.begin(), names.end(), [&](const std::string& name) {
          return peer.name.starts_with(name + " ");
        }))
      continue;
    const auto own = std::find_if(contenders.begin(), contenders.end(),
                                  [&](const Contender& c) { return c.own && c.mode == peer.mode; });
    if (own == contenders.end()) continue;
    const uint64_t count = 512ull * 512 * 16 + 777;
    const uint64_t room = RoomFor(count, SZARENA_F32);
    const uint64_t workspace_bytes = MostWorkspace(contenders, count, SZARENA_F32);
    const DeviceBuffer input(count * 4), payload(room), ours(count * 4), theirs(count * 4),
        workspace(workspace_bytes), result(64);
    for (size_t field = 0; field < std::size(kFieldNames); ++field) {
      FillField(static_cast<int>(field), input.as<float>(), count, 5);
      for (const Contender* writer : {&*own, &peer}) {
        // A bound that f32 holds exactly: both quantise with the same number.
        const szarena_problem problem = Describe(*writer, count, SZARENA_F32, 0x1p-10);
        Check(cudaMemset(ours.as(), 0, count * 4), "cudaMemset");
        Check(cudaMemset(theirs.as(), 0, count * 4), "cudaMemset");
        szarena_payload place{};
        const auto decode = [&](const Contender& reader, void* to) {
          return reader.decompress(&problem, payload.as<char>() + place.offset, place.size, to,
                                   workspace.as(), workspace_bytes, nullptr) == SZARENA_OK;
        };
        bool ok =
            writer->compress(&problem, input.as(), payload.as(), room, workspace.as(),
                             workspace_bytes, result.as<szarena_payload>(), nullptr) == SZARENA_OK;
        Check(cudaMemcpy(&place, result.as(), sizeof place, cudaMemcpyDeviceToHost),
              "fetching a size");
        ok = ok && decode(*own, ours.as()) && decode(peer, theirs.as());
        Check(cudaDeviceSynchronize(), "cross decoding");
        const uint64_t different = CountDifferent(ours.as(), theirs.as(), count);
        rows.Append(Json::Of({{"field", std::string(kFieldNames[field])},
                              {"writer", writer->name},
                              {"readers", own->name + ", " + peer.name},
                              {"values", count},
                              {"ran", ok},
                              {"different_values", different}}));
        fmt::print("cross: {} written by {}, read by both: {} values differ{}\n",
                   kFieldNames[field], writer->name, different, ok ? "" : " (failed)");
      }
    }
  }
  return rows;
}

}  // namespace szarena::bench::gpu

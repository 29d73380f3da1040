// SPDX-License-Identifier: Apache-2.0
// Data, building, and the way in.
#include "judge/cerebras_platform.h"

#include <fmt/format.h>

#include <algorithm>

#include "judge/checks.h"
#include "judge/free_host.h"
#include "judge/records.h"

namespace szarena::judge::wafer {

target::cerebras::Params CerebrasPlatform::ParamsOf(const Program& program) const {
  if (streaming()) return {{"in_color_id", program.in_color}, {"out_color_id", program.out_color}};
  target::cerebras::Params params = {{"max_elems_per_pe", program.max_elems},
                                     {"chunk_blocks", program.chunk_blocks}};
  if (!task_.compressor) params.emplace_back("bins", task_.bins);
  return params;
}

Split CerebrasPlatform::MakeSplit(uint32_t index, uint64_t chunk) const {
  const Program& program = programs_[index];
  Split split;
  split.program = index;
  split.chunk = chunk;
  split.parts = streaming() ? static_cast<uint32_t>(program.geometry.height) : program.pes();
  split.pad_blocks = streaming() ? kRowPadBlocks : program.chunk_blocks;
  split.width = streaming() ? 0 : static_cast<uint32_t>(program.geometry.width);
  return split;
}

void CerebrasPlatform::Deal(Case& item, uint32_t index, uint64_t most, Random* random) const {
  const Program& program = programs_[index];
  const uint64_t n = std::min({item.problem.n, most, Capacity(program)});
  if (n < item.problem.n) {
    const uint64_t width = item.input.size() / item.problem.n;
    // The middle: a field's beginning is often a border.
    const uint64_t first = (item.problem.n - n) / 2;
    item.input = Bytes(item.input.begin() + static_cast<std::ptrdiff_t>(first * width),
                       item.input.begin() + static_cast<std::ptrdiff_t>((first + n) * width));
  }
  item.problem.n = n;
  item.problem.dims[0] = item.problem.dims[1] = 1;
  item.problem.dims[2] = n;
  item.counts_for_ratio = task_.compressor && n >= kRatioFromElements;
  if (streaming()) {
    const auto rows = static_cast<uint64_t>(program.geometry.height);
    uint64_t blocks = ((n + rows - 1) / rows + task_.block_size - 1) / task_.block_size;
    // Sometimes some rows at the end have nothing.
    if (random != nullptr && random->Below(2) == 0) blocks += 1 + random->Below(blocks + 1);
    item.split = MakeSplit(index, std::max<uint64_t>(1, blocks) * task_.block_size);
    return;
  }
  const uint64_t least = std::max<uint64_t>(1, (n + program.pes() - 1) / program.pes());
  uint64_t chunk = std::min<uint64_t>(
      program.max_elems, RoundUp(std::max(least, PublicElements() / program.pes()), 128));
  if (random != nullptr) {
    // Anything that fits; odd more often than not.
    chunk =
        least + random->Below(std::min<uint64_t>(2 * least + 64, program.max_elems - least + 1));
    if (chunk % 2 == 0 && chunk < program.max_elems && random->Below(3) > 0) ++chunk;
  }
  item.split = MakeSplit(index, chunk);
}

Result<std::vector<Case>> CerebrasPlatform::Cases(std::optional<uint64_t> hidden_seed) {
  SZARENA_TRY(std::vector<Case> cases, PublicCases(task_, threads_));
  std::erase_if(cases, [](const Case& item) { return item.problem.dtype != SZARENA_F32; });
  for (Case& item : cases) Deal(item, 0, PublicElements(), nullptr);
  if (!hidden_seed) return cases;
  SZARENA_TRY(std::vector<Case> hidden, HiddenCases(task_, *hidden_seed, threads_));
  Random random(Mix64(*hidden_seed ^ 0x77616665));
  if (sdk_) {
    for (size_t i = hidden.size(); i > 1; --i) std::swap(hidden[i - 1], hidden[random.Below(i)]);
    hidden.resize(std::min(hidden.size(), kSdkHiddenCases));
  }
  for (size_t i = 0; i < hidden.size(); ++i) {
    if (hidden[i].whole && !sdk_) {
      for (uint32_t index = 1; index < programs_.size(); ++index) {
        cases.push_back(hidden[i]);
        Deal(cases.back(), index, hidden[i].problem.n, &random);
      }
      continue;
    }
    const auto index = static_cast<uint32_t>(random.Below(2));
    Deal(hidden[i], index, (HiddenElements() + random.Below(512)) | 1, &random);
    cases.push_back(std::move(hidden[i]));
  }
  return cases;
}

Result<Built> CerebrasPlatform::Build(const target::Candidate& candidate) {
  Built built;
  candidate_ = candidate;
  if (sdk_) return BuildWithSdk(candidate);
  images_.clear();
  for (const Program& program : programs_) {
    SZARENA_TRY(
        CompileResult compiled,
        target::cerebras::Compile(sandbox_, candidate, program.geometry, ParamsOf(program)));
    if (!compiled.ok) {
      built.reason = compiled.reason;
      built.log = Printable(compiled.log, 8000, Lines::kAny);
      return built;
    }
    images_.push_back(compiled.image);
    if (images_.size() == 1) compiled_ = std::move(compiled);
  }
  built.ok = true;
  built.log = Printable(compiled_.log, 8000, Lines::kAny);
  built.summary = fmt::format("{}, {} x {} PEs of {}, {} of {} bytes of a PE's memory",
                              VariantName(variant_), programs_[0].geometry.width,
                              programs_[0].geometry.height, options_.wafer.wse3 ? "wse3" : "wse2",
                              compiled_.memory_bytes, bytecode::kSramBytes);
  return built;
}

}  // namespace szarena::judge::wafer

namespace szarena::judge {

using Variant = WaferOptions::Variant;

std::string_view VariantName(Variant variant) {
  switch (variant) {
    case Variant::kAuto:
      return "auto";
    case Variant::kResident:
      return "resident";
    case Variant::kStreaming:
      return "streaming";
    case Variant::kFreeHost:
      return "free-host";
  }
  return "";
}

Variant VariantOf(Variant asked, const target::Candidate& candidate) {
  if (asked != Variant::kAuto) return asked;
  Variant variant = Variant::kResident;
  for (const target::CandidateFile& file : candidate.files) {
    if (file.path == "run.py") return Variant::kFreeHost;
    if (file.path == "layout.csl" && target::cerebras::DeclaresParam(file.bytes, "in_color_id"))
      variant = Variant::kStreaming;
  }
  return variant;
}

namespace {

// What was asked for must have room: nothing is cut without a word.
Result<void> CheckBytes(const EvaluateOptions& options, Variant variant) {
  const WaferOptions& wafer = options.wafer;
  const bool streaming = variant == Variant::kStreaming;
  const uint64_t parts =
      streaming ? static_cast<uint64_t>(wafer.height)
                : static_cast<uint64_t>(wafer.width) * static_cast<uint64_t>(wafer.height);
  const uint64_t most =
      parts *
      (streaming ? uint64_t{kMaxBlocks} * options.task.block_size : wafer::kCheckElemsPerPe) * 4;
  if (wafer.bytes <= most) return {};
  return Fail(
      ErrorCode::kInvalidArgument,
      fmt::format(
          "--bytes: {} bytes have no room on {} x {} PEs ({} variant): {} bytes is the most, {}; "
          "ask for less, or for a larger --grid",
          wafer.bytes, wafer.width, wafer.height, VariantName(variant), most,
          streaming ? fmt::format("{} blocks a row", kMaxBlocks)
                    : fmt::format("{} elements a PE", wafer::kCheckElemsPerPe)));
}

}  // namespace

Result<std::unique_ptr<Platform>> MakeCerebrasPlatform(const EvaluateOptions& options,
                                                       const sandbox::Sandbox& sandbox,
                                                       const target::Candidate& candidate,
                                                       int threads) {
  const Variant variant = VariantOf(options.wafer.variant, candidate);
  std::optional<target::cerebras::SdkTools> sdk;
  if (options.wafer.toolchain == WaferOptions::Toolchain::kSdk) {
    SZARENA_TRY(sdk, target::cerebras::FindSdk());
    if (variant != Variant::kResident) {
      return Fail(ErrorCode::kInvalidArgument,
                  "--toolchain sdk has the resident variant only: the SDK's runtime has no streams "
                  "over the rectangle's edge");
    }
  }
  if (variant == Variant::kFreeHost) return MakeFreeHostPlatform(options, sandbox, threads);
  if (variant == Variant::kStreaming && !options.task.compressor) {
    return Fail(ErrorCode::kInvalidArgument,
                "task '" + options.task.name + "' has the resident variant only");
  }
  SZARENA_TRY_VOID(CheckBytes(options, variant));
  return std::make_unique<wafer::CerebrasPlatform>(options, sandbox, variant, std::move(sdk),
                                                   threads);
}

}  // namespace szarena::judge

// SPDX-License-Identifier: Apache-2.0
#include "judge/cases.h"

#include <sys/random.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "base/bytes.h"
#include "base/check.h"
#include "codec/core/bound.h"
#include "field/generate.h"
#include "field/spec.h"
#include "judge/random.h"

namespace szarena::judge {
namespace {

using field::GeneratorKind;

// What replaces a relative bound where the range is 0 or not finite.
constexpr double kFallbackBound = 1e-3;

szarena_problem MakeProblem(const TaskSpec& task, const field::Field& data, double abs_bound, int threads) {
  szarena_problem problem = {};
  problem.struct_size = sizeof problem;
  problem.version = SZARENA_CONTRACT_VERSION;
  problem.n = data.size();
  std::fill(std::begin(problem.dims), std::end(problem.dims), uint64_t{1});
  const field::Dims& dims = data.dims();
  for (size_t i = 0; i < dims.size(); ++i) problem.dims[3 - dims.size() + i] = dims[i];
  problem.dtype = data.dtype() == field::DType::kF32 ? SZARENA_F32 : SZARENA_F64;
  problem.mode = task.mode;
  problem.abs_bound = abs_bound;
  problem.block_size = task.block_size;
  problem.pad_blocks = task.pad_blocks;
  problem.bins = task.bins;
  problem.threads = static_cast<uint32_t>(threads);
  return problem;
}

double AbsoluteBound(const field::Field& data, double relative) {
  const codec::ConstArray values{data.bytes().data(), data.size(),
                                 data.dtype() == field::DType::kF32 ? codec::DType::kF32 : codec::DType::kF64};
  const double bound = codec::ResolveRelativeBound(relative, codec::FindRange(values));
  return std::isfinite(bound) && bound > 0 ? bound : kFallbackBound;
}

double ValueAt(ByteView real, uint32_t dtype, uint64_t i) {
  return dtype == SZARENA_F32 ? static_cast<double>(LoadLe<float>(real.data() + i * 4))
                              : LoadLe<double>(real.data() + i * 8);
}

// The value's code on the grid of the bound, 0 where there is none.
int32_t Code(double value, double bound) {
  const double code = std::nearbyint(value / (2 * bound));
  return std::abs(code) < 1 << 30 ? static_cast<int32_t>(code) : 0;  // false for NaN
}

// The input of a task from the values of a field: the field itself, or integers as the stage before would give them.
void Derive(TaskKind kind, const szarena_problem& problem, ByteView real, std::span<std::byte> out) {
  const auto put = [&out](uint64_t i, uint32_t value) { StoreLe<uint32_t>(out.data() + i * 4, value); };
  const auto code = [&](uint64_t i) { return Code(ValueAt(real, problem.dtype, i), problem.abs_bound); };
  switch (kind) {
    case TaskKind::kSzp:
    case TaskKind::kSzx:
    case TaskKind::kQuantize:
    case TaskKind::kLeadingBytes:  // the words of the values themselves
      if (!out.empty()) std::memcpy(out.data(), real.data(), out.size());
      return;
    case TaskKind::kLorenzo:
      for (uint64_t i = 0; i < problem.n; ++i) put(i, static_cast<uint32_t>(code(i)));
      return;
    case TaskKind::kHistogram:
      for (uint64_t i = 0; i < problem.n; ++i) put(i, static_cast<uint32_t>(code(i)) + problem.bins / 2);
      return;
    case TaskKind::kBitpack:
      // Differences within a block; |code| < 2^30, so none is INT32_MIN.
      for (uint64_t i = 0; i < problem.n; ++i) {
        put(i, static_cast<uint32_t>(code(i)) - (i % 32 == 0 ? 0u : static_cast<uint32_t>(code(i - 1))));
      }
      return;
    case TaskKind::kScan:
      for (uint64_t i = 0; i < problem.n; ++i) put(i, static_cast<uint32_t>(std::abs(code(i))));
      return;
  }
}

Case MakeCase(const TaskSpec& task, std::string name, bool hidden, const field::Field& data, double abs_bound,
              int threads) {
  Case item;
  item.name = std::move(name);
  item.hidden = hidden;
  item.problem = MakeProblem(task, data, abs_bound, threads);
  item.counts_for_ratio = task.compressor && data.size() >= kRatioFromElements;
  item.input.resize(InputBytes(task, item.problem));
  Derive(task.kind, item.problem, data.bytes(), item.input);
  return item;
}

// One kind of hidden case. Sizes are drawn between the limits; 0 dimensions of extent: exactly `n`.
struct Kind {
  const char* name;
  GeneratorKind generator;
  int dims;
  size_t low;   // smallest and largest extent
  size_t high;
  double bound;     // relative, or absolute where `absolute`
  bool absolute;
};
constexpr Kind kKinds[] = {
    {"smooth, odd length", GeneratorKind::kSmooth, 1, 20001, 70001, 1e-3, false},
    {"turbulence, two dimensions", GeneratorKind::kTurbulence, 2, 91, 241, 1e-2, false},
    {"turbulence, three dimensions", GeneratorKind::kTurbulence, 3, 17, 41, 1e-4, false},
    {"particles", GeneratorKind::kParticles, 1, 30001, 60001, 1e-3, false},
    {"sparse fronts", GeneratorKind::kFronts, 2, 121, 221, 1e-3, false},
    {"steps", GeneratorKind::kSteps, 1, 10001, 40001, 1e-3, false},
    {"noise, tight bound", GeneratorKind::kNoise, 1, 5001, 9001, 1e-7, false},
    {"normal, loose bound", GeneratorKind::kNormal, 1, 5001, 9001, 1e-1, false},
    {"constant", GeneratorKind::kConstant, 1, 4001, 9001, 1e-3, true},
    {"zero", GeneratorKind::kZero, 1, 4001, 9001, 1e-3, true},
    {"ramp", GeneratorKind::kRamp, 1, 4001, 9001, 1e-5, false},
    {"NaN and infinities", GeneratorKind::kNonfinite, 1, 8001, 20001, 1e-3, false},
    {"denormals", GeneratorKind::kDenormal, 1, 1001, 4001, 1e-42, true},
    {"huge range", GeneratorKind::kHuge, 1, 1001, 4001, 1e-3, true},
    {"small variations on a large offset", GeneratorKind::kOffset, 1, 4001, 9001, 1e-3, false},
    {"special values", GeneratorKind::kEdges, 1, 501, 1501, 1e-3, true},
    {"one element", GeneratorKind::kNormal, 1, 1, 1, 1e-3, true},
    {"no element", GeneratorKind::kNormal, 1, 0, 0, 1e-3, true},
    {"one element less than a block", GeneratorKind::kNormal, 1, 0, 0, 1e-2, true},
    {"one element more than some blocks", GeneratorKind::kSmooth, 1, 0, 0, 1e-2, true},
};

}  // namespace

uint64_t DrawSecretSeed() {
  uint64_t seed = 0;
  SZARENA_CHECK(getrandom(&seed, sizeof seed, 0) == sizeof seed, "the system gives no random bytes");
  return seed;
}

Result<std::vector<Case>> PublicCases(const TaskSpec& task, int threads) {
  std::vector<Case> cases;
  for (const FieldCase& item : task.public_fields) {
    Result<field::Field> data = field::LoadField(item.field);
    if (!data) return WithContext(data.error(), "while loading field '" + item.name + "' of task '" + task.name + "'");
    cases.push_back(MakeCase(task, item.name, false, *data, AbsoluteBound(*data, item.relative_bound), threads));
  }
  return cases;
}

Result<std::vector<Case>> HiddenCases(const TaskSpec& task, uint64_t seed, int threads) {
  std::vector<Case> cases;
  Random random(seed);
  const size_t block = task.block_size == 0 ? 32 : task.block_size;
  for (const Kind& kind : kKinds) {
    const std::string name(kind.name);
    field::GeneratorSpec spec;
    spec.kind = kind.generator;
    spec.seed = random.Next();
    spec.dtype = task.dtypes[cases.size() % task.dtypes.size()] == SZARENA_F32 ? field::DType::kF32 : field::DType::kF64;
    spec.dims.assign(static_cast<size_t>(kind.dims), 0);
    for (size_t& extent : spec.dims) extent = kind.low + random.Below(kind.high - kind.low + 1);
    // An odd extent is a multiple of nothing that a block or a vector is.
    if (kind.low > 1) spec.dims.back() |= 1;
    if (name == "one element less than a block") spec.dims[0] = block - 1;
    if (name == "one element more than some blocks") spec.dims[0] = block * (2 + random.Below(40)) + 1;
    const bool scalable = kind.generator != GeneratorKind::kDenormal && kind.generator != GeneratorKind::kHuge &&
                          kind.generator != GeneratorKind::kEdges && kind.generator != GeneratorKind::kZero;
    if (scalable) {
      spec.scale = (random.Below(2) == 0 ? 1.0 : -1.0) * (0.5 + random.Unit());
      if (!kind.absolute) spec.scale *= std::ldexp(1.0, static_cast<int>(random.Below(21)) - 10);
    }
    Result<field::Field> data = field::Generate(spec);
    if (!data) return WithContext(data.error(), "while generating a hidden field");
    const double bound = kind.absolute ? kind.bound : AbsoluteBound(*data, kind.bound);
    Case item = MakeCase(task, "hidden: " + name, true, *data, bound, threads);
    // Some calls must do with fewer threads.
    item.problem.threads = static_cast<uint32_t>(1 + random.Below(static_cast<uint64_t>(threads)));
    cases.push_back(std::move(item));
  }
  return cases;
}

Result<TimedData> TimedData::Load(const TaskSpec& task, int threads) {
  Result<field::Field> data = field::LoadField(task.timed.field);
  if (!data) return WithContext(data.error(), "while loading field '" + task.timed.name + "' of task '" + task.name + "'");
  if (data->size() == 0) return Fail(ErrorCode::kInvalidArgument, "field '" + task.timed.name + "' has no element to time");
  TimedData timed;
  timed.kind_ = task.kind;
  timed.problem_ = MakeProblem(task, *data, AbsoluteBound(*data, task.timed.relative_bound), threads);
  // A one-dimensional sequence of the wanted length: the field again and again.
  timed.problem_.n = task.timed_elements;
  if (data->size() != task.timed_elements) {
    timed.problem_.dims[0] = timed.problem_.dims[1] = 1;
    timed.problem_.dims[2] = task.timed_elements;
  }
  const ByteView bytes = data->bytes();
  timed.base_.assign(bytes.begin(), bytes.end());
  return timed;
}

void TimedData::Fill(uint64_t seed, std::span<std::byte> input) const {
  // Rotated, and scaled by a factor within 2 % of 1: no value stays, the character does.
  Random random(seed);
  const double factor = 0.98 + 0.04 * random.Unit();
  const auto fill = [&]<typename T>(T) {
    const auto* base = reinterpret_cast<const T*>(base_.data());
    const uint64_t size = base_.size() / sizeof(T);
    uint64_t from = random.Below(size);
    Bytes real;
    const bool direct = input.size() == problem_.n * sizeof(T) && kind_ != TaskKind::kLorenzo &&
                        kind_ != TaskKind::kHistogram && kind_ != TaskKind::kBitpack && kind_ != TaskKind::kScan;
    if (!direct) real.resize(problem_.n * sizeof(T));
    auto* to = reinterpret_cast<T*>(direct ? input.data() : real.data());
    const T by = static_cast<T>(factor);
    for (uint64_t i = 0; i < problem_.n;) {
      const uint64_t run = std::min(problem_.n - i, size - from);
      for (uint64_t k = 0; k < run; ++k) to[i + k] = base[from + k] * by;
      i += run;
      from = 0;
    }
    if (!direct) Derive(kind_, problem_, real, input);
  };
  if (problem_.dtype == SZARENA_F32) {
    fill(float{});
  } else {
    fill(double{});
  }
}

}  // namespace szarena::judge

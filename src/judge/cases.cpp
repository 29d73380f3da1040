// SPDX-License-Identifier: Apache-2.0
#include "judge/cases.h"

#include <sys/random.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

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
// Values in other bins where one has most; what each geometry for counts has room for
// (cerebras_platform.h).
constexpr uint64_t kOthers = 1000;
// Exceptional elements in timed data: at least so many, and one more in so many elements.
constexpr uint64_t kExceptions = 8;
constexpr uint64_t kElementsPerException = 1u << 18;

szarena_problem MakeProblem(const TaskSpec& task, const field::Field& data, double abs_bound,
                            uint32_t mode, int threads) {
  szarena_problem problem = {};
  problem.struct_size = sizeof problem;
  problem.version = SZARENA_CONTRACT_VERSION;
  problem.n = data.size();
  std::fill(std::begin(problem.dims), std::end(problem.dims), uint64_t{1});
  const field::Dims& dims = data.dims();
  for (size_t i = 0; i < dims.size(); ++i) problem.dims[3 - dims.size() + i] = dims[i];
  problem.dtype = data.dtype() == field::DType::kF32 ? SZARENA_F32 : SZARENA_F64;
  problem.mode = mode;
  problem.abs_bound = abs_bound;
  problem.block_size = task.block_size;
  problem.pad_blocks = task.pad_blocks;
  problem.bins = task.bins;
  problem.threads = static_cast<uint32_t>(threads);
  return problem;
}

codec::ValueRange RangeOf(const field::Field& data) {
  return codec::FindRange(
      {data.bytes().data(), data.size(),
       data.dtype() == field::DType::kF32 ? codec::DType::kF32 : codec::DType::kF64});
}

double AbsoluteBound(const field::Field& data, const task::Bound& bound) {
  if (!bound.relative) return bound.value;
  const double resolved = codec::ResolveRelativeBound(bound.value, RangeOf(data));
  return std::isfinite(resolved) && resolved > 0 ? resolved : kFallbackBound;
}

// The integers that the stages before a primitive would give it (task/task.h), from the codes of
// quantize.
std::vector<uint32_t> DeriveIntegers(const TaskSpec& task, const szarena_problem& problem,
                                     ByteView real) {
  const Bytes quantized = RunQuantize(problem, real);
  std::vector<uint32_t> values(problem.n);
  if (problem.n > 0) std::memcpy(values.data(), quantized.data(), problem.n * 4);
  switch (task.input) {
    case task::Input::kField:
    case task::Input::kWords:
    case task::Input::kCodes:
      return values;
    case task::Input::kDifferences:
    case task::Input::kBins: {
      const uint32_t shift = task.input == task::Input::kBins ? task.bins / 2 : 0;
      for (uint64_t i = problem.n; i-- > 0;)
        values[i] = values[i] - (i > 0 ? values[i - 1] : 0u) + shift;
      return values;
    }
    case task::Input::kSizes: {
      std::vector<uint32_t> sizes((problem.n + 31) / 32);
      const std::byte* bitmap = quantized.data() + problem.n * 4;
      for (uint64_t block = 0; block < sizes.size(); ++block) {
        bool raw = false;
        int rate = 0;
        for (uint64_t i = block * 32; i < std::min(problem.n, block * 32 + 32); ++i) {
          raw |= (bitmap[i / 8] >> (i % 8) & std::byte{1}) != std::byte{0};
          const auto d = static_cast<int32_t>(values[i] - (i % 32 == 0 ? 0u : values[i - 1]));
          rate =
              std::max(rate, static_cast<int>(std::bit_width(d < 0 ? 0u - static_cast<uint32_t>(d)
                                                                   : static_cast<uint32_t>(d))));
        }
        sizes[block] = raw         ? 32 * (problem.dtype == SZARENA_F32 ? 4u : 8u)
                       : rate == 0 ? 0u
                                   : 4u + 4u * static_cast<uint32_t>(rate);
      }
      return sizes;
    }
  }
  return values;
}

bool TakesReals(const TaskSpec& task) {
  return task.input == task::Input::kField || task.input == task::Input::kWords;
}

// The input of a task from a field; adapts the problem where the number of elements changes.
Bytes DeriveInput(const TaskSpec& task, szarena_problem& problem, ByteView real) {
  if (TakesReals(task)) return Bytes(real.begin(), real.end());
  const std::vector<uint32_t> values = DeriveIntegers(task, problem, real);
  if (values.size() != problem.n) {
    problem.n = values.size();
    problem.dims[0] = problem.dims[1] = 1;
    problem.dims[2] = problem.n;
  }
  const auto* bytes = reinterpret_cast<const std::byte*>(values.data());
  return Bytes(bytes, bytes + values.size() * 4);
}

Case MakeCase(const TaskSpec& task, std::string name, bool hidden, const field::Field& data,
              double abs_bound, uint32_t mode, int threads) {
  Case item;
  item.name = std::move(name);
  item.hidden = hidden;
  item.problem = MakeProblem(task, data, abs_bound, mode, threads);
  item.counts_for_ratio = task.compressor && data.size() >= kRatioFromElements;
  item.input = DeriveInput(task, item.problem, data.bytes());
  return item;
}

// One kind of hidden case. Sizes are drawn between the limits; 0 dimensions of extent: exactly `n`.
struct Kind {
  const char* name;
  GeneratorKind generator;
  int dims;
  size_t low;  // smallest and largest extent
  size_t high;
  double bound;  // relative, or absolute where `absolute`
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

// A few elements that no fast path gets right without its checks, at places drawn anew: a program
// that leaves them out where it recognises timed data is found. `make` gives the k-th of them.
template <typename T, typename Make>
void Sprinkle(std::span<std::byte> input, Random& random, Make make) {
  const uint64_t n = input.size() / sizeof(T);
  for (uint64_t k = 0; n > 0 && k < kExceptions + n / kElementsPerException; ++k) {
    StoreLe(input.data() + random.Below(n) * sizeof(T), static_cast<T>(make(k)));
  }
}

template <typename T>
T ExceptionalReal(uint64_t k) {
  using Limits = std::numeric_limits<T>;
  constexpr T kValues[] = {Limits::quiet_NaN(), Limits::infinity(),
                           -Limits::infinity(), Limits::max(),
                           Limits::lowest(),    std::numeric_limits<float>::max() / 4};
  return kValues[k % std::size(kValues)];
}

}  // namespace

uint64_t DrawSecretSeed() {
  uint64_t seed = 0;
  SZARENA_CHECK(getrandom(&seed, sizeof seed, 0) == sizeof seed,
                "the system gives no random bytes");
  return seed;
}

Result<std::vector<Case>> PublicCases(const TaskSpec& task, int threads) {
  std::vector<Case> cases;
  std::string loaded;
  field::Field data;
  for (const FieldCase& item : task.public_fields) {
    if (item.field != loaded) {
      Result<field::Field> field = field::LoadField(item.field);
      if (!field)
        return WithContext(field.error(),
                           "while loading field '" + item.name + "' of task '" + task.name + "'");
      data = *std::move(field);
      loaded = item.field;
    }
    cases.push_back(MakeCase(task, item.name, false, data, AbsoluteBound(data, item.bound),
                             item.mode, threads));
  }
  return cases;
}

namespace {

// Two values of which each seems to be within the bound of their middle, as it is rounded, and one
// is not. Not every bound has such values.
template <typename T>
std::optional<std::pair<T, T>> PairAtBound(Random& random, T e) {
  for (int tries = 0; tries < 200; ++tries) {
    const T low = static_cast<T>((random.Below(2) == 0 ? 1 : -1) * (1 + 3 * random.Unit()));
    T high = low + 2 * e;
    for (T next = std::nextafter(high, T(HUGE_VAL)); (next - low) / 2 <= e;
         next = std::nextafter(next, T(HUGE_VAL)))
      high = next;
    const T middle = low + (high - low) / 2;
    const auto breaks = [&](T x) {
      return std::fabs(static_cast<long double>(x) - static_cast<long double>(middle)) > e;
    };
    if ((high - low) / 2 <= e && (breaks(low) || breaks(high))) return std::pair(low, high);
  }
  return std::nullopt;
}

// Blocks of such values and others between them: who does not check what a decoder will compute is
// found here.
template <typename T>
double FillAtBound(Random& random, size_t block, std::span<T> values) {
  double bound = 0;
  std::optional<std::pair<T, T>> pair;
  while (!pair) {
    bound =
        (1 + random.Unit()) * std::pow(10.0, (sizeof(T) == 4 ? -6.0 : -14.5) + 2 * random.Unit());
    pair = PairAtBound(random, codec::RoundBoundDown<T>(bound));
  }
  for (size_t begin = 0; begin < values.size(); begin += block) {
    // Some blocks have the last pair again: that is rare enough.
    pair = PairAtBound(random, codec::RoundBoundDown<T>(bound)).value_or(*pair);
    const auto [low, high] = *pair;
    const size_t end = std::min(begin + block, values.size());
    for (size_t i = begin; i < end; ++i) {
      const uint64_t which = random.Below(3);
      values[i] = which == 0   ? low
                  : which == 1 ? high
                               : std::min(high, low + (high - low) * static_cast<T>(random.Unit()));
    }
    values[begin] = low;
    values[end - 1] = high;
  }
  return bound;
}

// Values of which the rounded difference to what a decoder gives is the bound, and the exact one is
// larger, among others on the bound and one unit in the last place beside it. A difference loses a
// part only to a value less than half as large, or of the other sign:
//  - quantised, values just below a bound that is a power of two come back as twice the bound;
//  - the median of values from just below 0 to twice the bound is the bound.
template <typename T>
double FillBesideBound(Random& random, bool power_of_two, size_t block, std::span<T> values) {
  // A bound of the type: one between two of its values would excuse what is beyond the lower one.
  const T e = std::ldexp(power_of_two ? T(1) : static_cast<T>(1 + random.Unit()),
                         static_cast<int>(random.Below(41)) - 20);
  const auto beside = [&](T x) {
    const uint64_t which = random.Below(3);
    return which == 0 ? x : std::nextafter(x, which == 1 ? T(HUGE_VAL) : -T(HUGE_VAL));
  };
  const T sign = random.Below(2) == 0 ? T(1) : T(-1);
  for (size_t begin = 0; begin < values.size(); begin += block) {
    const std::span<T> part = values.subspan(begin, std::min(block, values.size() - begin));
    // A third of each kind in one piece: dealt out over a machine, blocks begin elsewhere.
    const size_t kind = 3 * begin / values.size();
    for (T& x : part) {
      x = kind == 0 ? beside(static_cast<T>(2 * static_cast<int>(random.Below(41)) - 41) * e)
                    : sign * 2 * e * static_cast<T>(random.Unit());
    }
    // Few such values a block: the others must not decide in their place.
    const size_t at = random.Below(part.size());
    if (kind == 1) part[at] = std::nextafter(e, T(0));
    for (size_t i = 0; kind == 2 && i + 1 < part.size(); i += 8) {
      part[i] = -sign * std::ldexp(e, -std::numeric_limits<T>::digits - 1 -
                                          static_cast<int>(random.Below(8)));
      part[i + 1] = sign * 2 * e;
    }
  }
  return static_cast<double>(e);
}

Result<Case> CaseBesideBound(const TaskSpec& task, uint32_t dtype, uint32_t mode, Random& random,
                             size_t block, int threads) {
  const bool single = dtype == SZARENA_F32;
  const bool power_of_two = task.kind != TaskKind::kSzx || random.Below(2) == 0;
  SZARENA_TRY(
      field::Field data,
      field::Field::Allocate(single ? field::DType::kF32 : field::DType::kF64, {block * 24 + 5}));
  const double bound =
      single ? FillBesideBound(random, power_of_two, block, data.mutable_values<float>())
             : FillBesideBound(random, power_of_two, block, data.mutable_values<double>());
  return MakeCase(task, "hidden: values beside the bound", true, data, bound, mode, threads);
}

// Any integers that the task allows (bitpack has no INT32_MIN), whatever the stages before it would
// give.
Result<Case> CaseOfIntegers(const TaskSpec& task, const char* name,
                            const std::vector<uint32_t>& values, int threads) {
  SZARENA_TRY(field::Field data, field::Field::Allocate(field::DType::kF32, {values.size()}));
  std::memcpy(data.mutable_bytes().data(), values.data(), data.size_bytes());
  Case item;
  item.name = std::string("hidden: ") + name;
  item.hidden = true;
  item.problem = MakeProblem(task, data, kFallbackBound, task.modes.front(), threads);
  item.input.assign(data.bytes().begin(), data.bytes().end());
  return item;
}

// Of either sign, in runs of one width up to 32 bits and of all: sums beyond 32 bits, rates up to
// 31, differences that wrap.
Result<Case> CaseOfEveryWidth(const TaskSpec& task, Random& random, int threads) {
  constexpr size_t kRun = 32;
  std::vector<uint32_t> values((5001 + random.Below(4000)) | 1);
  uint64_t width = 0;
  uint64_t next = random.Below(32);
  for (size_t i = 0; i < values.size(); ++i) {
    // Every third run is as wide as they come.
    if (i % kRun == 0) width = i / kRun % 3 == 0 ? 31 + random.Below(2) : 1 + next++ % 32;
    auto value = static_cast<uint32_t>(
        random.Next() >> (64 - (random.Below(4) == 0 ? 1 + random.Below(width) : width)));
    if (i % kRun == 0) value |= 1u << (width - 1);
    values[i] = random.Below(2) == 0 ? value : 0u - value;
    if (values[i] == 0x80000000u) values[i] = 0x80000001u;
  }
  return CaseOfIntegers(task, "integers of every width", values, threads);
}

// More in one bin than 16 bits count: so little more that the last of several sums passes it.
Result<Case> CaseOfOneBin(const TaskSpec& task, Random& random, int threads) {
  const uint32_t all = 2 * task.bins;  // half of them outside
  const auto bin = static_cast<uint32_t>(random.Below(task.bins));
  std::vector<uint32_t> values(65536 + random.Below(1000) + kOthers, bin);
  uint64_t others = kOthers;
  for (size_t i = 0; i < values.size(); ++i) {
    if (random.Below(values.size() - i) >= others) continue;
    values[i] = static_cast<uint32_t>((bin + 1 + random.Below(all - 1)) % all);
    --others;
  }
  SZARENA_TRY(Case item, CaseOfIntegers(task, "one bin with most of the values", values, threads));
  item.whole = true;
  return item;
}

Result<Case> CaseAtBound(const TaskSpec& task, uint32_t dtype, uint32_t mode, Random& random,
                         size_t block, int threads) {
  const bool single = dtype == SZARENA_F32;
  SZARENA_TRY(
      field::Field data,
      field::Field::Allocate(single ? field::DType::kF32 : field::DType::kF64, {block * 40 + 5}));
  const double bound = single ? FillAtBound(random, block, data.mutable_values<float>())
                              : FillAtBound(random, block, data.mutable_values<double>());
  return MakeCase(task, "hidden: values twice the bound apart", true, data, bound, mode, threads);
}

}  // namespace

Result<std::vector<Case>> HiddenCases(const TaskSpec& task, uint64_t seed, int threads) {
  std::vector<Case> cases;
  Random random(seed);
  const size_t block = task.block_size == 0 ? 32 : task.block_size;
  for (const Kind& kind : kKinds) {
    const std::string name(kind.name);
    field::GeneratorSpec spec;
    spec.kind = kind.generator;
    spec.seed = random.Next();
    spec.dtype = task.dtypes[cases.size() % task.dtypes.size()] == SZARENA_F32 ? field::DType::kF32
                                                                               : field::DType::kF64;
    spec.dims.assign(static_cast<size_t>(kind.dims), 0);
    for (size_t& extent : spec.dims) extent = kind.low + random.Below(kind.high - kind.low + 1);
    // An odd extent is a multiple of nothing that a block or a vector is.
    if (kind.low > 1) spec.dims.back() |= 1;
    if (name == "one element less than a block") spec.dims[0] = block - 1;
    if (name == "one element more than some blocks")
      spec.dims[0] = block * (2 + random.Below(40)) + 1;
    const bool scalable =
        kind.generator != GeneratorKind::kDenormal && kind.generator != GeneratorKind::kHuge &&
        kind.generator != GeneratorKind::kEdges && kind.generator != GeneratorKind::kZero;
    if (scalable) {
      spec.scale = (random.Below(2) == 0 ? 1.0 : -1.0) * (0.5 + random.Unit());
      if (!kind.absolute) spec.scale *= std::ldexp(1.0, static_cast<int>(random.Below(21)) - 10);
    }
    Result<field::Field> data = field::Generate(spec);
    if (!data) return WithContext(data.error(), "while generating a hidden field");
    const double bound = AbsoluteBound(*data, {kind.bound, !kind.absolute});
    const uint32_t mode = task.modes[cases.size() / task.dtypes.size() % task.modes.size()];
    Case item = MakeCase(task, "hidden: " + name, true, *data, bound, mode, threads);
    // Some calls must do with fewer threads.
    item.problem.threads = static_cast<uint32_t>(1 + random.Below(static_cast<uint64_t>(threads)));
    cases.push_back(std::move(item));
  }
  if (TakesReals(task)) {
    for (const uint32_t dtype : task.dtypes) {
      for (const uint32_t mode : task.modes) {
        SZARENA_TRY(Case item, CaseAtBound(task, dtype, mode, random, block, threads));
        cases.push_back(std::move(item));
      }
    }
  }
  if (task.input == task::Input::kField) {
    for (const uint32_t dtype : task.dtypes) {
      for (const uint32_t mode : task.modes) {
        SZARENA_TRY(Case item, CaseBesideBound(task, dtype, mode, random, block, threads));
        cases.push_back(std::move(item));
      }
    }
  }
  if (!TakesReals(task)) {
    SZARENA_TRY(Case item, CaseOfEveryWidth(task, random, threads));
    cases.push_back(std::move(item));
  }
  if (task.kind == TaskKind::kHistogram) {
    SZARENA_TRY(Case item, CaseOfOneBin(task, random, threads));
    cases.push_back(std::move(item));
  }
  return cases;
}

Result<TimedData> TimedData::Load(const TaskSpec& task, int threads) {
  if (task.timed_fields.empty())
    return Fail(ErrorCode::kInvalidArgument, "task '" + task.name + "' names no field to time");
  const task::Bound& bound = task.timed_fields.front().bound;
  TimedData timed;
  Bytes reals;
  std::optional<field::DType> dtype;
  for (const FieldCase& item : task.timed_fields) {
    Result<field::Field> data = field::LoadField(item.field);
    if (!data)
      return WithContext(data.error(),
                         "while loading field '" + item.name + "' of task '" + task.name + "'");
    // One array has one type: the first field's.
    if (!dtype) dtype = data->dtype();
    SZARENA_TRY(const field::Field same, field::ConvertTo(*data, *dtype));
    const codec::ValueRange range = RangeOf(same);
    const double width = range.max - range.min;
    const double scale = std::isfinite(width) && width > 0 ? 1 / width : 1;
    const size_t from = reals.size();
    reals.resize(from + same.size_bytes());
    for (size_t i = 0; i < same.size(); ++i) {
      if (*dtype == field::DType::kF32) {
        StoreLe(reals.data() + from + i * 4, static_cast<float>(same.values<float>()[i] * scale));
      } else {
        StoreLe(reals.data() + from + i * 8, same.values<double>()[i] * scale);
      }
    }
    timed.name_ += (timed.name_.empty() ? "" : ", ") + item.name;
  }
  if (reals.empty())
    return Fail(ErrorCode::kInvalidArgument,
                "the timed fields of task '" + task.name + "' have no element");
  SZARENA_TRY(field::Field line,
              field::Field::Allocate(*dtype, {reals.size() / field::SizeOf(*dtype)}));
  std::memcpy(line.mutable_bytes().data(), reals.data(), reals.size());
  timed.name_ += " (each scaled to a range of 1), " + bound.ToString();
  timed.problem_ = MakeProblem(task, line, bound.value, task.timed_fields.front().mode, threads);
  timed.base_ = DeriveInput(task, timed.problem_, line.bytes());
  timed.integers_ = !TakesReals(task);
  timed.problem_.n = task.timed_elements;
  timed.problem_.dims[2] = task.timed_elements;
  return timed;
}

void TimedData::Fill(uint64_t seed, std::span<std::byte> input) const {
  // Rotated; reals scaled by a factor within 2 % of 1, integers changed by 0 or 1: the data stay
  // what they are like, and nothing can be looked up.
  Random random(seed);
  const double factor = 0.98 + 0.04 * random.Unit();
  const auto fill = [&]<typename T>(T, auto change) {
    const auto* base = reinterpret_cast<const T*>(base_.data());
    auto* to = reinterpret_cast<T*>(input.data());
    const uint64_t size = base_.size() / sizeof(T);
    const uint64_t n = input.size() / sizeof(T);
    uint64_t from = random.Below(size);
    for (uint64_t i = 0; i < n; from = 0) {
      const uint64_t run = std::min(n - i, size - from);
      for (uint64_t k = 0; k < run; ++k) to[i + k] = change(base[from + k], i + k);
      i += run;
    }
  };
  if (integers_) {
    const uint64_t key = random.Next();
    fill(uint32_t{}, [key](uint32_t value, uint64_t i) {
      return value + (static_cast<uint32_t>(Mix64(key + i / 64) >> (i % 64)) & 1u);
    });
    // Any size and sign but INT32_MIN, which bitpack excludes.
    Sprinkle<uint32_t>(input, random,
                       [&](uint64_t) { return static_cast<uint32_t>(random.Next() | 1); });
  } else if (problem_.dtype == SZARENA_F32) {
    fill(float{}, [by = static_cast<float>(factor)](float value, uint64_t) { return value * by; });
    Sprinkle<float>(input, random, ExceptionalReal<float>);
  } else {
    fill(double{}, [by = factor](double value, uint64_t) { return value * by; });
    Sprinkle<double>(input, random, ExceptionalReal<double>);
  }
}

}  // namespace szarena::judge

// SPDX-License-Identifier: Apache-2.0
#include "field/generate.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <thread>

#include "field/counter_rng.h"
#include "field/wave.h"

namespace szarena::field {
namespace {

struct GeneratorInfo {
  GeneratorKind kind;
  std::string_view name;
  std::string_view description;
  bool bit_level;  // writes bits of the type, so that scale and offset have no meaning
};

constexpr std::array kGenerators = {
    GeneratorInfo{GeneratorKind::kSmooth, "smooth", "sines of several scales", false},
    GeneratorInfo{GeneratorKind::kTurbulence, "turbulence",
                  "lattice noise with a k^(-5/3) spectrum", false},
    GeneratorInfo{GeneratorKind::kParticles, "particles", "coordinates of clustered particles",
                  false},
    GeneratorInfo{GeneratorKind::kFronts, "fronts", "zero but for thin smooth ridges", false},
    GeneratorInfo{GeneratorKind::kSteps, "steps", "runs of one value", false},
    GeneratorInfo{GeneratorKind::kConstant, "constant", "one value everywhere", false},
    GeneratorInfo{GeneratorKind::kZero, "zero", "zero everywhere", true},
    GeneratorInfo{GeneratorKind::kRamp, "ramp", "rises from 0 to 1 along the flat index", false},
    GeneratorInfo{GeneratorKind::kNoise, "noise", "uniform in [-1, 1)", false},
    GeneratorInfo{GeneratorKind::kNormal, "normal", "about standard normal", false},
    GeneratorInfo{GeneratorKind::kNonfinite, "nonfinite",
                  "smooth with NaN and infinities sprinkled", false},
    GeneratorInfo{GeneratorKind::kDenormal, "denormal", "subnormals and zeros of both signs", true},
    GeneratorInfo{GeneratorKind::kHuge, "huge", "finite values of every exponent", true},
    GeneratorInfo{GeneratorKind::kOffset, "offset", "small variations on a large offset", false},
    GeneratorInfo{GeneratorKind::kEdges, "edges", "a cycle of special finite values", true},
};

constexpr auto kKinds = [] {
  std::array<GeneratorKind, kGenerators.size()> kinds{};
  for (size_t i = 0; i < kinds.size(); ++i) kinds[i] = kGenerators[i].kind;
  return kinds;
}();

const GeneratorInfo& InfoOf(GeneratorKind kind) {
  return *std::ranges::find(kGenerators, kind, &GeneratorInfo::kind);
}

// Elements that one call of a filler makes: always inside one row.
constexpr size_t kSegment = 8192;

// Streams of CounterRng: one per use, so that kinds do not repeat one another's numbers.
enum Stream : uint64_t { kValues = 100, kGroups = 101, kPlaces = 102, kChoices = 103 };

template <typename T>
struct Bits;
template <>
struct Bits<float> {
  using U = uint32_t;
  static constexpr int kMantissa = 23;
  static constexpr U kSign = 0x80000000u, kInf = 0x7F800000u, kQuiet = 0x00400000u;
};
template <>
struct Bits<double> {
  using U = uint64_t;
  static constexpr int kMantissa = 52;
  static constexpr U kSign = 0x8000000000000000u, kInf = 0x7FF0000000000000u,
                     kQuiet = 0x0008000000000000u;
};

template <typename T>
class Filler {
 public:
  using B = Bits<T>;
  using U = typename B::U;

  explicit Filler(const GeneratorSpec& spec)
      : spec_(spec),
        values_(spec.seed, kValues),
        groups_(spec.seed, kGroups),
        places_(spec.seed, kPlaces),
        choices_(spec.seed, kChoices),
        count_(ElementCount(spec.dims).value()),
        waves_(spec.dims, spec.seed),
        noise_(spec.dims, spec.seed, spec.kind == GeneratorKind::kFronts ? 4 : 16) {}

  // `begin` is a flat index; the segment lies inside one row.
  void Fill(size_t begin, std::span<T> out) const {
    if (InfoOf(spec_.kind).bit_level) {
      for (size_t i = 0; i < out.size(); ++i) out[i] = std::bit_cast<T>(BitsAt(begin + i));
      return;
    }
    double buffer[kSegment];
    std::span<double> real(buffer, out.size());
    FillReal(begin, real);
    for (size_t i = 0; i < out.size(); ++i) {
      out[i] = static_cast<T>(real[i] * spec_.scale + spec_.offset);
    }
    if (spec_.kind == GeneratorKind::kNonfinite) Sprinkle(begin, out);
  }

 private:
  void FillReal(size_t begin, std::span<double> out) const {
    switch (spec_.kind) {
      case GeneratorKind::kSmooth:
      case GeneratorKind::kNonfinite:
        waves_.Fill(begin, out);
        return;
      case GeneratorKind::kTurbulence:
        noise_.Fill(begin, out);
        return;
      case GeneratorKind::kFronts:
        noise_.Fill(begin, out);
        for (double& v : out) v = Ridge(v);
        return;
      case GeneratorKind::kParticles:
      case GeneratorKind::kSteps:
      case GeneratorKind::kConstant:
      case GeneratorKind::kRamp:
      case GeneratorKind::kNoise:
      case GeneratorKind::kNormal:
      case GeneratorKind::kOffset:
        for (size_t i = 0; i < out.size(); ++i) out[i] = RealAt(begin + i);
        return;
      case GeneratorKind::kZero:
      case GeneratorKind::kDenormal:
      case GeneratorKind::kHuge:
      case GeneratorKind::kEdges:
        break;
    }
    SZARENA_CHECK(false, "not a real-valued generator");
  }

  static double Ridge(double v) {
    constexpr double kHalfWidth = 0.03;
    double t = v / kHalfWidth;
    double inside = 1 - t * t;
    return inside > 0 ? inside * inside : 0;
  }

  double RealAt(uint64_t i) const {
    switch (spec_.kind) {
      case GeneratorKind::kParticles: {
        uint64_t cluster = i / 256;
        double centre =
            64 * groups_.Uniform(2 * (cluster / 64)) + 2 * groups_.Signed(2 * cluster + 1);
        double radius = 1.0 / static_cast<double>(1 + (choices_.Bits(cluster) & 63));
        return centre + radius * values_.Normal(i);
      }
      case GeneratorKind::kSteps: {
        uint64_t run = i / 97;
        if (groups_.Bits(run / 8) & 1) run = run / 8 + (uint64_t{1} << 62);
        return static_cast<double>(values_.Bits(run) % 17) * 0.125;
      }
      case GeneratorKind::kRamp:
        return static_cast<double>(i) / static_cast<double>(count_);
      case GeneratorKind::kNoise:
        return values_.Signed(i);
      case GeneratorKind::kNormal:
        return values_.Normal(i);
      case GeneratorKind::kOffset:
        return 1048576.0 + 4 * values_.Normal(i);
      default:
        return 1;  // kConstant
    }
  }

  U BitsAt(uint64_t i) const {
    U bits = static_cast<U>(values_.Bits(i));
    switch (spec_.kind) {
      case GeneratorKind::kDenormal:
        if (choices_.Bits(i) % 8 == 0) return bits & B::kSign;
        // A random number of leading zeros, so that every size of subnormal occurs.
        return (bits & B::kSign) |
               ((bits & ((U{1} << B::kMantissa) - 1)) >> (choices_.Bits(i) / 8 % B::kMantissa));
      case GeneratorKind::kHuge:
        if ((bits & B::kInf) == B::kInf) bits &= ~(U{1} << B::kMantissa);
        return bits;
      case GeneratorKind::kEdges:
        return EdgeBits(i);
      default:
        return 0;  // kZero
    }
  }

  static U EdgeBits(uint64_t i) {
    constexpr U kOne = B::kInf >> 1 & ~((U{1} << B::kMantissa) - 1);  // bits of 1.0 in both types
    constexpr std::array<U, 16> kEdges = {
        0,
        B::kSign,
        1,                           // smallest subnormal
        (U{1} << B::kMantissa) - 1,  // largest subnormal
        U{1} << B::kMantissa,        // smallest normal
        B::kInf - 1,                 // largest finite
        B::kSign | (B::kInf - 1),    // most negative finite
        kOne,
        B::kSign | kOne,
        kOne + 1,
        kOne - 1,
        std::bit_cast<U>(static_cast<T>(0.5)),
        std::bit_cast<U>(static_cast<T>(-1.5)),
        std::bit_cast<U>(static_cast<T>(16777216)),
        std::bit_cast<U>(static_cast<T>(16777218)),
        std::bit_cast<U>(static_cast<T>(2147483648.0)),
    };
    // Coprime strides, so that each edge meets each other one as neighbour.
    return kEdges[(i + i / 16 * (i / 16)) % 16];
  }

  void Sprinkle(size_t begin, std::span<T> out) const {
    for (size_t i = 0; i < out.size(); ++i) {
      if (!(places_.Uniform(begin + i) < spec_.rate)) continue;
      U random = static_cast<U>(choices_.Bits(begin + i));
      U payload = (random >> 8 & (B::kQuiet - 1)) | 1;
      U bits = B::kInf;
      switch (random % 6) {
        case 0:
          bits = B::kInf;
          break;
        case 1:
          bits = B::kSign | B::kInf;
          break;
        case 2:
          bits = B::kInf | B::kQuiet;
          break;
        case 3:
          bits = B::kSign | B::kInf | B::kQuiet;
          break;
        case 4:
          bits = B::kInf | B::kQuiet | payload;
          break;
        default:
          bits = B::kInf | payload;
          break;  // signalling
      }
      out[i] = std::bit_cast<T>(bits);
    }
  }

  GeneratorSpec spec_;
  CounterRng values_, groups_, places_, choices_;
  size_t count_;
  Waves waves_;
  LatticeNoise noise_;
};

template <typename T>
void FillAll(const GeneratorSpec& spec, std::span<T> out, unsigned threads) {
  const Filler<T> filler(spec);
  const size_t row = spec.dims.back();
  const size_t segments_per_row = (row + kSegment - 1) / kSegment;
  const size_t segments = out.size() / row * segments_per_row;
  std::atomic<size_t> next = 0;
  auto work = [&] {
    constexpr size_t kBatch = 16;
    for (size_t first; (first = next.fetch_add(kBatch)) < segments;) {
      for (size_t s = first; s < std::min(first + kBatch, segments); ++s) {
        size_t x = s % segments_per_row * kSegment;
        size_t begin = s / segments_per_row * row + x;
        filler.Fill(begin, out.subspan(begin, std::min(kSegment, row - x)));
      }
    }
  };
  std::vector<std::jthread> helpers;
  size_t wanted = std::min<size_t>(threads, (segments + 15) / 16);
  for (size_t i = 1; i < wanted; ++i) helpers.emplace_back(work);
  work();
}

}  // namespace

std::string_view GeneratorName(GeneratorKind kind) { return InfoOf(kind).name; }
std::string_view GeneratorDescription(GeneratorKind kind) { return InfoOf(kind).description; }
std::span<const GeneratorKind> AllGenerators() { return kKinds; }

Result<GeneratorKind> ParseGeneratorKind(std::string_view name) {
  std::string known;
  for (const GeneratorInfo& info : kGenerators) {
    if (info.name == name) return info.kind;
    known += (known.empty() ? "" : ", ") + std::string(info.name);
  }
  return Fail(ErrorCode::kNotFound,
              fmt::format("unknown generator '{}': expected one of {}", name, known));
}

std::string GeneratorSpec::ToString() const {
  const GeneratorSpec defaults;
  std::string text =
      fmt::format("gen:{}:seed={}:dims={}", GeneratorName(kind), seed, DimsToString(dims));
  if (dtype != defaults.dtype) text += fmt::format(":dtype={}", DTypeName(dtype));
  if (scale != defaults.scale) text += fmt::format(":scale={}", scale);
  if (offset != defaults.offset) text += fmt::format(":offset={}", offset);
  if (rate != defaults.rate) text += fmt::format(":rate={}", rate);
  return text;
}

Result<Field> Generate(const GeneratorSpec& spec, unsigned threads) {
  if (InfoOf(spec.kind).bit_level && (spec.scale != 1 || spec.offset != 0)) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("generator '{}' takes no scale or offset", GeneratorName(spec.kind)));
  }
  if (!(spec.rate >= 0 && spec.rate <= 1)) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("bad rate {}: expected 0 to 1", spec.rate));
  }
  if (!std::isfinite(spec.scale) || !std::isfinite(spec.offset)) {
    return Fail(ErrorCode::kInvalidArgument, "scale and offset are to be finite");
  }
  SZARENA_TRY(Field field, Field::Allocate(spec.dtype, spec.dims));
  if (field.size() == 0 || spec.kind == GeneratorKind::kZero) return field;
  if (threads == 0) threads = std::max(1u, std::thread::hardware_concurrency());
  if (spec.dtype == DType::kF32) {
    FillAll(spec, field.mutable_values<float>(), threads);
  } else {
    FillAll(spec, field.mutable_values<double>(), threads);
  }
  return field;
}

}  // namespace szarena::field

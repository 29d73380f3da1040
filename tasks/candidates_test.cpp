// SPDX-License-Identifier: Apache-2.0
// Every source, baseline and ladder step for the CPU builds and does what the reference does:
// compressors give the reference's bytes and values, primitives the results of code written here
// from the contract. Those for CUDA do the same, their kernels run by the host
// (testing/cuda_on_host.h).
#include <dlfcn.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>

#include "base/bytes.h"
#include "codec/core/bound.h"
#include "codec/szp/reference.h"
#include "codec/szx/reference.h"
#include "field/counter_rng.h"
#include "field/generate.h"
#include "szarena_candidate.h"
#include "task/task.h"

namespace szarena {
namespace {

namespace fs = std::filesystem;
using Bytes = std::vector<std::byte>;

const std::string kRoot = SZARENA_SOURCE_DIR;

// A candidate's library, built in a temporary folder. Nothing of it is run in a sandbox here: these
// are our own.
class Library {
 public:
  Library(const std::string& directory, const std::string& march) {
    std::string folder = testing::TempDir() + "candidate-XXXXXX";
    if (mkdtemp(folder.data()) == nullptr) return;
    std::string library = folder + "/candidate.so";
    // The line of src/target/cpu/build.cpp, with warnings as errors.
    std::string command = fmt::format(
        "g++ -std=c++20 -O3 -march={} -ffp-contract=off -fopenmp -pthread -fPIC -shared "
        "-fvisibility=hidden -Wall "
        "-Wextra -Werror -Wl,-z,defs -I{}/tasks/contract {}/*.cpp -o {}",
        march, kRoot, directory, library);
    if (fs::exists(directory + "/candidate.cu")) {
      command = fmt::format(
          "python3 {0}/tasks/testing/cuda_on_host.py {1} {2} && g++ -std=c++20 -O2 -w "
          "-ffp-contract=off "
          "-fno-strict-aliasing -fno-gnu-unique -fPIC -shared -fvisibility=hidden -Wl,-z,defs "
          "-include {0}/tasks/testing/cuda_on_host.h -I{0}/tasks/contract -I{2} $(find {2} -name "
          "'*.cpp') -o {3}",
          kRoot, directory, folder, library);
    }
    if (std::system(command.c_str()) == 0) handle_ = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
    fs::remove_all(folder);
  }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  ~Library() {
    if (handle_ != nullptr) dlclose(handle_);
  }
  bool ok() const { return handle_ != nullptr; }
  template <typename F>
  F* Get(const char* name) const {
    return reinterpret_cast<F*>(dlsym(handle_, name));
  }

 private:
  void* handle_ = nullptr;
};

using WorkspaceFn = uint64_t(const szarena_problem*);
using ForwardFn = int(const szarena_problem*, const void*, void*, uint64_t, void*, uint64_t,
                      szarena_payload*);
using BackwardFn = int(const szarena_problem*, const void*, uint64_t, void*, void*, uint64_t);

constexpr std::byte kGuard{0xA5};
constexpr size_t kGuardBytes = 256;
constexpr size_t kWorkspaceAlignment = 256;  // of the CUDA contract, more than the CPU's

// Memory with guard zones, filled with poison.
struct Guarded {
  explicit Guarded(size_t length, size_t alignment = 1)
      : bytes(length + 2 * kGuardBytes + alignment, kGuard), size(length) {
    const auto first = reinterpret_cast<uintptr_t>(bytes.data() + kGuardBytes);
    at = kGuardBytes + (alignment - first % alignment) % alignment;
  }
  std::byte* data() { return bytes.data() + at; }
  void ExpectIntact(const std::string& what) const {
    for (size_t i = 0; i < kGuardBytes; ++i) {
      ASSERT_EQ(bytes[at - 1 - i], kGuard) << what << ": wrote before the buffer";
      ASSERT_EQ(bytes[at + size + i], kGuard) << what << ": wrote after the buffer";
    }
  }
  Bytes bytes;
  size_t size;
  size_t at = 0;
};

struct Candidate {
  // Each directory is built once, however many tests use it.
  static const Candidate& Of(const std::string& directory, bool compressor,
                             const std::string& march = "native") {
    static std::map<std::pair<std::string, std::string>, std::unique_ptr<Candidate>> built;
    auto& candidate = built[{directory, march}];
    if (candidate == nullptr) candidate = std::make_unique<Candidate>(directory, compressor, march);
    return *candidate;
  }
  Candidate(const std::string& directory, bool compressor, const std::string& march)
      : library(directory, march),
        workspace(library.ok() ? library.Get<WorkspaceFn>("szarena_workspace_bytes") : nullptr),
        forward(library.ok()
                    ? library.Get<ForwardFn>(compressor ? "szarena_compress" : "szarena_run")
                    : nullptr),
        backward(library.ok() ? library.Get<BackwardFn>(compressor ? "szarena_decompress"
                                                                   : "szarena_inverse")
                              : nullptr) {}

  // The payload, or nothing where the call failed (and the test with it).
  Bytes Forward(const szarena_problem& problem, const Bytes& input, size_t capacity,
                const std::string& what) const {
    Guarded output(capacity), scratch(workspace(&problem), kWorkspaceAlignment);
    szarena_payload payload{~0ull, ~0ull};
    int status = forward(&problem, input.data(), output.data(), capacity, scratch.data(),
                         scratch.size, &payload);
    EXPECT_EQ(status, SZARENA_OK) << what;
    output.ExpectIntact(what);
    scratch.ExpectIntact(what + " (workspace)");
    if (status != SZARENA_OK || payload.offset > capacity ||
        payload.size > capacity - payload.offset) {
      ADD_FAILURE() << what << ": payload outside the buffer";
      return {};
    }
    return Bytes(output.data() + payload.offset, output.data() + payload.offset + payload.size);
  }

  int Backward(const szarena_problem& problem, const Bytes& payload, size_t output_bytes,
               Bytes& out, const std::string& what) const {
    // The payload at an odd address, and not a byte more than its own.
    Bytes odd(payload.size() + 1);
    std::ranges::copy(payload, odd.begin() + 1);
    odd.shrink_to_fit();
    Guarded output(output_bytes), scratch(workspace(&problem), kWorkspaceAlignment);
    int status = backward(&problem, odd.data() + 1, payload.size(), output.data(), scratch.data(),
                          scratch.size);
    output.ExpectIntact(what);
    scratch.ExpectIntact(what + " (workspace)");
    out.assign(output.data(), output.data() + output_bytes);
    return status;
  }

  Library library;
  WorkspaceFn* workspace;
  ForwardFn* forward;
  BackwardFn* backward;
};

std::vector<std::string> CandidateFolders(const std::string& task_name,
                                          task::Target target = task::Target::kCpu) {
  task::Task task = *task::LoadTask(kRoot, task_name);
  task::TargetInfo info = task.targets[target];
  std::vector<std::string> folders = info.ladder;
  if (!info.baseline.empty() && std::ranges::find(folders, info.baseline) == folders.end()) {
    folders.push_back(info.baseline);
  }
  const std::string source =
      task.folder + (target == task::Target::kCpu ? "/source/cpu" : "/source/cuda");
  if (target == task::Target::kCpu || fs::exists(source)) folders.push_back(source);
  return folders;
}

szarena_problem Problem(uint64_t n, uint32_t dtype, double bound) {
  szarena_problem problem{};
  problem.struct_size = sizeof problem;
  problem.version = SZARENA_CONTRACT_VERSION;
  problem.n = n;
  problem.dims[0] = problem.dims[1] = 1;
  problem.dims[2] = n;
  problem.dtype = dtype;
  problem.abs_bound = bound;
  problem.threads = 1;
  return problem;
}

Bytes ToBytes(const field::Field& field) { return {field.bytes().begin(), field.bytes().end()}; }

// What compressors are tried on: every generator, lengths around block borders, bounds from useless
// to tiny.
struct Case {
  field::GeneratorSpec spec;
  double bound;
  uint32_t threads;
};
std::vector<Case> CompressorCases() {
  std::vector<Case> cases;
  const size_t lengths[] = {0, 1, 31, 32, 33, 127, 128, 129, 1000, 4099};
  const double bounds[] = {1e-3, 0.5, 1e-7, 1e-40, 1e30};
  uint64_t seed = 0;
  for (field::DType dtype : {field::DType::kF32, field::DType::kF64}) {
    for (field::GeneratorKind kind : field::AllGenerators()) {
      for (size_t k = 0; k < std::size(lengths); ++k) {
        field::GeneratorSpec spec;
        spec.kind = kind;
        spec.seed = ++seed;
        spec.dtype = dtype;
        spec.dims = {lengths[k]};
        spec.rate = 0.01;
        cases.push_back(
            {spec, bounds[(k + seed / 10) % std::size(bounds)], 1 + static_cast<uint32_t>(k % 3)});
      }
    }
    // Large enough for several threads to have work.
    field::GeneratorSpec large;
    large.kind = field::GeneratorKind::kTurbulence;
    large.dtype = dtype;
    large.dims = {400003};
    for (double bound : {1e-2, 1e-4}) cases.push_back({large, bound, 3});
  }
  // Neighbours at the edge of what 32 bits hold: with a bound of 1 the midpoint rounds.
  for (double bound : {1.0, 0.25, 3e-44}) {
    for (field::GeneratorKind kind :
         {field::GeneratorKind::kOffset, field::GeneratorKind::kEdges}) {
      field::GeneratorSpec spec;
      spec.kind = kind;
      spec.dims = {2000};
      cases.push_back({spec, bound, 1});
    }
  }
  return cases;
}

codec::DType CodecType(field::DType dtype) {
  return dtype == field::DType::kF32 ? codec::DType::kF32 : codec::DType::kF64;
}

// What the two codecs differ in.
struct Codec {
  std::vector<uint32_t> modes;
  uint32_t block_size, pad_blocks;
  Bytes (*compress)(const field::Field&, double bound, uint32_t mode);
  Bytes (*decompress)(const Bytes& payload, const field::Field& like, double bound, uint32_t mode);
  uint64_t (*capacity)(const field::Field&, double bound, uint32_t mode);
};

codec::ConstArray Borrow(const field::Field& f) {
  return {f.bytes().data(), f.size(), CodecType(f.dtype())};
}

codec::szp::Params SzpParams(double bound, uint32_t mode) {
  return {bound, static_cast<codec::szp::Mode>(mode - SZARENA_MODE_FIXED), 1024};
}
codec::szx::Params SzxParams(double bound, uint32_t mode) {
  return {bound, mode == SZARENA_MODE_RANDOM_ACCESS ? codec::szx::Mode::kRandomAccess
                                                    : codec::szx::Mode::kSequential};
}

const Codec kSzp = {
    {SZARENA_MODE_PLAIN, SZARENA_MODE_OUTLIER, SZARENA_MODE_FIXED},
    32,
    1024,
    [](const field::Field& f, double bound, uint32_t mode) {
      Bytes payload(
          *codec::szp::MaxPayloadSize(f.size(), CodecType(f.dtype()), SzpParams(bound, mode)));
      payload.resize(*codec::szp::ReferenceCompress(Borrow(f), SzpParams(bound, mode), payload));
      return payload;
    },
    [](const Bytes& payload, const field::Field& like, double bound, uint32_t mode) {
      Bytes out(like.size_bytes());
      EXPECT_TRUE(codec::szp::ReferenceDecompress(
          payload, SzpParams(bound, mode), {out.data(), like.size(), CodecType(like.dtype())}));
      return out;
    },
    [](const field::Field& f, double bound, uint32_t mode) {
      return *codec::szp::MaxPayloadSize(f.size(), CodecType(f.dtype()), SzpParams(bound, mode)) +
             4096;
    }};
const Codec kSzx = {{SZARENA_MODE_RANDOM_ACCESS, SZARENA_MODE_SEQUENTIAL},
                    128,
                    0,
                    [](const field::Field& f, double bound, uint32_t mode) {
                      return *codec::szx::CompressReference(Borrow(f), SzxParams(bound, mode));
                    },
                    [](const Bytes& payload, const field::Field& like, double, uint32_t) {
                      Bytes out(like.size_bytes());
                      EXPECT_TRUE(codec::szx::DecompressReference(
                          payload, {out.data(), like.size(), CodecType(like.dtype())}));
                      return out;
                    },
                    [](const field::Field& f, double bound, uint32_t mode) {
                      return *codec::szx::MaxPayloadSize(f.size(), CodecType(f.dtype()),
                                                         SzxParams(bound, mode)) +
                             4096;
                    }};
// Kernels may count on the room that the judge gives (docs/contracts/cuda.md).
const Codec kSzxOnDevice = [] {
  Codec codec = kSzx;
  codec.capacity = [](const field::Field& f, double bound, uint32_t mode) {
    return *codec::szx::RoomySize(f.size(), CodecType(f.dtype()), SzxParams(bound, mode)) + 4096;
  };
  return codec;
}();

void CheckCompressor(const std::string& folder, const Codec& codec,
                     const std::string& march = "native") {
  SCOPED_TRACE(folder);
  const Candidate& candidate = Candidate::Of(folder, true, march);
  ASSERT_TRUE(candidate.library.ok() && candidate.workspace && candidate.forward &&
              candidate.backward);
  for (const Case& item : CompressorCases()) {
    field::Field f = *field::Generate(item.spec, 1);
    Bytes input = ToBytes(f);
    for (uint32_t mode : codec.modes) {
      std::string what = fmt::format("{} bound {} mode {} threads {}", item.spec.ToString(),
                                     item.bound, mode, item.threads);
      szarena_problem problem = Problem(
          f.size(), f.dtype() == field::DType::kF32 ? SZARENA_F32 : SZARENA_F64, item.bound);
      problem.mode = mode;
      problem.block_size = codec.block_size;
      problem.pad_blocks = codec.pad_blocks;
      problem.threads = item.threads;
      Bytes expected = codec.compress(f, item.bound, mode);
      Bytes payload = candidate.Forward(problem, input, codec.capacity(f, item.bound, mode), what);
      ASSERT_EQ(payload.size(), expected.size()) << what;
      ASSERT_TRUE(payload == expected) << what;
      Bytes values = codec.decompress(expected, f, item.bound, mode), decoded;
      ASSERT_EQ(candidate.Backward(problem, expected, input.size(), decoded, what), SZARENA_OK)
          << what;
      ASSERT_TRUE(decoded == values) << what;
      if (testing::Test::HasFailure()) return;
    }
  }
}

// A cut or lengthened stream is refused and nothing outside the buffers is touched.
void CheckDamage(const std::string& folder, const Codec& codec) {
  SCOPED_TRACE(folder);
  const Candidate& candidate = Candidate::Of(folder, true);
  ASSERT_TRUE(candidate.library.ok());
  field::GeneratorSpec spec;
  spec.kind = field::GeneratorKind::kTurbulence;
  spec.dims = {1000};
  field::Field f = *field::Generate(spec, 1);
  for (uint32_t mode : codec.modes) {
    szarena_problem problem = Problem(f.size(), SZARENA_F32, 1e-3);
    problem.mode = mode;
    problem.block_size = codec.block_size;
    problem.pad_blocks = codec.pad_blocks;
    Bytes payload = codec.compress(f, 1e-3, mode), out;
    for (size_t size = 0; size < payload.size(); size += 1 + size / 40) {
      Bytes cut(payload.begin(), payload.begin() + static_cast<ptrdiff_t>(size));
      EXPECT_NE(candidate.Backward(problem, cut, f.size_bytes(), out, "cut"), SZARENA_OK) << size;
    }
    Bytes longer = payload;
    longer.push_back(std::byte{0});
    EXPECT_NE(candidate.Backward(problem, longer, f.size_bytes(), out, "longer"), SZARENA_OK);
  }
}

TEST(SzpCandidates, GiveTheReferencesBytes) {
  for (const auto& folder : CandidateFolders("szp")) CheckCompressor(folder, kSzp);
}
TEST(SzpCandidates, RefuseDamage) {
  for (const auto& folder : CandidateFolders("szp")) CheckDamage(folder, kSzp);
}
// A machine with AVX2 alone takes other branches of the baselines.
TEST(SzpCandidates, GiveTheReferencesBytesWithAvx2) {
  CheckCompressor(task::LoadTask(kRoot, "szp")->targets[task::Target::kCpu].baseline, kSzp,
                  "haswell");
}
TEST(SzxCandidates, GiveTheReferencesBytesWithAvx2) {
  CheckCompressor(task::LoadTask(kRoot, "szx")->targets[task::Target::kCpu].baseline, kSzx,
                  "haswell");
}
TEST(SzxCandidates, GiveTheReferencesBytes) {
  for (const auto& folder : CandidateFolders("szx")) CheckCompressor(folder, kSzx);
}
TEST(SzxCandidates, RefuseDamage) {
  for (const auto& folder : CandidateFolders("szx")) CheckDamage(folder, kSzx);
}

// Kernels on the host.
TEST(CudaCandidates, SzpGivesTheReferencesBytes) {
  for (const auto& folder : CandidateFolders("szp", task::Target::kCuda))
    CheckCompressor(folder, kSzp);
}

// Values whose errors are the bound give or take some roundings: alone in their blocks, or all.
template <typename T>
std::vector<T> AtTheBound(T bound, uint64_t seed) {
  field::CounterRng rng(seed, 1);
  uint64_t draws = 0;
  const auto below = [&](uint64_t n) { return rng.Bits(draws++) % n; };
  std::vector<T> values(32 * 70 + below(32));
  for (size_t first = 0; first < values.size(); first += 32) {
    const bool all = below(8) == 0;
    for (uint64_t i = 0; i < (all ? 32 : 1); ++i) {
      T value = bound * static_cast<T>(2 * below(uint64_t{1} << below(14)) + 1);
      for (uint64_t steps = below(4); steps > 0; --steps) value = std::nextafter(value, T{0});
      for (uint64_t steps = below(4); steps > 0; --steps) value = std::nextafter(value, 4 * value);
      const size_t place = first + (all ? i : below(32));
      if (place < values.size()) values[place] = below(2) == 0 ? value : -value;
    }
  }
  return values;
}
template <typename T>
void CheckAtTheBound(const Candidate& candidate) {
  constexpr bool kSingle = std::same_as<T, float>;
  for (uint64_t seed = 0; seed < 150; ++seed) {
    field::CounterRng rng(seed, 2);
    // Every fifth a power of two, which the quantiser's scale is exact for.
    const double bound =
        std::ldexp(seed % 5 == 0 ? 1 : 1 + rng.Uniform(0), static_cast<int>(rng.Bits(1) % 60) - 30);
    const std::vector<T> values = AtTheBound(codec::RoundBoundDown<T>(bound), seed);
    const auto* bytes = reinterpret_cast<const std::byte*>(values.data());
    for (uint32_t mode : kSzp.modes) {
      const std::string what = fmt::format("bound {} mode {}", bound, mode);
      szarena_problem problem = Problem(values.size(), kSingle ? SZARENA_F32 : SZARENA_F64, bound);
      problem.mode = mode;
      problem.block_size = 32;
      problem.pad_blocks = 1024;
      const auto type = kSingle ? codec::DType::kF32 : codec::DType::kF64;
      const auto params = SzpParams(bound, mode);
      Bytes expected(*codec::szp::MaxPayloadSize(values.size(), type, params));
      const size_t room = expected.size();
      expected.resize(
          *codec::szp::ReferenceCompress({bytes, values.size(), type}, params, expected));
      ASSERT_TRUE(candidate.Forward(problem, {bytes, bytes + values.size() * sizeof(T)}, room,
                                    what) == expected)
          << what;
    }
  }
}
TEST(CudaCandidates, SzpDecidesAtTheBoundAsTheReferenceDoes) {
  const Candidate& candidate =
      Candidate::Of(task::LoadTask(kRoot, "szp")->targets[task::Target::kCuda].baseline, true);
  ASSERT_TRUE(candidate.library.ok() && candidate.workspace && candidate.forward);
  CheckAtTheBound<float>(candidate);
  CheckAtTheBound<double>(candidate);
}
TEST(CudaCandidates, SzxGivesTheReferencesBytes) {
  for (const auto& folder : CandidateFolders("szx", task::Target::kCuda))
    CheckCompressor(folder, kSzxOnDevice);
}

// ------------------------------------------------------------------ primitives

template <typename T>
Bytes BytesOf(const std::vector<T>& values) {
  const auto* data = reinterpret_cast<const std::byte*>(values.data());
  return Bytes(data, data + values.size() * sizeof(T));
}

// Integers of many sizes: of `bits` bits and fewer, either sign.
std::vector<int32_t> Integers(size_t n, unsigned bits, uint64_t seed) {
  field::CounterRng rng(seed, bits);
  std::vector<int32_t> values(n);
  for (size_t i = 0; i < n; ++i) {
    const auto magnitude = static_cast<int32_t>(
        rng.Bits(2 * i) & ((uint64_t{1} << (rng.Bits(i / 64) % (bits + 1))) - 1));
    values[i] = rng.Bits(2 * i + 1) & 1 ? -magnitude : magnitude;
  }
  return values;
}

const size_t kLengths[] = {0, 1, 7, 8, 9, 31, 32, 33, 100, 128, 1000, 4099, 300001};

// Runs baseline and source of a primitive on one input; both must give `expected`, and the input
// again where there is an inverse.
void CheckPrimitive(const std::string& name, const szarena_problem& problem, const Bytes& input,
                    const Bytes& expected, size_t capacity, bool has_inverse) {
  // The baseline also as a machine with AVX2 alone builds it.
  std::vector<std::pair<std::string, std::string>> builds;
  for (const std::string& folder : CandidateFolders(name)) builds.emplace_back(folder, "native");
  builds.emplace_back(builds.front().first, "haswell");
  for (const std::string& folder : CandidateFolders(name, task::Target::kCuda))
    builds.emplace_back(folder, "native");
  for (const auto& [folder, march] : builds) {
    const Candidate& candidate = Candidate::Of(folder, false, march);
    ASSERT_TRUE(candidate.library.ok() && candidate.workspace && candidate.forward) << folder;
    ASSERT_EQ(candidate.backward != nullptr, has_inverse) << folder;
    std::string what =
        fmt::format("{} n {} dims {}x{}x{} threads {}", folder, problem.n, problem.dims[0],
                    problem.dims[1], problem.dims[2], problem.threads);
    Bytes payload = candidate.Forward(problem, input, capacity, what);
    ASSERT_TRUE(payload == expected) << what;
    if (!has_inverse) continue;
    Bytes back;
    ASSERT_EQ(candidate.Backward(problem, payload, input.size(), back, what), SZARENA_OK) << what;
    ASSERT_TRUE(back == input) << what;
  }
}

TEST(PrimitiveCandidates, Quantize) {
  for (const Case& item : CompressorCases()) {
    field::Field f = *field::Generate(item.spec, 1);
    szarena_problem problem =
        Problem(f.size(), f.dtype() == field::DType::kF32 ? SZARENA_F32 : SZARENA_F64, item.bound);
    problem.threads = item.threads;
    std::vector<int32_t> codes(f.size());
    std::vector<uint8_t> bitmap((f.size() + 7) / 8);
    auto quantise = [&](auto values) {
      using T = std::remove_cv_t<typename decltype(values)::element_type>;
      const codec::szp::Quantiser<T> quantiser(item.bound);
      for (size_t i = 0; i < values.size(); ++i) {
        auto q = quantiser.Quantise(values[i]);
        codes[i] = q.value_or(0);
        if (!q) bitmap[i / 8] |= static_cast<uint8_t>(1u << (i % 8));
      }
    };
    if (f.dtype() == field::DType::kF32) {
      quantise(f.values<float>());
    } else {
      quantise(f.values<double>());
    }
    Bytes expected = BytesOf(codes), tail = BytesOf(bitmap);
    expected.insert(expected.end(), tail.begin(), tail.end());
    CheckPrimitive("quantize", problem, ToBytes(f), expected, expected.size() + 4096, false);
    if (HasFailure()) return;
  }
}

TEST(PrimitiveCandidates, Lorenzo) {
  for (const field::Dims& dims : std::vector<field::Dims>{{1, 1, 0},
                                                          {1, 1, 1},
                                                          {1, 1, 1000},
                                                          {1, 1, 300001},
                                                          {1, 30, 1},
                                                          {1, 17, 33},
                                                          {5, 7, 9},
                                                          {40, 1, 1},
                                                          {3, 400, 211},
                                                          {1, 2, 150000}}) {
    const size_t nz = dims[0], ny = dims[1], nx = dims[2];
    for (unsigned bits : {4u, 31u}) {
      std::vector<int32_t> values = Integers(nz * ny * nx, bits, nx);
      std::vector<uint32_t> expected(values.size());
      auto at = [&](size_t z, size_t y, size_t x, size_t dz, size_t dy, size_t dx) {
        if (z < dz || y < dy || x < dx) return 0u;
        return static_cast<uint32_t>(values[((z - dz) * ny + y - dy) * nx + x - dx]);
      };
      for (size_t i = 0; i < values.size(); ++i) {
        for (size_t corner = 0; corner < 8; ++corner) {
          const size_t dz = corner >> 2, dy = corner >> 1 & 1, dx = corner & 1;
          const uint32_t value = at(i / (ny * nx), i / nx % ny, i % nx, dz, dy, dx);
          expected[i] += (dz + dy + dx) % 2 == 0 ? value : 0u - value;
        }
      }
      szarena_problem problem = Problem(values.size(), SZARENA_F32, 1);
      for (size_t d = 0; d < 3; ++d) problem.dims[d] = dims[d];
      for (uint32_t threads : {1u, 3u}) {
        problem.threads = threads;
        CheckPrimitive("lorenzo", problem, BytesOf(values), BytesOf(expected),
                       4 * values.size() + 4096, true);
      }
    }
  }
}

TEST(PrimitiveCandidates, Histogram) {
  for (size_t n : kLengths) {
    for (uint32_t bins : {1u, 64u, 1000u, 65536u}) {
      std::vector<int32_t> values = Integers(n, bins == 65536 ? 31 : 9, n);
      std::vector<uint32_t> expected(bins + 1);
      for (int32_t v : values)
        ++expected[v < 0 || v >= static_cast<int64_t>(bins) ? bins : static_cast<uint32_t>(v)];
      szarena_problem problem = Problem(n, SZARENA_F32, 1);
      problem.bins = bins;
      problem.threads = 1 + bins % 3;
      CheckPrimitive("histogram", problem, BytesOf(values), BytesOf(expected),
                     4 * expected.size() + 4096, false);
    }
  }
}

// SZp's fixed mode on whole numbers with bound 0.5 is bitpack.
TEST(PrimitiveCandidates, Bitpack) {
  for (size_t n : kLengths) {
    for (unsigned bits : {0u, 1u, 7u, 8u, 9u, 16u, 24u, 29u}) {
      std::vector<int32_t> values = Integers(n, bits, n);
      std::vector<double> reals(values.begin(), values.end());
      codec::szp::Params params{0.5, codec::szp::Mode::kFixed, 1024};
      Bytes expected(*codec::szp::MaxPayloadSize(n, codec::DType::kF64, params));
      expected.resize(*codec::szp::ReferenceCompress(codec::ArrayOf(std::span<const double>(reals)),
                                                     params, expected));
      szarena_problem problem = Problem(n, SZARENA_F32, 1);
      problem.block_size = 32;
      problem.pad_blocks = 1024;
      problem.threads = 1 + bits % 3;
      const size_t capacity = (n + 31) / 32 * 128 + 1024 * ((n + 32767) / 32768) + 4096;
      CheckPrimitive("bitpack", problem, BytesOf(values), expected, capacity, true);
    }
  }
}

TEST(PrimitiveCandidates, BitpackKeepsTheLargestMagnitudes) {
  std::vector<int32_t> values(100, INT32_MAX);
  for (size_t i = 0; i < values.size(); i += 3) values[i] = -INT32_MAX;
  szarena_problem problem = Problem(values.size(), SZARENA_F32, 1);
  problem.block_size = 32;
  problem.pad_blocks = 1024;
  for (const std::string& folder : CandidateFolders("bitpack")) {
    const Candidate& candidate = Candidate::Of(folder, false);
    Bytes payload = candidate.Forward(problem, BytesOf(values), 8192, folder), back;
    EXPECT_EQ(payload.size(), 1024u + 4 * 128);
    ASSERT_EQ(candidate.Backward(problem, payload, 400, back, folder), SZARENA_OK);
    EXPECT_TRUE(back == BytesOf(values)) << folder;
    for (size_t size = 0; size < payload.size(); size += 1 + size / 9) {
      Bytes cut(payload.begin(), payload.begin() + static_cast<ptrdiff_t>(size));
      EXPECT_NE(candidate.Backward(problem, cut, 400, back, folder), SZARENA_OK) << size;
    }
  }
}

TEST(PrimitiveCandidates, Scan) {
  for (size_t n : kLengths) {
    field::CounterRng rng(n, 0);
    std::vector<uint32_t> values(n);
    for (size_t i = 0; i < n; ++i) values[i] = static_cast<uint32_t>(rng.Bits(i));
    std::vector<uint64_t> expected(n + 1);
    for (size_t i = 0; i < n; ++i) expected[i + 1] = expected[i] + values[i];
    for (uint32_t threads : {1u, 3u}) {
      szarena_problem problem = Problem(n, SZARENA_F32, 1);
      problem.threads = threads;
      CheckPrimitive("scan", problem, BytesOf(values), BytesOf(expected), 8 * (n + 1) + 4096,
                     false);
    }
  }
}

template <typename Word>
void CheckLeadingBytes(size_t n, uint32_t dtype, uint32_t threads) {
  field::CounterRng rng(n, dtype);
  std::vector<Word> words(n);
  // Neighbours that share any number of leading bytes, all of them at times.
  for (size_t i = 0; i < n; ++i) {
    const Word fresh =
        static_cast<Word>(rng.Bits(2 * i)) >> (rng.Bits(2 * i + 1) % (8 * sizeof(Word)));
    words[i] = (i > 0 ? words[i - 1] : 0) ^ (rng.Bits(i) % 5 == 0 ? 0 : fresh);
  }
  std::vector<uint8_t> expected((n + 3) / 4);
  for (size_t i = 0; i < n; ++i) {
    const Word previous = i % 128 == 0 ? 0 : words[i - 1];
    unsigned code = 0;
    for (unsigned k = 1; k <= 3; ++k) {
      const size_t shift = 8 * (sizeof(Word) - k);
      code += code == k - 1 && words[i] >> shift == previous >> shift;
    }
    expected[i / 4] |= static_cast<uint8_t>(code << (6 - 2 * (i % 4)));
  }
  szarena_problem problem = Problem(n, dtype, 1);
  problem.block_size = 128;
  problem.threads = threads;
  CheckPrimitive("leading-bytes", problem, BytesOf(words), BytesOf(expected),
                 expected.size() + 4096, false);
}

TEST(PrimitiveCandidates, LeadingBytes) {
  for (size_t n : kLengths) {
    for (uint32_t threads : {1u, 3u}) {
      CheckLeadingBytes<uint32_t>(n, SZARENA_F32, threads);
      CheckLeadingBytes<uint64_t>(n, SZARENA_F64, threads);
    }
  }
}

TEST(Ladders, HaveSixStepsWithIdeasAndOneRegression) {
  for (const char* name : {"szp", "szx"}) {
    task::TargetInfo info = task::LoadTask(kRoot, name)->targets[task::Target::kCpu];
    EXPECT_GE(info.ladder.size(), 7u);
    EXPECT_EQ(info.baseline, info.ladder.back());
    int regressions = 0;
    for (const std::string& step : info.ladder) {
      auto loaded = task::LoadLadderStep(step);
      ASSERT_TRUE(loaded.has_value()) << loaded.error().ToString();
      EXPECT_FALSE(loaded->idea.empty());
      regressions += loaded->regression;
    }
    EXPECT_EQ(regressions, 1) << name;
  }
}

}  // namespace
}  // namespace szarena

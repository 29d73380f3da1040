// SPDX-License-Identifier: Apache-2.0
// Every source, baseline and ladder step for the CPU builds and does what the reference does: compressors give the
// reference's bytes and values, primitives the results of code written here from the contract.
#include <dlfcn.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstring>
#include <filesystem>
#include <map>
#include <memory>

#include "base/bytes.h"
#include "codec/szp/reference.h"
#include "codec/szx/reference.h"
#include "field/generate.h"
#include "szarena_candidate.h"
#include "task/task.h"

namespace szarena {
namespace {

namespace fs = std::filesystem;
using Bytes = std::vector<std::byte>;

const std::string kRoot = SZARENA_SOURCE_DIR;

// A candidate's library, built in a temporary folder. Nothing of it is run in a sandbox here: these are our own.
class Library {
 public:
  explicit Library(const std::string& directory) {
    std::string folder = testing::TempDir() + "candidate-XXXXXX";
    if (mkdtemp(folder.data()) == nullptr) return;
    std::string library = folder + "/candidate.so";
    // The line of src/target/cpu/build.cpp, with warnings as errors.
    std::string command = fmt::format(
        "g++ -std=c++20 -O3 -march=native -ffp-contract=off -fopenmp -pthread -fPIC -shared -fvisibility=hidden -Wall "
        "-Wextra -Werror -Wl,-z,defs -I{}/tasks/contract {}/*.cpp -o {}",
        kRoot, directory, library);
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
using ForwardFn = int(const szarena_problem*, const void*, void*, uint64_t, void*, uint64_t, szarena_payload*);
using BackwardFn = int(const szarena_problem*, const void*, uint64_t, void*, void*, uint64_t);

constexpr std::byte kGuard{0xA5};
constexpr size_t kGuardBytes = 256;

// Memory with guard zones, filled with poison.
struct Guarded {
  explicit Guarded(size_t length) : bytes(length + 2 * kGuardBytes, kGuard), size(length) {}
  std::byte* data() { return bytes.data() + kGuardBytes; }
  void ExpectIntact(const std::string& what) const {
    for (size_t i = 0; i < kGuardBytes; ++i) {
      ASSERT_EQ(bytes[i], kGuard) << what << ": wrote before the buffer";
      ASSERT_EQ(bytes[bytes.size() - 1 - i], kGuard) << what << ": wrote after the buffer";
    }
  }
  Bytes bytes;
  size_t size;
};

struct Candidate {
  // Each directory is built once, however many tests use it.
  static const Candidate& Of(const std::string& directory, bool compressor) {
    static std::map<std::string, std::unique_ptr<Candidate>> built;
    auto& candidate = built[directory];
    if (candidate == nullptr) candidate = std::make_unique<Candidate>(directory, compressor);
    return *candidate;
  }
  Candidate(const std::string& directory, bool compressor)
      : library(directory),
        workspace(library.ok() ? library.Get<WorkspaceFn>("szarena_workspace_bytes") : nullptr),
        forward(library.ok() ? library.Get<ForwardFn>(compressor ? "szarena_compress" : "szarena_run") : nullptr),
        backward(library.ok() ? library.Get<BackwardFn>(compressor ? "szarena_decompress" : "szarena_inverse")
                              : nullptr) {}

  // The payload, or nothing where the call failed (and the test with it).
  Bytes Forward(const szarena_problem& problem, const Bytes& input, size_t capacity, const std::string& what) const {
    Guarded output(capacity), scratch(workspace(&problem));
    szarena_payload payload{~0ull, ~0ull};
    int status = forward(&problem, input.data(), output.data(), capacity, scratch.data(), scratch.size, &payload);
    EXPECT_EQ(status, SZARENA_OK) << what;
    output.ExpectIntact(what);
    scratch.ExpectIntact(what + " (workspace)");
    if (status != SZARENA_OK || payload.offset > capacity || payload.size > capacity - payload.offset) {
      ADD_FAILURE() << what << ": payload outside the buffer";
      return {};
    }
    return Bytes(output.data() + payload.offset, output.data() + payload.offset + payload.size);
  }

  int Backward(const szarena_problem& problem, const Bytes& payload, size_t output_bytes, Bytes& out,
               const std::string& what) const {
    // The payload at an odd address, and not a byte more than its own.
    Bytes odd(payload.size() + 1);
    std::ranges::copy(payload, odd.begin() + 1);
    odd.shrink_to_fit();
    Guarded output(output_bytes), scratch(workspace(&problem));
    int status = backward(&problem, odd.data() + 1, payload.size(), output.data(), scratch.data(), scratch.size);
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

std::vector<std::string> CandidateFolders(const std::string& task_name) {
  task::Task task = *task::LoadTask(kRoot, task_name);
  task::TargetInfo info = task.targets[task::Target::kCpu];
  std::vector<std::string> folders = info.ladder;
  if (!info.baseline.empty() && std::ranges::find(folders, info.baseline) == folders.end()) {
    folders.push_back(info.baseline);
  }
  folders.push_back(task.folder + "/source/cpu");
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

// What compressors are tried on: every generator, lengths around block borders, bounds from useless to tiny.
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
        cases.push_back({spec, bounds[(k + seed / 10) % std::size(bounds)], 1 + static_cast<uint32_t>(k % 3)});
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
    for (field::GeneratorKind kind : {field::GeneratorKind::kOffset, field::GeneratorKind::kEdges}) {
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

codec::ConstArray Borrow(const field::Field& f) { return {f.bytes().data(), f.size(), CodecType(f.dtype())}; }

codec::szp::Params SzpParams(double bound, uint32_t mode) {
  return {bound, static_cast<codec::szp::Mode>(mode - SZARENA_MODE_FIXED), 1024};
}
codec::szx::Params SzxParams(double bound, uint32_t mode) {
  return {bound, mode == SZARENA_MODE_RANDOM_ACCESS ? codec::szx::Mode::kRandomAccess : codec::szx::Mode::kSequential};
}

const Codec kSzp = {
    {SZARENA_MODE_PLAIN, SZARENA_MODE_OUTLIER, SZARENA_MODE_FIXED}, 32, 1024,
    [](const field::Field& f, double bound, uint32_t mode) {
      Bytes payload(*codec::szp::MaxPayloadSize(f.size(), CodecType(f.dtype()), SzpParams(bound, mode)));
      payload.resize(*codec::szp::ReferenceCompress(Borrow(f), SzpParams(bound, mode), payload));
      return payload;
    },
    [](const Bytes& payload, const field::Field& like, double bound, uint32_t mode) {
      Bytes out(like.size_bytes());
      EXPECT_TRUE(codec::szp::ReferenceDecompress(payload, SzpParams(bound, mode),
                                                  {out.data(), like.size(), CodecType(like.dtype())}));
      return out;
    },
    [](const field::Field& f, double bound, uint32_t mode) {
      return *codec::szp::MaxPayloadSize(f.size(), CodecType(f.dtype()), SzpParams(bound, mode)) + 4096;
    }};
const Codec kSzx = {
    {SZARENA_MODE_RANDOM_ACCESS, SZARENA_MODE_SEQUENTIAL}, 128, 0,
    [](const field::Field& f, double bound, uint32_t mode) {
      return *codec::szx::CompressReference(Borrow(f), SzxParams(bound, mode));
    },
    [](const Bytes& payload, const field::Field& like, double, uint32_t) {
      Bytes out(like.size_bytes());
      EXPECT_TRUE(
          codec::szx::DecompressReference(payload, {out.data(), like.size(), CodecType(like.dtype())}));
      return out;
    },
    [](const field::Field& f, double bound, uint32_t mode) {
      return *codec::szx::MaxPayloadSize(f.size(), CodecType(f.dtype()), SzxParams(bound, mode)) + 4096;
    }};

void CheckCompressor(const std::string& folder, const Codec& codec) {
  SCOPED_TRACE(folder);
  const Candidate& candidate = Candidate::Of(folder, true);
  ASSERT_TRUE(candidate.library.ok() && candidate.workspace && candidate.forward && candidate.backward);
  for (const Case& item : CompressorCases()) {
    field::Field f = *field::Generate(item.spec, 1);
    Bytes input = ToBytes(f);
    for (uint32_t mode : codec.modes) {
      std::string what = fmt::format("{} bound {} mode {} threads {}", item.spec.ToString(), item.bound, mode, item.threads);
      szarena_problem problem = Problem(f.size(), f.dtype() == field::DType::kF32 ? SZARENA_F32 : SZARENA_F64, item.bound);
      problem.mode = mode;
      problem.block_size = codec.block_size;
      problem.pad_blocks = codec.pad_blocks;
      problem.threads = item.threads;
      Bytes expected = codec.compress(f, item.bound, mode);
      Bytes payload = candidate.Forward(problem, input, codec.capacity(f, item.bound, mode), what);
      ASSERT_EQ(payload.size(), expected.size()) << what;
      ASSERT_TRUE(payload == expected) << what;
      Bytes values = codec.decompress(expected, f, item.bound, mode), decoded;
      ASSERT_EQ(candidate.Backward(problem, expected, input.size(), decoded, what), SZARENA_OK) << what;
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
TEST(SzxCandidates, GiveTheReferencesBytes) {
  for (const auto& folder : CandidateFolders("szx")) CheckCompressor(folder, kSzx);
}
TEST(SzxCandidates, RefuseDamage) {
  for (const auto& folder : CandidateFolders("szx")) CheckDamage(folder, kSzx);
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

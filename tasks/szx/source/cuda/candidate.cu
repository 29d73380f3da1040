// SPDX-License-Identifier: Apache-2.0
// SZx in plain CUDA: a thread plans, measures and writes a block; one thread block adds up the sizes.
#include <cmath>
#include <cstdint>
#include <cstring>

#include "szarena_candidate_cuda.h"

namespace {

constexpr uint32_t kBlock = 128;

template <typename T>
struct Type;
template <>
struct Type<float> {
  using Word = uint32_t;
  static constexpr int kBits = 32, kHead = 9, kMantissa = 23, kBias = 127;
  static constexpr uint8_t kVersion = 1;
};
template <>
struct Type<double> {
  using Word = uint64_t;
  static constexpr int kBits = 64, kHead = 12, kMantissa = 52, kBias = 1023;
  static constexpr uint8_t kVersion = 2;
};
template <typename T>
using WordOf = typename Type<T>::Word;

template <typename T>
__host__ __device__ inline WordOf<T> BitsOf(T x) {
  WordOf<T> w;
  memcpy(&w, &x, sizeof w);
  return w;
}
template <typename T>
__host__ __device__ inline T FromBits(WordOf<T> w) {
  T x;
  memcpy(&x, &w, sizeof x);
  return x;
}

// Big-endian, as the format has headers and medians.
template <typename Word>
__host__ __device__ inline void StoreBig(uint8_t* out, Word w) {
  for (uint32_t k = 0; k < sizeof w; ++k) out[k] = static_cast<uint8_t>(w >> (8 * (sizeof w - 1 - k)));
}
template <typename Word>
__host__ __device__ inline Word LoadBig(const uint8_t* in) {
  Word w = 0;
  for (uint32_t k = 0; k < sizeof w; ++k) w = static_cast<Word>(w << 8 | in[k]);
  return w;
}

// |x - y| <= e, exactly: the rounded difference decides unless it equals e, then what it lost does.
template <typename T>
__host__ __device__ inline bool Within(T x, T y, T e) {
  const T d = x - y;
  const T a = d < T(0) ? -d : d;
  if (a < e) return true;
  if (!(a == e) || a - a != T(0)) return false;
  const T seen = d - x;
  const T lost = (x - (d - seen)) + (-y - seen);
  return d > T(0) ? lost <= T(0) : d < T(0) ? lost >= T(0) : lost == T(0);
}

template <typename T>
__host__ __device__ inline bool IsFinite(T x) {
  return x - x == T(0);
}

// Unbiased exponent field.
template <typename T>
__host__ __device__ inline int Exponent(T x) {
  return static_cast<int>(BitsOf(x) >> Type<T>::kMantissa & (2 * Type<T>::kBias + 1)) - Type<T>::kBias;
}

template <typename T>
struct Bound {
  explicit Bound(double bound) : e(static_cast<T>(bound)) {
    if (static_cast<double>(e) > bound) e = std::nextafter(e, T(0));
    exponent = Exponent(static_cast<double>(e));
  }
  T e;
  int exponent;  // of e as f64, so that subnormals have theirs
};

// How a block is coded. What follows from its range alone; whether its values then keep the bound is looked at afterwards.
template <typename T>
struct Plan {
  bool constant;
  bool exact;  // every bit kept
  int bits;    // kept of each difference
  T median;
};
template <typename T>
__host__ __device__ inline Plan<T> ExactPlan(T median) {
  return {false, true, Type<T>::kBits, median};
}
template <typename T>
__host__ __device__ inline Plan<T> PlanFromRange(T low, T high, const Bound<T>& bound) {
  const T range = high - low;
  if (!IsFinite(range)) return ExactPlan(T(-0.0));
  const T radius = range / 2;
  const T median = (low + radius) + T(0);
  if (radius <= bound.e) return {true, false, 0, median};
  int bits = Type<T>::kHead + Exponent(radius) - bound.exponent + 1;
  if (bits < Type<T>::kHead) bits = Type<T>::kHead;
  if (bound.e == 0 || bits > Type<T>::kBits || (bits == Type<T>::kBits && median == 0)) return ExactPlan(T(0));
  return {false, false, bits, median};
}
// Whether the value survives the plan.
template <typename T>
__host__ __device__ inline bool Holds(const Plan<T>& plan, T x, T e) {
  if (plan.constant) return e > 0 ? Within(x, plan.median, e) : BitsOf(x) == BitsOf(plan.median);
  if (plan.exact) return true;
  const WordOf<T> mask = static_cast<WordOf<T>>(~WordOf<T>(0) << (Type<T>::kBits - plan.bits));
  return Within(x, FromBits<T>(BitsOf(x - plan.median) & mask) + plan.median, e);
}

template <typename T>
__host__ __device__ inline Plan<T> MakePlan(const T* x, uint32_t m, const Bound<T>& bound) {
  T low = x[0];
  T high = x[0];
  for (uint32_t i = 0; i < m; ++i) {
    if (!IsFinite(x[i])) return ExactPlan(T(-0.0));
    if (x[i] < low) low = x[i];
    if (x[i] > high) high = x[i];
  }
  const Plan<T> plan = PlanFromRange(low, high, bound);
  for (uint32_t i = 0; i < m; ++i) {
    if (!Holds(plan, x[i], bound.e)) return ExactPlan(T(-0.0));
  }
  return plan;
}

// The word that is coded of a value: what is kept, moved to whole bytes.
template <typename T>
__host__ __device__ inline WordOf<T> CodedWord(const Plan<T>& plan, T x) {
  const int kept = (plan.bits + 7) / 8;
  return BitsOf(plan.exact ? x : x - plan.median) >> (8 * kept - plan.bits);
}
// Leading bytes that a word shares with the one before it, at most 3.
template <typename Word>
__host__ __device__ inline uint32_t LeadingBytes(Word w, Word previous) {
  const Word d = w ^ previous;
  uint32_t code = 0;
  while (code < 3 && d >> (8 * sizeof(Word) - 8 * (code + 1)) == 0) ++code;
  return code;
}

// Bytes of a coded block but for its values.
template <typename T>
__host__ __device__ inline uint32_t HeadBytes(uint32_t m) {
  return 1 + sizeof(T) + (m + 3) / 4;
}

template <typename T>
__host__ __device__ inline uint32_t CodedBytes(const T* x, uint32_t m, const Plan<T>& plan) {
  const uint32_t kept = (plan.bits + 7) / 8;
  uint32_t size = HeadBytes<T>(m);
  WordOf<T> previous = 0;
  for (uint32_t i = 0; i < m; ++i) {
    const WordOf<T> w = CodedWord(plan, x[i]);
    const uint32_t code = LeadingBytes(w, previous);
    if (code < kept) size += kept - code;
    previous = w;
  }
  return size;
}

template <typename T>
__host__ __device__ inline void WriteBlock(const T* x, uint32_t m, const Plan<T>& plan, uint8_t* out) {
  const int kept = (plan.bits + 7) / 8;
  uint8_t* codes = out + 1 + sizeof(T);
  uint8_t* next = codes + (m + 3) / 4;
  out[0] = static_cast<uint8_t>(plan.bits);
  StoreBig(out + 1, BitsOf(plan.median));
  WordOf<T> previous = 0;
  uint32_t byte = 0;
  for (uint32_t i = 0; i < m; ++i) {
    const WordOf<T> w = CodedWord(plan, x[i]);
    const uint32_t code = LeadingBytes(w, previous);
    byte |= code << (6 - 2 * (i % 4));
    if (i % 4 == 3 || i + 1 == m) {
      codes[i / 4] = static_cast<uint8_t>(byte);
      byte = 0;
    }
    for (int k = static_cast<int>(sizeof(T)) - kept; k < static_cast<int>(sizeof(T) - code); ++k) *next++ = static_cast<uint8_t>(w >> (8 * k));
    previous = w;
  }
}

// Reads one coded block of m values of at most `available` bytes; returns its size, 0 where it is damaged or cut off.
template <typename T>
__host__ __device__ inline uint64_t ReadBlock(const uint8_t* in, uint64_t available, uint32_t m, T* x) {
  const uint32_t head = HeadBytes<T>(m);
  if (available < head || in[0] < Type<T>::kHead || in[0] > Type<T>::kBits) return 0;
  const int kept = (in[0] + 7) / 8;
  const int shift = 8 * kept - in[0];
  const T median = FromBits<T>(LoadBig<WordOf<T>>(in + 1));
  const bool exact = in[0] == Type<T>::kBits && median == 0;
  const uint8_t* codes = in + 1 + sizeof(T);
  uint64_t at = head;
  WordOf<T> w = 0;
  for (uint32_t i = 0; i < m; ++i) {
    const int code = codes[i / 4] >> (6 - 2 * (i % 4)) & 3;
    for (int k = static_cast<int>(sizeof(T)) - kept; k < static_cast<int>(sizeof(T)) - code; ++k) {
      if (at == available) return 0;
      w = static_cast<WordOf<T>>((w & ~(WordOf<T>(0xFF) << (8 * k))) | WordOf<T>(in[at++]) << (8 * k));
    }
    const T d = FromBits<T>(static_cast<WordOf<T>>(w << shift));
    x[i] = exact ? d : d + median;
  }
  return at;
}

// Bytes of the coded block at `in`, from its bit count and codes; what the sequential stream leaves to be found out.
template <typename T>
__host__ __device__ inline uint64_t MeasureBlock(const uint8_t* in, uint64_t available, uint32_t m) {
  const uint32_t head = HeadBytes<T>(m);
  if (available < head) return available;
  const uint32_t kept = (in[0] + 7u) / 8;
  uint64_t size = head;
  for (uint32_t i = 0; i < m; ++i) {
    const uint32_t code = in[1 + sizeof(T) + i / 4] >> (6 - 2 * (i % 4)) & 3;
    if (code < kept) size += kept - code;
  }
  return size;
}

inline uint64_t Blocks(const szarena_problem& p) { return p.n / kBlock + (p.n % kBlock != 0); }
inline uint64_t ValueBytes(const szarena_problem& p) { return p.dtype == SZARENA_F32 ? 4 : 8; }
__host__ __device__ inline uint32_t BlockLength(uint64_t n, uint64_t b) {
  return static_cast<uint32_t>(n - b * kBlock < kBlock ? n - b * kBlock : kBlock);
}
inline uint64_t MaxPayload(const szarena_problem& p) {
  return 20 + Blocks(p) * 2 + (Blocks(p) + 7) / 8 + Blocks(p) * (1 + ValueBytes(p) + kBlock / 4 + kBlock * ValueBytes(p));
}

// Where a stream's tables are, given how many blocks are constant.
struct Tables {
  __host__ __device__ Tables(bool random, uint32_t value_bytes, uint64_t blocks, uint64_t constant) {
    header = random ? 20 : 13;
    sizes = header;
    states = sizes + (random ? 2 * (blocks - constant) : 0);
    medians = states + (blocks + 7) / 8;
    coded = medians + value_bytes * constant;
  }
  uint64_t header, sizes, states, medians, coded;
};

__host__ __device__ inline void WriteHeader(bool random, uint8_t version, uint64_t constant, uint8_t* out) {
  out[0] = out[1] = 1;
  out[2] = version;
  out[3] = random;
  if (random) {
    StoreBig<uint64_t>(out + 4, kBlock);
  } else {
    out[4] = kBlock;
  }
  StoreBig(out + (random ? 12 : 5), constant);
}

// The header is one that this decoder reads: blocks of kBlock values.
__host__ __device__ inline bool HeaderFits(const uint8_t* in, bool random, uint8_t version) {
  if (in[0] != 1 || in[1] != 1 || in[2] != version || in[3] != (random ? 1 : 0)) return false;
  return (random ? LoadBig<uint64_t>(in + 4) : in[4]) == kBlock;
}

constexpr uint32_t kScanThreads = 1024;

static __global__ void ScanKernel(const uint32_t* size, uint64_t count, uint64_t first, uint64_t* offset, uint64_t* total) {
  __shared__ uint64_t sums[kScanThreads];
  const uint64_t share = (count + kScanThreads - 1) / kScanThreads;
  const uint64_t begin = threadIdx.x * share;
  const uint64_t end = begin + share < count ? begin + share : count;
  uint64_t sum = 0;
  for (uint64_t i = begin; i < end; ++i) sum += size[i];
  sums[threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.x == 0) {
    uint64_t running = first;
    for (uint32_t k = 0; k < kScanThreads; ++k) {
      const uint64_t own = sums[k];
      sums[k] = running;
      running += own;
    }
    *total = running;
  }
  __syncthreads();
  uint64_t running = sums[threadIdx.x];
  for (uint64_t i = begin; i < end; ++i) {
    offset[i] = running;
    running += size[i];
  }
}

// offset[i] = first + size[0] + ... + size[i - 1]; *total = first + the sum of all.
inline void Scan(const uint32_t* size, uint64_t count, uint64_t first, uint64_t* offset, uint64_t* total, cudaStream_t stream) {
  ScanKernel<<<1, kScanThreads, 0, stream>>>(size, count, first, offset, total);
}

// The workspace, one array after another. `coded` is 1 for a block that is not constant, `size` its bytes.
struct Work {
  Work(const szarena_problem& p, uint8_t* base) {
    const uint64_t blocks = Blocks(p);
    const auto add = [&](uint64_t size) {
      uint8_t* at = base + bytes;
      bytes += (size + 255) / 256 * 256;
      return at;
    };
    coded = reinterpret_cast<uint32_t*>(add(blocks * 4));
    size = reinterpret_cast<uint32_t*>(add(blocks * 4));
    index = reinterpret_cast<uint64_t*>(add(blocks * 8));
    offset = reinterpret_cast<uint64_t*>(add(blocks * 8));
    coded_total = reinterpret_cast<uint64_t*>(add(8));
    byte_total = reinterpret_cast<uint64_t*>(add(8));
    plans = add(blocks * sizeof(Plan<double>));
  }
  uint64_t bytes = 0;
  uint32_t* coded;
  uint32_t* size;
  uint64_t* index;   // coded blocks before this one
  uint64_t* offset;  // bytes of coded blocks before this one
  uint64_t* coded_total;
  uint64_t* byte_total;
  uint8_t* plans;
};

__device__ inline uint64_t Thread() { return blockIdx.x * uint64_t(blockDim.x) + threadIdx.x; }

constexpr uint32_t kTableThreads = 256;
inline uint32_t TableGrid(uint64_t n) { return static_cast<uint32_t>((n + kTableThreads - 1) / kTableThreads); }

// Header, sizes, states and medians; thread b does block b.
template <typename T>
__global__ void WriteTablesKernel(const Work work, const Plan<T>* plan, uint64_t blocks, bool random, uint8_t* out, szarena_payload* payload) {
  const uint64_t b = Thread();
  const uint64_t constant = blocks - *work.coded_total;
  const Tables tables(random, sizeof(T), blocks, constant);
  if (b == 0) {
    WriteHeader(random, Type<T>::kVersion, constant, out);
    *payload = {0, tables.coded + *work.byte_total};
  }
  if (b >= blocks) return;
  if (work.coded[b] == 0) {
    StoreBig(out + tables.medians + (b - work.index[b]) * sizeof(T), BitsOf(plan[b].median));
  } else if (random) {
    uint8_t* size = out + tables.sizes + work.index[b] * 2;
    size[0] = static_cast<uint8_t>(work.size[b]);
    size[1] = static_cast<uint8_t>(work.size[b] >> 8);
  }
  if (b % 8 == 0) {
    uint32_t states = 0;
    for (uint32_t k = 0; k < 8 && b + k < blocks; ++k) states |= work.coded[b + k] << (7 - k);
    out[tables.states + b / 8] = static_cast<uint8_t>(states);
  }
}

static __global__ void EmptyKernel(bool random, uint8_t version, uint8_t* out, szarena_payload* payload) {
  WriteHeader(random, version, 0, out);
  *payload = {0, random ? 20ull : 13ull};
}

// The number of constant blocks that a payload claims, or kDamaged.
constexpr uint64_t kDamaged = ~0ull;
template <typename T>
__device__ inline uint64_t ConstantBlocks(const uint8_t* in, uint64_t size, bool random, uint64_t blocks) {
  if (!HeaderFits(in, random, Type<T>::kVersion)) return kDamaged;
  const uint64_t constant = LoadBig<uint64_t>(in + (random ? 12 : 5));
  return constant <= blocks && Tables(random, sizeof(T), blocks, constant).coded <= size ? constant : kDamaged;
}

template <typename T>
__global__ void ReadStatesKernel(const uint8_t* in, uint64_t in_size, uint64_t blocks, bool random, Work work) {
  const uint64_t b = Thread();
  if (b >= blocks) return;
  const uint64_t constant = ConstantBlocks<T>(in, in_size, random, blocks);
  const Tables tables(random, sizeof(T), blocks, constant);
  work.coded[b] = constant == kDamaged ? 0 : in[tables.states + b / 8] >> (7 - b % 8) & 1;
}

template <typename T>
__global__ void ReadSizesKernel(const uint8_t* in, uint64_t in_size, uint64_t blocks, Work work) {
  const uint64_t b = Thread();
  if (b >= blocks) return;
  const uint64_t constant = ConstantBlocks<T>(in, in_size, true, blocks);
  work.size[b] = 0;
  if (constant == kDamaged || work.coded[b] == 0 || work.index[b] >= blocks - constant) return;
  const uint8_t* size = in + Tables(true, sizeof(T), blocks, constant).sizes + work.index[b] * 2;
  work.size[b] = size[0] | static_cast<uint32_t>(size[1]) << 8;
}

// The sequential stream has no sizes: one thread goes from block to block.
template <typename T>
__global__ void FindSizesKernel(const uint8_t* in, uint64_t in_size, uint64_t n, uint64_t blocks, Work work) {
  const uint64_t constant = ConstantBlocks<T>(in, in_size, false, blocks);
  uint64_t at = constant == kDamaged ? in_size : Tables(false, sizeof(T), blocks, constant).coded;
  for (uint64_t b = 0; b < blocks; ++b) {
    work.size[b] = 0;
    if (work.coded[b] == 0 || at >= in_size) continue;
    work.size[b] = static_cast<uint32_t>(MeasureBlock<T>(in + at, in_size - at, BlockLength(n, b)));
    at += work.size[b];
  }
}

// Offsets and indices from `coded` and `size`.
inline void ScanIndex(const szarena_problem& p, const Work& work, cudaStream_t stream) {
  Scan(work.coded, Blocks(p), 0, work.index, work.coded_total, stream);
}
inline void ScanOffset(const szarena_problem& p, const Work& work, cudaStream_t stream) {
  Scan(work.size, Blocks(p), 0, work.offset, work.byte_total, stream);
}

// Everything that is known of a payload's blocks before they are read.
template <typename T>
inline void ReadTables(const szarena_problem& p, const uint8_t* in, uint64_t in_size, const Work& work, cudaStream_t stream) {
  const uint64_t blocks = Blocks(p);
  const bool random = p.mode == SZARENA_MODE_RANDOM_ACCESS;
  ReadStatesKernel<T><<<TableGrid(blocks), kTableThreads, 0, stream>>>(in, in_size, blocks, random, work);
  ScanIndex(p, work, stream);
  if (random) {
    ReadSizesKernel<T><<<TableGrid(blocks), kTableThreads, 0, stream>>>(in, in_size, blocks, work);
  } else {
    FindSizesKernel<T><<<1, 1, 0, stream>>>(in, in_size, p.n, blocks, work);
  }
  ScanOffset(p, work, stream);
}

// A block as its reader sees it.
template <typename T>
struct Found {
  const uint8_t* at = nullptr;  // null: nothing can be read
  uint32_t size = 0;
  bool constant = false;
};
template <typename T>
__device__ inline Found<T> FindBlock(const uint8_t* in, uint64_t in_size, uint64_t blocks, bool random, const Work& work, uint64_t b) {
  Found<T> found;
  const uint64_t constant = ConstantBlocks<T>(in, in_size, random, blocks);
  if (constant == kDamaged) return found;
  const Tables tables(random, sizeof(T), blocks, constant);
  found.constant = work.coded[b] == 0;
  if (found.constant) {
    if (b - work.index[b] < constant) found.at = in + tables.medians + (b - work.index[b]) * sizeof(T);
    return found;
  }
  found.size = work.size[b];
  const uint64_t begin = tables.coded + work.offset[b];
  if (begin + found.size <= in_size) found.at = in + begin;
  return found;
}

constexpr uint32_t kThreads = 128;

uint32_t Grid(uint64_t n) { return static_cast<uint32_t>((n + kThreads - 1) / kThreads); }

template <typename T>
__global__ void PlanKernel(const T* x, uint64_t n, uint64_t blocks, Bound<T> bound, Work work, Plan<T>* plan) {
  const uint64_t b = Thread();
  if (b >= blocks) return;
  const Plan<T> own = MakePlan(x + b * kBlock, BlockLength(n, b), bound);
  plan[b] = own;
  work.coded[b] = own.constant ? 0 : 1;
  work.size[b] = own.constant ? 0 : CodedBytes(x + b * kBlock, BlockLength(n, b), own);
}

template <typename T>
__global__ void WriteKernel(const T* x, uint64_t n, uint64_t blocks, bool random, Work work, const Plan<T>* plan, uint8_t* out) {
  const uint64_t b = Thread();
  if (b >= blocks || work.coded[b] == 0) return;
  const Tables tables(random, sizeof(T), blocks, blocks - *work.coded_total);
  WriteBlock(x + b * kBlock, BlockLength(n, b), plan[b], out + tables.coded + work.offset[b]);
}

template <typename T>
__global__ void ReadKernel(const uint8_t* in, uint64_t in_size, uint64_t n, uint64_t blocks, bool random, Work work, T* x) {
  const uint64_t b = Thread();
  if (b >= blocks) return;
  const Found<T> found = FindBlock<T>(in, in_size, blocks, random, work, b);
  if (found.at == nullptr) return;
  if (!found.constant) {
    ReadBlock(found.at, found.size, BlockLength(n, b), x + b * kBlock);
    return;
  }
  const T median = FromBits<T>(LoadBig<WordOf<T>>(found.at));
  for (uint32_t i = 0; i < BlockLength(n, b); ++i) x[b * kBlock + i] = median;
}

template <typename T>
int Compress(const szarena_problem& p, const T* x, uint8_t* out, uint8_t* workspace, szarena_payload* payload, cudaStream_t stream) {
  const Work work(p, workspace);
  const uint64_t blocks = Blocks(p);
  const bool random = p.mode == SZARENA_MODE_RANDOM_ACCESS;
  auto* plan = reinterpret_cast<Plan<T>*>(work.plans);
  if (blocks == 0) {
    EmptyKernel<<<1, 1, 0, stream>>>(random, Type<T>::kVersion, out, payload);
  } else {
    PlanKernel<<<Grid(blocks), kThreads, 0, stream>>>(x, p.n, blocks, Bound<T>(p.abs_bound), work, plan);
    ScanIndex(p, work, stream);
    ScanOffset(p, work, stream);
    WriteTablesKernel<<<TableGrid(blocks), kTableThreads, 0, stream>>>(work, plan, blocks, random, out, payload);
    WriteKernel<<<Grid(blocks), kThreads, 0, stream>>>(x, p.n, blocks, random, work, plan, out);
  }
  return cudaGetLastError() == cudaSuccess ? SZARENA_OK : SZARENA_FAILED;
}

template <typename T>
int Decompress(const szarena_problem& p, const uint8_t* in, uint64_t in_size, T* x, uint8_t* workspace, cudaStream_t stream) {
  const Work work(p, workspace);
  const uint64_t blocks = Blocks(p);
  if (blocks == 0) return SZARENA_OK;
  ReadTables<T>(p, in, in_size, work, stream);
  ReadKernel<<<Grid(blocks), kThreads, 0, stream>>>(in, in_size, p.n, blocks, p.mode == SZARENA_MODE_RANDOM_ACCESS, work, x);
  return cudaGetLastError() == cudaSuccess ? SZARENA_OK : SZARENA_FAILED;
}

}  // namespace

extern "C" uint64_t szarena_cuda_workspace_bytes(const szarena_problem* p) { return Work(*p, nullptr).bytes; }

extern "C" int szarena_cuda_compress(const szarena_problem* p, const void* input, void* output, uint64_t capacity, void* workspace,
                                     uint64_t, szarena_payload* payload, szarena_stream stream) {
  if (capacity < MaxPayload(*p)) return SZARENA_CAPACITY;
  auto* out = static_cast<uint8_t*>(output);
  auto* work = static_cast<uint8_t*>(workspace);
  return p->dtype == SZARENA_F32 ? Compress(*p, static_cast<const float*>(input), out, work, payload, stream)
                                 : Compress(*p, static_cast<const double*>(input), out, work, payload, stream);
}

extern "C" int szarena_cuda_decompress(const szarena_problem* p, const void* payload, uint64_t size, void* output, void* workspace,
                                       uint64_t, szarena_stream stream) {
  if (size < (p->mode == SZARENA_MODE_RANDOM_ACCESS ? 20 : 13)) return SZARENA_CORRUPT;
  const auto* in = static_cast<const uint8_t*>(payload);
  auto* work = static_cast<uint8_t*>(workspace);
  return p->dtype == SZARENA_F32 ? Decompress(*p, in, size, static_cast<float*>(output), work, stream)
                                 : Decompress(*p, in, size, static_cast<double*>(output), work, stream);
}

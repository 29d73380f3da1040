// SPDX-License-Identifier: Apache-2.0
// SZx, step 2: all stages of a block at once; a first pass only counts the constant blocks.
#include <cmath>
#include <cstring>

#include "szarena_candidate.h"

namespace {

constexpr uint64_t kBlock = 128;

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

// The longest coded block of m values.
template <typename T>
constexpr uint64_t MostBytes(uint64_t m) {
  return 1 + sizeof(T) + (m + 3) / 4 + m * sizeof(T);
}

template <typename T>
typename Type<T>::Word BitsOf(T x) {
  typename Type<T>::Word w;
  std::memcpy(&w, &x, sizeof w);
  return w;
}
template <typename T>
T FromBits(typename Type<T>::Word w) {
  T x;
  std::memcpy(&x, &w, sizeof x);
  return x;
}

// Big-endian, as the format has headers and medians.
template <typename Word>
void StoreBig(uint8_t* out, Word w) {
  for (size_t k = 0; k < sizeof w; ++k)
    out[k] = static_cast<uint8_t>(w >> (8 * (sizeof w - 1 - k)));
}
template <typename Word>
Word LoadBig(const uint8_t* in) {
  Word w = 0;
  for (size_t k = 0; k < sizeof w; ++k) w = static_cast<Word>(w << 8 | in[k]);
  return w;
}

// The largest T that is <= the bound.
template <typename T>
T RoundDown(double bound) {
  T e = static_cast<T>(bound);
  return static_cast<double>(e) > bound ? std::nextafter(e, T(0)) : e;
}

// |x - y| <= e, exactly: the rounded difference decides unless it equals e, then what it lost does.
template <typename T>
bool Within(T x, T y, T e) {
  T d = x - y;
  T a = std::fabs(d);
  if (a < e) return true;
  if (!(a == e) || std::isinf(a)) return false;
  T seen = d - x;
  T lost = (x - (d - seen)) + (-y - seen);
  return d > 0 ? lost <= 0 : d < 0 ? lost >= 0 : lost == 0;
}

// Unbiased exponent field.
template <typename T>
int Exponent(T x) {
  return static_cast<int>(BitsOf(x) >> Type<T>::kMantissa & (2 * Type<T>::kBias + 1)) -
         Type<T>::kBias;
}

// How a block is coded. Exact: every bit is kept.
template <typename T>
struct Plan {
  bool constant, exact;
  int bits;  // kept of each difference
  T median;
};
template <typename T>
constexpr Plan<T> kExact = {false, true, Type<T>::kBits, T(-0.0)};

// The head of a stream.
struct Header {
  bool random;
  uint64_t block, blocks, constant;
  const uint8_t *sizes, *states, *medians, *coded;
};

template <typename T>
bool ReadHeader(const szarena_problem& p, const uint8_t* in, uint64_t size, Header& h) {
  if (size < 13 || in[0] != 1 || in[1] != 1 || in[2] != Type<T>::kVersion || in[3] > 1)
    return false;
  h.random = in[3] == 1;
  const uint64_t fixed = h.random ? 20 : 13;
  if (size < fixed) return false;
  h.block = h.random ? LoadBig<uint64_t>(in + 4) : in[4];
  if (h.block < 1 || h.block > 7936) return false;
  h.blocks = p.n / h.block + (p.n % h.block != 0);
  h.constant = LoadBig<uint64_t>(in + fixed - 8);
  if (h.constant > h.blocks) return false;
  const uint64_t sizes = h.random ? 2 * (h.blocks - h.constant) : 0;
  if (size - fixed < sizes + (h.blocks + 7) / 8 + sizeof(T) * h.constant) return false;
  h.sizes = in + fixed;
  h.states = h.sizes + sizes;
  h.medians = h.states + (h.blocks + 7) / 8;
  h.coded = h.medians + sizeof(T) * h.constant;
  return true;
}

inline bool IsCoded(const uint8_t* states, uint64_t b) {
  return (states[b / 8] & 0x80 >> (b % 8)) != 0;
}

template <typename T>
void WriteHeader(bool random, uint64_t constant, uint8_t* out) {
  out[0] = out[1] = 1;
  out[2] = Type<T>::kVersion;
  out[3] = random;
  if (random) {
    StoreBig<uint64_t>(out + 4, kBlock);
  } else {
    out[4] = kBlock;
  }
  StoreBig(out + (random ? 12 : 5), constant);
}

// Values in block b.
uint64_t Length(const szarena_problem& p, uint64_t b) {
  return p.n - b * kBlock < kBlock ? p.n - b * kBlock : kBlock;
}
uint64_t Blocks(const szarena_problem& p) { return p.n / kBlock + (p.n % kBlock != 0); }

template <typename T>
Plan<T> MakePlan(const T* x, uint64_t m, T e) {
  using Word = typename Type<T>::Word;
  T low = x[0], high = x[0];
  for (uint64_t i = 0; i < m; ++i) {
    if (!std::isfinite(x[i])) return kExact<T>;
    if (x[i] < low) low = x[i];
    if (x[i] > high) high = x[i];
  }
  T range = high - low;
  if (!std::isfinite(range)) return kExact<T>;
  T radius = range / 2;
  T median = (low + radius) + T(0);
  if (radius <= e) {
    for (uint64_t i = 0; i < m; ++i) {
      if (e > 0 ? !Within(x[i], median, e) : BitsOf(x[i]) != BitsOf(median)) return kExact<T>;
    }
    return {true, false, 0, median};
  }
  int bits = Type<T>::kHead + Exponent(radius) - Exponent(static_cast<double>(e)) + 1;
  if (bits < Type<T>::kHead) bits = Type<T>::kHead;
  if (e == 0 || bits > Type<T>::kBits || (bits == Type<T>::kBits && median == 0)) {
    return {false, true, Type<T>::kBits, T(0)};
  }
  const Word mask = static_cast<Word>(~Word(0) << (Type<T>::kBits - bits));
  for (uint64_t i = 0; i < m; ++i) {
    if (!Within(x[i], FromBits<T>(BitsOf(x[i] - median) & mask) + median, e)) return kExact<T>;
  }
  return {false, false, bits, median};
}

// Writes one coded block and returns its size.
template <typename T>
uint64_t WriteBlock(const T* x, uint64_t m, const Plan<T>& plan, uint8_t* out) {
  using Word = typename Type<T>::Word;
  const int kept = (plan.bits + 7) / 8;
  const int shift = 8 * kept - plan.bits;
  uint8_t* codes = out + 1 + sizeof(T);
  uint8_t* next = codes + (m + 3) / 4;
  out[0] = static_cast<uint8_t>(plan.bits);
  StoreBig(out + 1, BitsOf(plan.median));
  std::memset(codes, 0, (m + 3) / 4);
  Word previous = 0;
  for (uint64_t i = 0; i < m; ++i) {
    Word w = BitsOf(plan.exact ? x[i] : x[i] - plan.median) >> shift;
    int code = 0;
    while (code < 3 && (w ^ previous) >> (Type<T>::kBits - 8 * (code + 1)) == 0) ++code;
    codes[i / 4] |= static_cast<uint8_t>(code << (6 - 2 * (i % 4)));
    for (int k = static_cast<int>(sizeof(T)) - kept; k < static_cast<int>(sizeof(T)) - code; ++k) {
      *next++ = static_cast<uint8_t>(w >> (8 * k));
    }
    previous = w;
  }
  return static_cast<uint64_t>(next - out);
}

// Reads one coded block of m values; returns its size, 0 where it is damaged or cut off.
template <typename T>
uint64_t ReadBlock(const uint8_t* in, uint64_t available, uint64_t m, T* x) {
  using Word = typename Type<T>::Word;
  uint64_t at = 1 + sizeof(T) + (m + 3) / 4;
  if (available < at || in[0] < Type<T>::kHead || in[0] > Type<T>::kBits) return 0;
  const int kept = (in[0] + 7) / 8;
  const int shift = 8 * kept - in[0];
  const T median = FromBits<T>(LoadBig<Word>(in + 1));
  const bool exact = in[0] == Type<T>::kBits && median == 0;
  const uint8_t* codes = in + 1 + sizeof(T);
  Word w = 0;
  for (uint64_t i = 0; i < m; ++i) {
    int code = codes[i / 4] >> (6 - 2 * (i % 4)) & 3;
    for (int k = static_cast<int>(sizeof(T)) - kept; k < static_cast<int>(sizeof(T)) - code; ++k) {
      if (at == available) return 0;
      w = static_cast<Word>((w & ~(Word(0xFF) << (8 * k))) | Word(in[at++]) << (8 * k));
    }
    T d = FromBits<T>(static_cast<Word>(w << shift));
    x[i] = exact ? d : d + median;
  }
  return at;
}

template <typename T>
int Compress(const szarena_problem& p, const T* input, uint8_t* output, uint64_t capacity, void*,
             szarena_payload* payload) {
  const T e = RoundDown<T>(p.abs_bound);
  const bool random = p.mode == SZARENA_MODE_RANDOM_ACCESS;
  const uint64_t blocks = Blocks(p);
  // First pass: how many blocks are constant, which fixes where everything lies.
  uint64_t constant = 0;
  for (uint64_t b = 0; b < blocks; ++b)
    constant += MakePlan(input + b * kBlock, Length(p, b), e).constant;
  uint8_t* sizes = output + (random ? 20 : 13);
  uint8_t* states = sizes + (random ? 2 * (blocks - constant) : 0);
  uint8_t* medians = states + (blocks + 7) / 8;
  uint8_t* coded = medians + sizeof(T) * constant;
  if (static_cast<uint64_t>(coded - output) > capacity) return SZARENA_CAPACITY;
  WriteHeader<T>(random, constant, output);
  std::memset(states, 0, (blocks + 7) / 8);
  // Second pass: code.
  for (uint64_t b = 0; b < blocks; ++b) {
    const T* x = input + b * kBlock;
    const Plan<T> plan = MakePlan(x, Length(p, b), e);
    if (plan.constant) {
      StoreBig(medians, BitsOf(plan.median));
      medians += sizeof(T);
      continue;
    }
    if (capacity - static_cast<uint64_t>(coded - output) < MostBytes<T>(Length(p, b)))
      return SZARENA_CAPACITY;
    states[b / 8] |= static_cast<uint8_t>(0x80 >> (b % 8));
    const uint64_t size = WriteBlock(x, Length(p, b), plan, coded);
    coded += size;
    if (random) {
      sizes[0] = static_cast<uint8_t>(size);
      sizes[1] = static_cast<uint8_t>(size >> 8);
      sizes += 2;
    }
  }
  *payload = {0, static_cast<uint64_t>(coded - output)};
  return SZARENA_OK;
}

template <typename T>
int Decompress(const szarena_problem& p, const uint8_t* in, uint64_t size, T* output, void*) {
  Header h;
  if (!ReadHeader<T>(p, in, size, h)) return SZARENA_CORRUPT;
  const uint8_t* const end = in + size;
  const uint8_t* median = h.medians;
  const uint8_t* coded = h.coded;
  for (uint64_t b = 0; b < h.blocks; ++b) {
    const uint64_t m = p.n - b * h.block < h.block ? p.n - b * h.block : h.block;
    T* x = output + b * h.block;
    if (!IsCoded(h.states, b)) {
      if (median == h.coded) return SZARENA_CORRUPT;
      const T value = FromBits<T>(LoadBig<typename Type<T>::Word>(median));
      median += sizeof(T);
      for (uint64_t i = 0; i < m; ++i) x[i] = value;
      continue;
    }
    const uint64_t bytes = ReadBlock(coded, static_cast<uint64_t>(end - coded), m, x);
    if (bytes == 0) return SZARENA_CORRUPT;
    coded += bytes;
  }
  return coded == end && median == h.coded ? SZARENA_OK : SZARENA_CORRUPT;
}

}  // namespace

extern "C" uint64_t szarena_workspace_bytes(const szarena_problem*) { return 0; }

extern "C" int szarena_compress(const szarena_problem* p, const void* input, void* output,
                                uint64_t capacity, void* workspace, uint64_t,
                                szarena_payload* payload) {
  auto* out = static_cast<uint8_t*>(output);
  return p->dtype == SZARENA_F32
             ? Compress(*p, static_cast<const float*>(input), out, capacity, workspace, payload)
             : Compress(*p, static_cast<const double*>(input), out, capacity, workspace, payload);
}

extern "C" int szarena_decompress(const szarena_problem* p, const void* payload, uint64_t size,
                                  void* output, void* workspace, uint64_t) {
  const auto* in = static_cast<const uint8_t*>(payload);
  return p->dtype == SZARENA_F32
             ? Decompress(*p, in, size, static_cast<float*>(output), workspace)
             : Decompress(*p, in, size, static_cast<double*>(output), workspace);
}

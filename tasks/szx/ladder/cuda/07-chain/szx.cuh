// SPDX-License-Identifier: Apache-2.0
// SZx's arithmetic and stream layout, for host and device alike (format: szx.md).
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "szarena_candidate_cuda.h"

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

// SPDX-License-Identifier: Apache-2.0
// SZx in plain scalar C++: one pass decides how each block is coded, a second one writes.
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

template <typename T>
struct Plan {
  bool constant;
  bool exact;  // every bit kept
  int bits;    // kept of each difference
  T median;
};

template <typename T>
Plan<T> MakePlan(const T* x, uint64_t m, T e) {
  const Plan<T> exact = {false, true, Type<T>::kBits, T(-0.0)};
  T low = x[0], high = x[0];
  for (uint64_t i = 0; i < m; ++i) {
    if (!std::isfinite(x[i])) return exact;
    if (x[i] < low) low = x[i];
    if (x[i] > high) high = x[i];
  }
  T range = high - low;
  if (!std::isfinite(range)) return exact;
  T radius = range / 2;
  T median = (low + radius) + T(0);
  if (radius <= e) {
    for (uint64_t i = 0; i < m; ++i) {
      if (e > 0 ? !Within(x[i], median, e) : BitsOf(x[i]) != BitsOf(median)) return exact;
    }
    return {true, false, 0, median};
  }
  int bits = Type<T>::kHead + Exponent(radius) - Exponent(static_cast<double>(e)) + 1;
  if (bits < Type<T>::kHead) bits = Type<T>::kHead;
  if (e == 0 || bits > Type<T>::kBits || (bits == Type<T>::kBits && median == 0)) {
    return {false, true, Type<T>::kBits, T(0)};
  }
  using Word = typename Type<T>::Word;
  Word mask = static_cast<Word>(~Word(0) << (Type<T>::kBits - bits));
  for (uint64_t i = 0; i < m; ++i) {
    if (!Within(x[i], FromBits<T>(BitsOf(x[i] - median) & mask) + median, e)) return exact;
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
  uint64_t head = 1 + sizeof(T) + (m + 3) / 4;
  if (available < head || in[0] < Type<T>::kHead || in[0] > Type<T>::kBits) return 0;
  const int kept = (in[0] + 7) / 8;
  const int shift = 8 * kept - in[0];
  const T median = FromBits<T>(LoadBig<Word>(in + 1));
  const bool exact = in[0] == Type<T>::kBits && median == 0;
  const uint8_t* codes = in + 1 + sizeof(T);
  uint64_t at = head;
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
int Compress(const szarena_problem& p, const T* input, uint8_t* output, uint64_t capacity,
             szarena_payload* payload) {
  const T e = RoundDown<T>(p.abs_bound);
  const bool random = p.mode == SZARENA_MODE_RANDOM_ACCESS;
  const uint64_t blocks = p.n / kBlock + (p.n % kBlock != 0);
  auto length = [&](uint64_t b) { return p.n - b * kBlock < kBlock ? p.n - b * kBlock : kBlock; };

  uint64_t constant = 0;
  for (uint64_t b = 0; b < blocks; ++b)
    constant += MakePlan(input + b * kBlock, length(b), e).constant;

  uint64_t header = random ? 20 : 13;
  uint8_t* sizes = output + header;
  uint8_t* states = sizes + (random ? 2 * (blocks - constant) : 0);
  uint8_t* medians = states + (blocks + 7) / 8;
  uint8_t* coded = medians + sizeof(T) * constant;
  if (static_cast<uint64_t>(coded - output) > capacity) return SZARENA_CAPACITY;
  output[0] = output[1] = 1;
  output[2] = Type<T>::kVersion;
  output[3] = random;
  if (random) {
    StoreBig<uint64_t>(output + 4, kBlock);
  } else {
    output[4] = kBlock;
  }
  StoreBig(output + header - 8, constant);
  std::memset(states, 0, (blocks + 7) / 8);

  for (uint64_t b = 0; b < blocks; ++b) {
    const T* x = input + b * kBlock;
    Plan<T> plan = MakePlan(x, length(b), e);
    if (plan.constant) {
      StoreBig(medians, BitsOf(plan.median));
      medians += sizeof(T);
      continue;
    }
    uint64_t most = 1 + sizeof(T) + (length(b) + 3) / 4 + length(b) * sizeof(T);
    if (capacity - static_cast<uint64_t>(coded - output) < most) return SZARENA_CAPACITY;
    states[b / 8] |= static_cast<uint8_t>(0x80 >> (b % 8));
    uint64_t size = WriteBlock(x, length(b), plan, coded);
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
int Decompress(const szarena_problem& p, const uint8_t* in, uint64_t size, T* output) {
  if (size < 13 || in[0] != 1 || in[1] != 1 || in[2] != Type<T>::kVersion || in[3] > 1)
    return SZARENA_CORRUPT;
  const bool random = in[3] == 1;
  const uint64_t header = random ? 20 : 13;
  if (size < header) return SZARENA_CORRUPT;
  const uint64_t block = random ? LoadBig<uint64_t>(in + 4) : in[4];
  if (block < 1 || block > 7936) return SZARENA_CORRUPT;
  const uint64_t blocks = p.n / block + (p.n % block != 0);
  const uint64_t constant = LoadBig<uint64_t>(in + header - 8);
  if (constant > blocks) return SZARENA_CORRUPT;
  const uint64_t tables =
      (random ? 2 * (blocks - constant) : 0) + (blocks + 7) / 8 + sizeof(T) * constant;
  if (size - header < tables) return SZARENA_CORRUPT;
  const uint8_t* states = in + header + (random ? 2 * (blocks - constant) : 0);
  const uint8_t* medians = states + (blocks + 7) / 8;
  const uint8_t* const medians_end = medians + sizeof(T) * constant;
  uint64_t at = header + tables;
  for (uint64_t b = 0; b < blocks; ++b) {
    uint64_t m = p.n - b * block < block ? p.n - b * block : block;
    T* x = output + b * block;
    if ((states[b / 8] & 0x80 >> (b % 8)) == 0) {
      if (medians == medians_end) return SZARENA_CORRUPT;
      T median = FromBits<T>(LoadBig<typename Type<T>::Word>(medians));
      medians += sizeof(T);
      for (uint64_t i = 0; i < m; ++i) x[i] = median;
      continue;
    }
    uint64_t bytes = ReadBlock(in + at, size - at, m, x);
    if (bytes == 0) return SZARENA_CORRUPT;
    at += bytes;
  }
  return at == size && medians == medians_end ? SZARENA_OK : SZARENA_CORRUPT;
}

}  // namespace

extern "C" uint64_t szarena_workspace_bytes(const szarena_problem*) { return 0; }

extern "C" int szarena_compress(const szarena_problem* p, const void* input, void* output,
                                uint64_t capacity, void*, uint64_t, szarena_payload* payload) {
  auto* out = static_cast<uint8_t*>(output);
  return p->dtype == SZARENA_F32
             ? Compress(*p, static_cast<const float*>(input), out, capacity, payload)
             : Compress(*p, static_cast<const double*>(input), out, capacity, payload);
}

extern "C" int szarena_decompress(const szarena_problem* p, const void* payload, uint64_t size,
                                  void* output, void*, uint64_t) {
  const auto* in = static_cast<const uint8_t*>(payload);
  return p->dtype == SZARENA_F32 ? Decompress(*p, in, size, static_cast<float*>(output))
                                 : Decompress(*p, in, size, static_cast<double*>(output));
}

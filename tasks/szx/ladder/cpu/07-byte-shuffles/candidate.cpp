// SPDX-License-Identifier: Apache-2.0
// SZx, step 7: four words a step by byte shuffles from tables.
#if !defined(__AVX2__) || !defined(__BMI2__)
#error "this candidate needs AVX2 and BMI2"
#endif
#include <immintrin.h>

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

// Bytes of the machine's widest vectors.
#if defined(__AVX512F__)
constexpr int kVectorBytes = 64;
#elif defined(__AVX__)
constexpr int kVectorBytes = 32;
#else
constexpr int kVectorBytes = 16;
#endif

// The compiler's own vectors of that size.
template <typename T>
struct Vectors;
template <>
struct Vectors<float> {
  typedef float Real __attribute__((vector_size(kVectorBytes)));
  typedef uint32_t Word __attribute__((vector_size(kVectorBytes)));
};
template <>
struct Vectors<double> {
  typedef double Real __attribute__((vector_size(kVectorBytes)));
  typedef uint64_t Word __attribute__((vector_size(kVectorBytes)));
};

template <typename Vector, typename T>
inline Vector Load(const T* from) {
  Vector v;
  std::memcpy(&v, from, sizeof v);
  return v;
}

// Whether every lane of a comparison is true.
template <typename Mask>
inline bool All(const Mask& mask) {
  uint64_t parts[kVectorBytes / 8], all = ~uint64_t{0};
  std::memcpy(parts, &mask, sizeof parts);
  for (uint64_t part : parts) all &= part;
  return all == ~uint64_t{0};
}

// The plan of a whole block. The vector check |x - x'| < e decides; where it fails for some value,
// the exact one does.
template <typename T>
inline Plan<T> MakePlan(const T* x, T e) {
  using Real = typename Vectors<T>::Real;
  using Word = typename Type<T>::Word;
  using Words = typename Vectors<T>::Word;
  constexpr uint64_t kLanes = sizeof(Real) / sizeof(T);
  const Real zero = {};
  Real lows = Load<Real>(x), highs = lows;
  auto finite = (lows - lows) == zero;
  for (uint64_t i = kLanes; i < kBlock; i += kLanes) {
    Real v = Load<Real>(x + i);
    lows = v < lows ? v : lows;
    highs = v > highs ? v : highs;
    finite &= (v - v) == zero;
  }
  if (!All(finite)) return kExact<T>;
  T low = lows[0], high = highs[0];
  for (uint64_t k = 1; k < kLanes; ++k) {
    low = lows[k] < low ? lows[k] : low;
    high = highs[k] > high ? highs[k] : high;
  }
  const T range = high - low;
  if (!std::isfinite(range)) return kExact<T>;
  const T radius = range / 2;
  const T median = (low + radius) + T(0);
  if (radius <= e) {
    auto fine = zero == zero;
    for (uint64_t i = 0; i < kBlock; i += kLanes) {
      Real error = Load<Real>(x + i) - median;
      fine &= (error < e) & (error > -e);
    }
    if (!All(fine)) {
      for (uint64_t i = 0; i < kBlock; ++i) {
        if (e > 0 ? !Within(x[i], median, e) : BitsOf(x[i]) != BitsOf(median)) return kExact<T>;
      }
    }
    return {true, false, 0, median};
  }
  int bits = Type<T>::kHead + Exponent(radius) - Exponent(static_cast<double>(e)) + 1;
  if (bits < Type<T>::kHead) bits = Type<T>::kHead;
  if (e == 0 || bits > Type<T>::kBits || (bits == Type<T>::kBits && median == 0)) {
    return {false, true, Type<T>::kBits, T(0)};
  }
  const Word mask = static_cast<Word>(~Word(0) << (Type<T>::kBits - bits));
  auto fine = zero == zero;
  for (uint64_t i = 0; i < kBlock; i += kLanes) {
    Real v = Load<Real>(x + i);
    Real error = v - ((Real)((Words)(v - median) & mask) + median);
    fine &= (error < e) & (error > -e);
  }
  if (!All(fine)) {
    for (uint64_t i = 0; i < kBlock; ++i) {
      if (!Within(x[i], FromBits<T>(BitsOf(x[i] - median) & mask) + median, e)) return kExact<T>;
    }
  }
  return {false, false, bits, median};
}

// The words of a whole block behind one word 0, so that each finds its predecessor.
template <typename T>
inline void MakeWords(const T* x, const Plan<T>& plan, typename Type<T>::Word* words) {
  using Real = typename Vectors<T>::Real;
  using Words = typename Vectors<T>::Word;
  const int shift = (8 - plan.bits % 8) % 8;
  const T subtract = plan.exact ? T(0) : plan.median;
  words[0] = 0;
  for (uint64_t i = 0; i < kBlock; i += sizeof(Real) / sizeof(T)) {
    Real v = Load<Real>(x + i);
    Words w = (plan.exact ? (Words)v : (Words)(v - subtract)) >> shift;
    std::memcpy(words + 1 + i, &w, sizeof w);
  }
}

// A short last block as a whole one; the values added do not change the plan.
template <typename T>
inline const T* Padded(const T* x, uint64_t m, T* room) {
  if (m == kBlock) return x;
  for (uint64_t i = 0; i < kBlock; ++i) room[i] = x[i < m ? i : m - 1];
  return room;
}

// The 2-bit codes of a whole block.
template <typename Word>
inline void MakeCodes(const Word* words, uint64_t m, uint8_t* codes) {
  constexpr int kTop = 8 * sizeof(Word);
  uint8_t code[kBlock];
  for (uint64_t i = 0; i < kBlock; ++i) {
    Word d = words[1 + i] ^ words[i];
    code[i] = static_cast<uint8_t>((d >> (kTop - 8) == 0) + (d >> (kTop - 16) == 0) +
                                   (d >> (kTop - 24) == 0));
  }
  for (uint64_t i = m; i < kBlock; ++i) code[i] = 0;
  for (uint64_t g = 0; g < (m + 3) / 4; ++g) {
    codes[g] = static_cast<uint8_t>(code[4 * g] << 6 | code[4 * g + 1] << 4 | code[4 * g + 2] << 2 |
                                    code[4 * g + 3]);
  }
}

// The bytes of m words that are kept and not shared; returns their end. Each word is stored whole,
// the next one overwrites what is not wanted.
template <typename Word>
inline uint8_t* PackBytes(const Word* words, uint64_t m, int kept, const uint8_t* codes,
                          uint8_t* next) {
  const int drop = 8 * (static_cast<int>(sizeof(Word)) - kept);
  for (uint64_t i = 0; i < m; ++i) {
    int code = codes[i / 4] >> (6 - 2 * (i % 4)) & 3;
    Word w = words[i] >> drop;
    std::memcpy(next, &w, sizeof w);
    next += kept > code ? kept - code : 0;
  }
  return next;
}

// The words of a block, one unaligned load each. `next` may be read 8 bytes beyond the block.
template <typename Word>
inline const uint8_t* UnpackWords(const uint8_t* codes, const uint8_t* next, uint64_t m, int kept,
                                  Word* words) {
  constexpr int kSize = sizeof(Word);
  Word w = 0;
  // By code: which bits of a word are stored.
  Word stored[4];
  for (int code = 0; code < 4; ++code) {
    const int bytes = kept > code ? kept - code : 0;
    stored[code] =
        bytes == 0 ? 0
                   : static_cast<Word>(~Word(0) >> (8 * (kSize - bytes)) << (8 * (kSize - kept)));
  }
  for (uint64_t i = 0; i < m; ++i) {
    const int code = codes[i / 4] >> (6 - 2 * (i % 4)) & 3;
    Word fresh;
    std::memcpy(&fresh, next, sizeof fresh);
    fresh = static_cast<Word>(fresh << (8 * (kSize - kept)));
    w = (w & ~stored[code]) | (fresh & stored[code]);
    next += kept > code ? kept - code : 0;
    words[i] = w;
  }
  return next;
}

// Tables for four f32 words at once, by kept bytes (1 to 4, less 1) and the byte that holds their
// four codes: where the stored bytes come from and how many there are, and back. 0x80 in the table
// back: the byte of the word before the four.
struct ShuffleTables {
  alignas(16) uint8_t pack[4][256][16];
  alignas(16) uint8_t unpack[4][256][16];
  uint8_t length[4][256];
};
constexpr ShuffleTables MakeShuffleTables() {
  ShuffleTables t{};
  for (int kept = 1; kept <= 4; ++kept) {
    for (int codes = 0; codes < 256; ++codes) {
      uint8_t(&pack)[16] = t.pack[kept - 1][codes];
      uint8_t(&unpack)[16] = t.unpack[kept - 1][codes];
      int at = 0;
      for (int b = 0; b < 16; ++b) pack[b] = 0x80;
      for (int value = 0; value < 4; ++value) {
        const int code = codes >> (6 - 2 * value) & 3;
        for (int b = 0; b < 4; ++b) {
          const bool stored = b >= 4 - kept && b < 4 - code;
          unpack[4 * value + b] = stored       ? static_cast<uint8_t>(at)
                                  : value == 0 ? uint8_t{0x80}
                                               : unpack[4 * (value - 1) + b];
          if (stored) pack[at++] = static_cast<uint8_t>(4 * value + b);
        }
      }
      t.length[kept - 1][codes] = static_cast<uint8_t>(at);
    }
  }
  return t;
}
constexpr ShuffleTables kShuffles = MakeShuffleTables();

// Four words a step; of the last four only those that exist are counted.
inline uint8_t* PackBytes(const uint32_t* words, uint64_t m, int kept, const uint8_t* codes,
                          uint8_t* next) {
  const auto& pack = kShuffles.pack[kept - 1];
  const auto& length = kShuffles.length[kept - 1];
  for (uint64_t g = 0; g < m / 4; ++g) {
    __m128i w = _mm_loadu_si128(reinterpret_cast<const __m128i*>(words + 4 * g));
    __m128i bytes =
        _mm_shuffle_epi8(w, _mm_load_si128(reinterpret_cast<const __m128i*>(pack[codes[g]])));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(next), bytes);
    next += length[codes[g]];
  }
  return PackBytes<uint32_t>(words + m / 4 * 4, m % 4, kept, codes + m / 4, next);
}

inline const uint8_t* UnpackWords(const uint8_t* codes, const uint8_t* next, uint64_t m, int kept,
                                  uint32_t* words) {
  if (m % 4 != 0) return UnpackWords<uint32_t>(codes, next, m, kept, words);
  const auto& unpack = kShuffles.unpack[kept - 1];
  const auto& length = kShuffles.length[kept - 1];
  __m128i before = _mm_setzero_si128();
  for (uint64_t g = 0; g < m / 4; ++g) {
    __m128i table = _mm_load_si128(reinterpret_cast<const __m128i*>(unpack[codes[g]]));
    __m128i fresh =
        _mm_shuffle_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(next)), table);
    __m128i w = _mm_blendv_epi8(fresh, before, table);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(words + 4 * g), w);
    before = _mm_shuffle_epi32(w, 0xFF);
    next += length[codes[g]];
  }
  return next;
}

// Eight codes a step: a comparison's mask has a bit a lane, pdep spreads the masks of high and low
// bits into codes.
inline void MakeCodes(const uint32_t* words, uint64_t m, uint8_t* codes) {
  for (uint64_t i = 0; i < kBlock; i += 8) {
    __m256i d =
        _mm256_xor_si256(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(words + 1 + i)),
                         _mm256_loadu_si256(reinterpret_cast<const __m256i*>(words + i)));
    d = _mm256_shuffle_epi32(d, 0x1B);  // the first of four values has the top bits of its byte
    auto below = [&](__m256i shifted) {
      return static_cast<uint32_t>(_mm256_movemask_ps(
          _mm256_castsi256_ps(_mm256_cmpeq_epi32(shifted, _mm256_setzero_si256()))));
    };
    const uint32_t one = below(_mm256_srli_epi32(d, 24)), two = below(_mm256_srli_epi32(d, 16));
    const uint32_t three = below(_mm256_srli_epi32(d, 8));
    const uint16_t pair =
        static_cast<uint16_t>(_pdep_u32(two, 0xAAAA) | _pdep_u32((one & ~two) | three, 0x5555));
    if (i + 8 <= m) {
      std::memcpy(codes + i / 4, &pair, 2);
      continue;
    }
    for (uint64_t g = i / 4; g < (m + 3) / 4 && g < i / 4 + 2; ++g)
      codes[g] = static_cast<uint8_t>(pair >> (g % 2 * 8));
    if (m % 4 != 0 && m < i + 8 && m > i)
      codes[m / 4] &= static_cast<uint8_t>(0xFF00 >> (2 * (m % 4)));
  }
}

// Codes a block; returns its size, 0 where it is constant with that median.
template <typename T>
uint64_t EncodeBlock(const T* values, uint64_t m, T e, uint8_t* out, T* median) {
  using Word = typename Type<T>::Word;
  T room[kBlock];
  const T* x = Padded(values, m, room);
  const Plan<T> plan = MakePlan(x, e);
  *median = plan.median;
  if (plan.constant) return 0;
  Word words[1 + kBlock];
  MakeWords(x, plan, words);
  out[0] = static_cast<uint8_t>(plan.bits);
  StoreBig(out + 1, BitsOf(plan.median));
  uint8_t* const codes = out + 1 + sizeof(T);
  MakeCodes(words, m, codes);
  return static_cast<uint64_t>(
      PackBytes(words + 1, m, (plan.bits + 7) / 8, codes, codes + (m + 3) / 4) - out);
}

// Reads one coded block of m values; returns its size, 0 where it is damaged or cut off.
template <typename T>
uint64_t ReadBlockCarefully(const uint8_t* in, uint64_t available, uint64_t m, T* x) {
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

// Reads one coded block of m values; returns its size, 0 where it is damaged or cut off.
template <typename T>
uint64_t ReadBlock(const uint8_t* in, uint64_t available, uint64_t m, T* x) {
  using Word = typename Type<T>::Word;
  const uint64_t head = 1 + sizeof(T) + (m + 3) / 4;
  // Foreign block sizes, damaged blocks and the last bytes of a stream take the careful way.
  if (m > kBlock || available < MostBytes<T>(m) + 16 || in[0] < Type<T>::kHead ||
      in[0] > Type<T>::kBits) {
    return ReadBlockCarefully(in, available, m, x);
  }
  const int kept = (in[0] + 7) / 8;
  const int shift = 8 * kept - in[0];
  const T median = FromBits<T>(LoadBig<Word>(in + 1));
  Word words[kBlock];
  const uint8_t* end = UnpackWords(in + 1 + sizeof(T), in + head, m, kept, words);
  if (in[0] == Type<T>::kBits && median == 0) {
    std::memcpy(x, words, m * sizeof(T));
  } else {
    for (uint64_t i = 0; i < m; ++i)
      x[i] = FromBits<T>(static_cast<Word>(words[i] << shift)) + median;
  }
  return static_cast<uint64_t>(end - in);
}

// The scratch memory: tables whose length is known at the end.
template <typename T>
struct Tables {
  Tables(const szarena_problem& p, void* workspace)
      : medians(static_cast<uint8_t*>(workspace)),
        sizes(medians + sizeof(T) * Blocks(p)),
        states(sizes + 2 * Blocks(p)) {}
  static uint64_t Bytes(const szarena_problem& p) {
    return Blocks(p) * (sizeof(T) + 2) + (Blocks(p) + 7) / 8;
  }
  uint8_t *medians, *sizes, *states;
  uint64_t constant = 0, coded = 0;
};

// Blocks may write so many bytes beyond their end.
constexpr uint64_t kSlack = 64;

// Codes all blocks from `place` on and gives the end, 0 where the buffer is too short for that.
template <typename T>
uint64_t CodeFrom(const szarena_problem& p, const T* input, T e, uint8_t* output, uint64_t capacity,
                  uint64_t place, Tables<T>& tables) {
  const uint64_t blocks = Blocks(p);
  std::memset(tables.states, 0, (blocks + 7) / 8);
  uint64_t at = place;
  for (uint64_t b = 0; b < blocks; ++b) {
    if (capacity < at || capacity - at < MostBytes<T>(Length(p, b)) + kSlack) return 0;
    T median;
    const uint64_t size = EncodeBlock(input + b * kBlock, Length(p, b), e, output + at, &median);
    if (size == 0) {
      StoreBig(tables.medians + sizeof(T) * tables.constant++, BitsOf(median));
      continue;
    }
    tables.states[b / 8] |= static_cast<uint8_t>(0x80 >> (b % 8));
    const uint16_t short_size = static_cast<uint16_t>(size);
    std::memcpy(tables.sizes + 2 * tables.coded++, &short_size, 2);
    at += size;
  }
  return at;
}

// One pass: the blocks go behind room for the longest tables, then the tables right before the
// blocks.
template <typename T>
int CompressAlone(const szarena_problem& p, const T* input, uint8_t* output, uint64_t capacity,
                  void* workspace, szarena_payload* payload) {
  const T e = RoundDown<T>(p.abs_bound);
  const bool random = p.mode == SZARENA_MODE_RANDOM_ACCESS;
  const uint64_t blocks = Blocks(p), header = random ? 20 : 13, states = (blocks + 7) / 8;
  Tables<T> tables(p, workspace);
  uint64_t place = header + states + sizeof(T) * blocks;
  uint64_t end = CodeFrom(p, input, e, output, capacity, place, tables);
  auto table_bytes = [&] {
    return header + states + (random ? 2 * tables.coded : 0) + sizeof(T) * tables.constant;
  };
  if (end == 0) {
    // Hardly compressible: the room for tables that never come is missing. Count the blocks first.
    tables = Tables<T>(p, workspace);
    for (uint64_t b = 0; b < blocks; ++b) {
      T median;
      uint8_t unused[MostBytes<T>(kBlock) + kSlack];
      ++(EncodeBlock(input + b * kBlock, Length(p, b), e, unused, &median) == 0 ? tables.constant
                                                                                : tables.coded);
    }
    place = table_bytes();
    tables = Tables<T>(p, workspace);
    end = CodeFrom(p, input, e, output, capacity, place, tables);
    if (end == 0) return SZARENA_CAPACITY;
  }
  uint8_t* out = output + place - table_bytes();
  *payload = {static_cast<uint64_t>(out - output), end - (place - table_bytes())};
  WriteHeader<T>(random, tables.constant, out);
  out += header;
  if (random) {
    std::memcpy(out, tables.sizes, 2 * tables.coded);
    out += 2 * tables.coded;
  }
  std::memcpy(out, tables.states, states);
  std::memcpy(out + states, tables.medians, sizeof(T) * tables.constant);
  return SZARENA_OK;
}

template <typename T>
int Compress(const szarena_problem& p, const T* input, uint8_t* output, uint64_t capacity,
             void* workspace, szarena_payload* payload) {
  return CompressAlone(p, input, output, capacity, workspace, payload);
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

extern "C" uint64_t szarena_workspace_bytes(const szarena_problem* p) {
  return p->dtype == SZARENA_F32 ? Tables<float>::Bytes(*p) : Tables<double>::Bytes(*p);
}

extern "C" int szarena_compress(const szarena_problem* p, const void* input, void* output,
                                uint64_t capacity, void* workspace, uint64_t workspace_bytes,
                                szarena_payload* payload) {
  if (workspace_bytes < szarena_workspace_bytes(p)) return SZARENA_CAPACITY;
  auto* out = static_cast<uint8_t*>(output);
  return p->dtype == SZARENA_F32
             ? Compress(*p, static_cast<const float*>(input), out, capacity, workspace, payload)
             : Compress(*p, static_cast<const double*>(input), out, capacity, workspace, payload);
}

extern "C" int szarena_decompress(const szarena_problem* p, const void* payload, uint64_t size,
                                  void* output, void* workspace, uint64_t workspace_bytes) {
  if (workspace_bytes < szarena_workspace_bytes(p)) return SZARENA_CAPACITY;
  const auto* in = static_cast<const uint8_t*>(payload);
  return p->dtype == SZARENA_F32
             ? Decompress(*p, in, size, static_cast<float*>(output), workspace)
             : Decompress(*p, in, size, static_cast<double*>(output), workspace);
}

// SPDX-License-Identifier: Apache-2.0
// SZx, step 1: every stage is a pass over the whole field, with arrays between them.
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

// The scratch memory: one array for every stage's result. Reading allows blocks as short as one
// value.
template <typename T>
struct Scratch {
  using Word = typename Type<T>::Word;
  Scratch(const szarena_problem& p, void* workspace)
      : words(static_cast<Word*>(workspace)),
        low(reinterpret_cast<T*>(words + p.n)),
        high(low + p.n),
        places(reinterpret_cast<uint64_t*>(high + p.n)),
        plans(reinterpret_cast<Plan<T>*>(places + p.n)),
        codes(reinterpret_cast<uint8_t*>(plans + p.n)) {}
  static uint64_t Bytes(uint64_t n) {
    return n * (sizeof(Word) + 2 * sizeof(T) + 8 + sizeof(Plan<T>) + 1);
  }
  Word* words;       // one a value
  T *low, *high;     // one a block
  uint64_t* places;  // of the coded blocks
  Plan<T>* plans;    // one a block
  uint8_t* codes;    // one a value
};

// Stage 1: extremes of each block.
template <typename T>
void FindExtremes(const szarena_problem& p, const T* x, Scratch<T>& s) {
  for (uint64_t b = 0; b < Blocks(p); ++b) {
    T low = x[b * kBlock], high = low;
    bool finite = true;
    for (uint64_t i = 0; i < Length(p, b); ++i) {
      T v = x[b * kBlock + i];
      finite = finite && std::isfinite(v);
      if (v < low) low = v;
      if (v > high) high = v;
    }
    s.low[b] = low;
    s.high[b] = finite ? high : T(INFINITY);
  }
}

// Stage 2: median and kept bits of each block.
template <typename T>
void PlanBlocks(const szarena_problem& p, T e, Scratch<T>& s) {
  for (uint64_t b = 0; b < Blocks(p); ++b) {
    T range = s.high[b] - s.low[b];
    T radius = range / 2;
    T median = (s.low[b] + radius) + T(0);
    if (!std::isfinite(range)) {
      s.plans[b] = kExact<T>;
    } else if (radius <= e) {
      s.plans[b] = {true, false, 0, median};
    } else {
      int bits = Type<T>::kHead + Exponent(radius) - Exponent(static_cast<double>(e)) + 1;
      if (bits < Type<T>::kHead) bits = Type<T>::kHead;
      bool exact = e == 0 || bits > Type<T>::kBits || (bits == Type<T>::kBits && median == 0);
      s.plans[b] =
          exact ? Plan<T>{false, true, Type<T>::kBits, T(0)} : Plan<T>{false, false, bits, median};
    }
  }
}

// Stage 3: blocks that would break the bound become exact.
template <typename T>
void CheckBlocks(const szarena_problem& p, const T* x, T e, Scratch<T>& s) {
  using Word = typename Type<T>::Word;
  for (uint64_t b = 0; b < Blocks(p); ++b) {
    const Plan<T> plan = s.plans[b];
    if (plan.exact) continue;
    for (uint64_t i = b * kBlock; i < b * kBlock + Length(p, b); ++i) {
      Word mask = plan.constant ? 0 : static_cast<Word>(~Word(0) << (Type<T>::kBits - plan.bits));
      T restored = plan.constant ? plan.median
                                 : FromBits<T>(BitsOf(x[i] - plan.median) & mask) + plan.median;
      if (e > 0 ? !Within(x[i], restored, e) : BitsOf(x[i]) != BitsOf(restored))
        s.plans[b] = kExact<T>;
    }
  }
}

int Kept(int bits) { return (bits + 7) / 8; }

// Stage 4: words.
template <typename T>
void MakeWords(const szarena_problem& p, const T* x, Scratch<T>& s) {
  for (uint64_t i = 0; i < p.n; ++i) {
    const Plan<T>& plan = s.plans[i / kBlock];
    if (plan.constant) continue;
    s.words[i] =
        BitsOf(plan.exact ? x[i] : x[i] - plan.median) >> (8 * Kept(plan.bits) - plan.bits);
  }
}

// Stage 5: leading bytes shared with the word before.
template <typename T>
void MakeCodes(const szarena_problem& p, Scratch<T>& s) {
  for (uint64_t i = 0; i < p.n; ++i) {
    if (s.plans[i / kBlock].constant) continue;
    auto difference = s.words[i] ^ (i % kBlock == 0 ? 0 : s.words[i - 1]);
    uint8_t code = 0;
    while (code < 3 && difference >> (Type<T>::kBits - 8 * (code + 1)) == 0) ++code;
    s.codes[i] = code;
  }
}

// Stage 6: sizes and places of the coded blocks; returns the end of the last one, relative to the
// first.
template <typename T>
uint64_t PlaceBlocks(const szarena_problem& p, Scratch<T>& s) {
  uint64_t at = 0;
  for (uint64_t b = 0; b < Blocks(p); ++b) {
    s.places[b] = at;
    if (s.plans[b].constant) continue;
    at += 1 + sizeof(T) + (Length(p, b) + 3) / 4;
    for (uint64_t i = b * kBlock; i < b * kBlock + Length(p, b); ++i) {
      int bytes = Kept(s.plans[b].bits) - s.codes[i];
      if (bytes > 0) at += static_cast<uint64_t>(bytes);
    }
  }
  return at;
}

// Stage 7: bytes.
template <typename T>
void WriteBlocks(const szarena_problem& p, const Scratch<T>& s, uint8_t* coded) {
  for (uint64_t b = 0; b < Blocks(p); ++b) {
    const Plan<T>& plan = s.plans[b];
    if (plan.constant) continue;
    uint8_t* out = coded + s.places[b];
    const uint64_t m = Length(p, b);
    out[0] = static_cast<uint8_t>(plan.bits);
    StoreBig(out + 1, BitsOf(plan.median));
    uint8_t* codes = out + 1 + sizeof(T);
    std::memset(codes, 0, (m + 3) / 4);
    uint8_t* next = codes + (m + 3) / 4;
    for (uint64_t i = 0; i < m; ++i) {
      const int code = s.codes[b * kBlock + i];
      codes[i / 4] |= static_cast<uint8_t>(code << (6 - 2 * (i % 4)));
      for (int k = static_cast<int>(sizeof(T)) - Kept(plan.bits);
           k < static_cast<int>(sizeof(T)) - code; ++k) {
        *next++ = static_cast<uint8_t>(s.words[b * kBlock + i] >> (8 * k));
      }
    }
  }
}

template <typename T>
int Compress(const szarena_problem& p, const T* input, uint8_t* output, uint64_t capacity,
             void* workspace, szarena_payload* payload) {
  const T e = RoundDown<T>(p.abs_bound);
  const bool random = p.mode == SZARENA_MODE_RANDOM_ACCESS;
  const uint64_t blocks = Blocks(p);
  Scratch<T> s(p, workspace);
  FindExtremes(p, input, s);
  PlanBlocks(p, e, s);
  CheckBlocks(p, input, e, s);
  MakeWords(p, input, s);
  MakeCodes(p, s);
  const uint64_t coded_bytes = PlaceBlocks(p, s);
  uint64_t constant = 0;
  for (uint64_t b = 0; b < blocks; ++b) constant += s.plans[b].constant;
  uint8_t* sizes = output + (random ? 20 : 13);
  uint8_t* states = sizes + (random ? 2 * (blocks - constant) : 0);
  uint8_t* medians = states + (blocks + 7) / 8;
  uint8_t* coded = medians + sizeof(T) * constant;
  const uint64_t total = static_cast<uint64_t>(coded - output) + coded_bytes;
  if (total > capacity) return SZARENA_CAPACITY;
  WriteHeader<T>(random, constant, output);
  std::memset(states, 0, (blocks + 7) / 8);
  for (uint64_t b = 0; b < blocks; ++b) {
    if (s.plans[b].constant) {
      StoreBig(medians, BitsOf(s.plans[b].median));
      medians += sizeof(T);
      continue;
    }
    states[b / 8] |= static_cast<uint8_t>(0x80 >> (b % 8));
    if (!random) continue;
    const uint64_t size = (b + 1 < blocks ? s.places[b + 1] : coded_bytes) - s.places[b];
    sizes[0] = static_cast<uint8_t>(size);
    sizes[1] = static_cast<uint8_t>(size >> 8);
    sizes += 2;
  }
  WriteBlocks(p, s, coded);
  *payload = {0, total};
  return SZARENA_OK;
}

template <typename T>
int Decompress(const szarena_problem& p, const uint8_t* in, uint64_t size, T* output,
               void* workspace) {
  using Word = typename Type<T>::Word;
  Header h;
  if (!ReadHeader<T>(p, in, size, h)) return SZARENA_CORRUPT;
  Scratch<T> s(p, workspace);
  auto length = [&](uint64_t b) {
    return p.n - b * h.block < h.block ? p.n - b * h.block : h.block;
  };
  // Stage 1: codes, and places of the blocks.
  uint64_t at = static_cast<uint64_t>(h.coded - in), constant = 0;
  for (uint64_t b = 0; b < h.blocks; ++b) {
    s.places[b] = at;
    if (!IsCoded(h.states, b)) {
      ++constant;
      continue;
    }
    const uint64_t head = 1 + sizeof(T) + (length(b) + 3) / 4;
    if (size - at < head || in[at] < Type<T>::kHead || in[at] > Type<T>::kBits)
      return SZARENA_CORRUPT;
    const int kept = Kept(in[at]);
    uint64_t bytes = head;
    for (uint64_t i = 0; i < length(b); ++i) {
      const int code = in[at + 1 + sizeof(T) + i / 4] >> (6 - 2 * (i % 4)) & 3;
      s.codes[b * h.block + i] = static_cast<uint8_t>(code);
      if (kept > code) bytes += static_cast<uint64_t>(kept - code);
    }
    if (size - at < bytes) return SZARENA_CORRUPT;
    at += bytes;
  }
  if (at != size || constant != h.constant) return SZARENA_CORRUPT;
  // Stage 2: words.
  for (uint64_t b = 0; b < h.blocks; ++b) {
    if (!IsCoded(h.states, b)) continue;
    const uint8_t* next = in + s.places[b] + 1 + sizeof(T) + (length(b) + 3) / 4;
    const int kept = Kept(in[s.places[b]]);
    Word w = 0;
    for (uint64_t i = b * h.block; i < b * h.block + length(b); ++i) {
      for (int k = static_cast<int>(sizeof(T)) - kept; k < static_cast<int>(sizeof(T)) - s.codes[i];
           ++k) {
        w = static_cast<Word>((w & ~(Word(0xFF) << (8 * k))) | Word(*next++) << (8 * k));
      }
      s.words[i] = w;
    }
  }
  // Stage 3: values.
  const uint8_t* next_median = h.medians;
  for (uint64_t b = 0; b < h.blocks; ++b) {
    const bool coded = IsCoded(h.states, b);
    const T median = FromBits<T>(LoadBig<Word>(coded ? in + s.places[b] + 1 : next_median));
    const int bits = coded ? in[s.places[b]] : 0;
    if (!coded) next_median += sizeof(T);
    for (uint64_t i = b * h.block; i < b * h.block + length(b); ++i) {
      if (!coded) {
        output[i] = median;
        continue;
      }
      T d = FromBits<T>(static_cast<Word>(s.words[i] << (8 * Kept(bits) - bits)));
      output[i] = bits == Type<T>::kBits && median == 0 ? d : d + median;
    }
  }
  return SZARENA_OK;
}

}  // namespace

extern "C" uint64_t szarena_workspace_bytes(const szarena_problem* p) {
  return p->dtype == SZARENA_F32 ? Scratch<float>::Bytes(p->n) : Scratch<double>::Bytes(p->n);
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

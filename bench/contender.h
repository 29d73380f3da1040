// SPDX-License-Identifier: Apache-2.0
// What is raced in the codec benchmark: our codecs, ZFP, and any library with the candidate
// contract's ABI.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "codec/core/array.h"
#include "field/field.h"

namespace szarena::bench {

// One array to compress; `dims` slowest first.
struct Problem {
  codec::ConstArray values;
  field::Dims dims;
  double eb = 0;
  unsigned threads = 1;
};

// One codec in one mode. Set up for a problem, then called again and again with the same problem.
class Contender {
 public:
  virtual ~Contender() = default;
  virtual std::string name() const = 0;  // "szx", "zfp", "szx-public"
  virtual std::string version()
      const = 0;                          // of the code behind it, with what is known of its build
  virtual bool runs_threads() const = 0;  // whether more than one thread makes a difference
  // Allocates what the calls need; not timed. kUnavailable where the problem is outside what it can
  // do.
  virtual Result<void> Prepare(const Problem& problem) = 0;
  virtual Result<std::span<const std::byte>> Compress(const Problem& problem) = 0;
  virtual Result<void> Decompress(const Problem& problem, std::span<const std::byte> payload,
                                  std::byte* values) = 0;
};

std::unique_ptr<Contender> MakeSzx(std::string_view mode);
std::unique_ptr<Contender> MakeSzp(std::string_view mode);
std::unique_ptr<Contender> MakeZfp();  // null where the build has no ZFP
// `mode` is a SZARENA_MODE_ number of the contract. Fails where the library or a function of it is
// missing.
Result<std::unique_ptr<Contender>> LoadPeer(std::string name, const std::string& library,
                                            std::uint32_t mode);

}  // namespace szarena::bench

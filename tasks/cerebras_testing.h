// SPDX-License-Identifier: Apache-2.0
// Drives Cerebras candidates of the resident contract in a test: compiles a directory once per
// geometry and runs one function on chunks of any lengths, one chunk a PE.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bytecode/program.h"
#include "field/generate.h"

namespace szarena::tasks {

struct Geometry {
  int width = 1;
  int height = 1;
  uint32_t max_elems = 2048;
  uint32_t chunk_blocks = 4;
  uint32_t bins = 0;       // primitives only
  bool primitive = false;  // has `bins`, and longer payloads
  uint32_t MaxWords() const {
    return primitive ? 2 * max_elems + 64 : max_elems + max_elems / 16 + 64;
  }
};

using Words = std::vector<uint32_t>;

struct RunResult {
  std::vector<Words> out;      // of each PE, in row-major order
  uint64_t cycles = 0;         // of the launch, to the last thing that moves
  std::vector<uint64_t> busy;  // cycles of each PE
};

// Errors and warnings of the compiler, less those about the forms of vector instructions that our
// programs use knowingly (docs/wafer-notes.md).
std::string OtherMessages(const std::string& messages);

// Fails the running gtest and returns null where it does not compile without other messages.
std::shared_ptr<const bytecode::Program> CompileCandidate(const std::string& directory,
                                                          const std::string& arch,
                                                          const Geometry& geometry);

// `chunks`: f32 bits of each PE, at most max_elems, one a PE. Returns the payloads. Any trap fails
// the test.
RunResult RunCompress(const std::shared_ptr<const bytecode::Program>& program,
                      const Geometry& geometry, const std::vector<Words>& chunks, double eb,
                      const std::string& function = "compress");
// `payloads` and the number of elements of each PE. Returns the elements.
RunResult RunDecompress(const std::shared_ptr<const bytecode::Program>& program,
                        const Geometry& geometry, const std::vector<Words>& payloads,
                        const std::vector<uint32_t>& counts, double eb,
                        const std::string& function = "decompress");

// The CPU codec that a compressor must agree with, on one chunk.
struct Reference {
  std::function<Words(const Words& values, double eb, uint32_t chunk_blocks)> compress;
  std::function<Words(const Words& payload, size_t count, double eb, uint32_t chunk_blocks)>
      decompress;
};

// Both directions on one chunk a PE (missing ones are empty): the payloads are the reference's,
// word by word, and so are the values that come back from them.
void CheckBothWays(const std::shared_ptr<const bytecode::Program>& program,
                   const Geometry& geometry, const Reference& reference, std::vector<Words> chunks,
                   double eb);

// Streaming candidates: `rows` enter at the west edge, one a row; out_words[y] words are awaited at
// the east edge of row y. Returns them, and the cycles from the first word at the west edge to the
// last thing that moves.
std::shared_ptr<const bytecode::Program> CompileStreaming(const std::string& directory,
                                                          const std::string& arch, int width,
                                                          int height);
RunResult RunStream(const std::shared_ptr<const bytecode::Program>& program,
                    const std::vector<Words>& rows, const std::vector<uint32_t>& n_row,
                    const std::vector<uint32_t>& out_words, double eb, const std::string& function);

// A record of the streaming contract: its header and the words behind it.
using Record = Words;
// Compresses `rows` (filled up with zeros to whole blocks) and checks that every record leaves
// once, whole; decompresses the records and checks every value. records[y]: what is right, in the
// order of the blocks; values[y]: what they decode to. `length`: words behind a header. Returns the
// two runs' cycles.
std::pair<uint64_t, uint64_t> CheckStream(const std::shared_ptr<const bytecode::Program>& program,
                                          uint32_t block, const std::vector<Words>& rows,
                                          const std::vector<std::vector<Record>>& records,
                                          const std::vector<Words>& values, double eb);

// The directories of a ladder, in order.
std::vector<std::string> LadderSteps(const std::string& directory);
// Candidates are self-contained, so some files are copies: fails where files of one name differ
// between two directories.
void ExpectCopies(const std::string& a, const std::string& b,
                  const std::vector<std::string>& names);

// A generated f32 field as bits.
Words FieldBits(field::GeneratorKind kind, uint64_t seed, uint32_t n);
// n values around multiples of eb up to 2^bits: on and (with nudge) beside rounding ties and
// bounds.
Words TieBits(uint32_t n, double eb, uint32_t bits, bool nudge, uint32_t seed);

}  // namespace szarena::tasks

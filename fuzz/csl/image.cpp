// SPDX-License-Identifier: Apache-2.0
// Any bytes as a compiled program, with the checksum made right so that what lies behind it is
// reached: it is refused, or the machine runs it for a while without harm and in the same way with
// one thread, with two, and (every sixteenth size of input) as machine code.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "bytecode/disasm.h"
#include "bytecode/image.h"
#include "fabric/sim/compare.h"
#include "fabric/sim/fabric.h"

using namespace szarena;

namespace {

struct Seen {
  std::string error;
  uint64_t cycles = 0;
  uint64_t hops = 0;
  std::vector<std::string> traps;
  std::vector<uint8_t> memory;
  bool operator==(const Seen&) const = default;
};

Seen Run(const std::shared_ptr<const bytecode::Program>& program, int threads,
         fabric::Backend backend = fabric::Backend::kBytecode) {
  Seen seen;
  fabric::Options options;
  options.threads = threads;
  options.max_cycles = 2000;
  options.backend = backend;
  auto made = fabric::Fabric::Create(program, options);
  if (!made) {
    seen.error = made.error().ToString();
    return seen;
  }
  fabric::Fabric& f = **made;
  // Every function and array that the host can reach.
  const fabric::Rect all{0, 0, program->width, program->height};
  for (uint32_t k = 0; k < program->exports.size() && k < 8; ++k) {
    const bytecode::Export& e = program->exports[k];
    if (e.kind == bytecode::ExportKind::kFunction)
      (void)f.Launch(k, std::vector<uint64_t>(e.params.size(), 3));
    else if (e.kind == bytecode::ExportKind::kVariable)
      (void)f.CopyOut(k, all, 16, 2);
  }
  const auto ran = f.RunUntilIdle();
  if (!ran)
    seen.error = ran.error().ToString();
  else
    f.Stop();
  seen.error += f.DeadlockReport();
  seen.cycles = f.now();
  seen.hops = f.statistics().hops;
  for (const fabric::Trap& t : f.traps()) seen.traps.push_back(t.ToString());
  for (int y = 0; y < program->height; ++y) {
    for (int x = 0; x < program->width; ++x) {
      const auto bytes = f.ReadMemory(x, y, 0, 1024);
      seen.memory.insert(seen.memory.end(), bytes.begin(), bytes.end());
    }
  }
  return seen;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr size_t kHeader = 32;
  if (size < kHeader) return 0;
  std::vector<uint8_t> image(data, data + size);
  const std::vector<uint8_t> head = bytecode::ToBytes({});
  std::memcpy(image.data(), head.data(), 16);  // magic number and version
  StoreLe<uint64_t>(image.data() + 16, size - kHeader);
  uint64_t checksum = 0xcbf29ce484222325u;  // FNV-1a
  for (size_t i = kHeader; i < size; ++i) checksum = (checksum ^ image[i]) * 0x100000001b3u;
  StoreLe<uint64_t>(image.data() + 24, checksum);
  auto loaded = bytecode::FromBytes(image);
  if (!loaded || size_t{loaded->width} * loaded->height > 36) return 0;
  const auto program = std::make_shared<const bytecode::Program>(std::move(*loaded));
  (void)bytecode::Disassemble(*program);
  const Seen one = Run(program, 1);
  if (!(one == Run(program, 2))) std::abort();
  // Machine code takes a while to make.
  static const bool kNative = fabric::WhyNoNativeBackend().empty();
  if (kNative && size % 16 == 0 && !(one == Run(program, 1, fabric::Backend::kNative))) std::abort();
  return 0;
}

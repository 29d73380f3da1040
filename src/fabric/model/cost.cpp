// SPDX-License-Identifier: Apache-2.0
// Tables of cost.h, made from cost.def.
#include "fabric/model/cost.h"

#include <fmt/format.h>

#include "fabric/model/accuracy.h"

namespace szarena::fabric {
namespace {
using bytecode::Arch;
using bytecode::CostGroup;
using bytecode::DsdOp;
using bytecode::Native;

CostModel Make(Arch arch) {
  const bool w3 = arch == Arch::kWse3;
  CostModel m;
  m.arch = arch;
  std::array<uint16_t, static_cast<size_t>(CostGroup::kCount)> group = {};
  m.simd.fill(1);
#define COST_GROUP(g, wse2, wse3, basis, source) \
  group[static_cast<size_t>(CostGroup::g)] = w3 ? wse3 : wse2;
#define COST(key, wse2, wse3, basis, source) m.key = w3 ? wse3 : wse2;
#define NATIVE_COST(n, wse2, wse3, basis, source) \
  m.native[static_cast<size_t>(Native::k_##n)] = w3 ? wse3 : wse2;
#define SIMD(o, wse2, wse3) m.simd[static_cast<size_t>(DsdOp::k##o)] = w3 ? wse3 : wse2;
#include "fabric/model/cost.def"
  for (int i = 0; i < bytecode::kOpCount; ++i) {
    m.op[static_cast<size_t>(i)] =
        group[static_cast<size_t>(bytecode::InfoOf(static_cast<bytecode::Op>(i)).group)];
  }
  return m;
}

std::string Line(const char* what, const char* key, int wse2, int wse3, char basis,
                 const char* source) {
  const char* name = basis == 'D' ? "documented" : basis == 'M' ? "measured" : "inferred";
  return fmt::format("{:<8} {:<26} {:>5} {:>5}  {:<10}  {}\n", what, key, wse2, wse3, name, source);
}
}  // namespace

const CostModel& CostModelOf(Arch arch) {
  static const CostModel kWse2 = Make(Arch::kWse2);
  static const CostModel kWse3 = Make(Arch::kWse3);
  return arch == Arch::kWse2 ? kWse2 : kWse3;
}

std::string PrintCostModel() {
  std::string s = fmt::format("{:<8} {:<26} {:>5} {:>5}  {:<10}  {}\n", "kind", "what", "wse2",
                              "wse3", "basis", "source");
#define COST_GROUP(g, wse2, wse3, basis, source) \
  s += Line("scalar", #g + 1, wse2, wse3, basis, source);
#define COST(key, wse2, wse3, basis, source) s += Line("machine", #key, wse2, wse3, basis, source);
#define NATIVE_COST(n, wse2, wse3, basis, source) \
  s += Line("library", #n, wse2, wse3, basis, source);
#define SIMD(o, wse2, wse3)              \
  s += Line("simd", #o, wse2, wse3, 'D', \
            "elements a cycle, table of SIMD operations; 1 where it is silent");
#include "fabric/model/cost.def"
  return s + "\nAgainst published counts: " + HeldOutError() + ".\n\n" + PrintAccuracy();
}

}  // namespace szarena::fabric

// SPDX-License-Identifier: Apache-2.0
#include "fabric/model/accuracy.h"

#include <fmt/format.h>

#include <cmath>

namespace szarena::fabric {

std::span<const Accuracy> AccuracyTable() {
  static constexpr Accuracy kRows[] = {
#define ACCURACY(part, program, arch, published, ours, source) \
  {Part::part, #program, bytecode::Arch::arch, published, ours, source},
#include "fabric/model/accuracy.def"
  };
  return kRows;
}

Spread SpreadOf(Part part) {
  Spread s;
  double sum = 0;
  for (const Accuracy& a : AccuracyTable()) {
    if (a.part != part) continue;
    const double off = std::abs(std::log(static_cast<double>(a.ours) / a.published));
    ++s.rows;
    sum += off;
    if (s.worst_row == nullptr || std::exp(off) > s.worst) {
      s.worst = std::exp(off);
      s.worst_row = &a;
    }
  }
  if (s.rows > 0) s.typical = std::exp(sum / s.rows);
  return s;
}

std::string HeldOutError() {
  const Spread s = SpreadOf(Part::kHeldOut);
  return fmt::format(
      "estimated; on {} published counts held out from fitting the cost model is off by a factor "
      "of {:.2f} on average, {:.2f} at worst",
      s.rows, s.typical, s.worst);
}

std::string PrintAccuracy() {
  std::string text;
  static constexpr const char* kTitles[] = {"Fitting part", "Held-out part", "Formula (context)"};
  for (const Part part : {Part::kFitting, Part::kHeldOut, Part::kFormula}) {
    const Spread s = SpreadOf(part);
    text += fmt::format(
        "{}{}: {} counts, off by a factor of {:.2f} on average, {:.2f} at worst ({}).\n\n| program "
        "| arch | published | ours | ratio | source |\n|---|---|---:|---:|---:|---|\n",
        text.empty() ? "" : "\n", kTitles[static_cast<size_t>(part)], s.rows, s.typical, s.worst,
        s.worst_row->program);
    for (const Accuracy& a : AccuracyTable()) {
      if (a.part != part) continue;
      text += fmt::format("| {} | {} | {} | {} | {:.2f} | {} |\n", a.program,
                          a.arch == bytecode::Arch::kWse2 ? "wse2" : "wse3", a.published, a.ours,
                          static_cast<double>(a.ours) / a.published, a.source);
    }
  }
  return text;
}

}  // namespace szarena::fabric

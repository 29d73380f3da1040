// SPDX-License-Identifier: Apache-2.0
// Throughput along the steps of a session, as SVG.
#pragma once

#include <cstdint>
#include <string>

#include "report/model.h"

namespace szarena::report {

enum class FigureUse : uint8_t {
  kPage,  // colours from the page's style sheet (FigureStyleSheet), so it follows dark and print
  kStandalone,  // a file of its own for a paper: light colours inside
};

enum class Quantity : uint8_t {
  kThroughput,    // GB/s, with lines for the baseline and for the floor (a plain copy of the bytes
                  // that must move)
  kOverBaseline,  // speed over the baseline's, paired run by run; the baseline is 1
};

// Panels side by side, one a direction, on one logarithmic scale: medians with quartile bars, a
// triangle where a step is slower than the one before, a cross where an attempt was not ranked with
// the stage that failed. Empty where no ranked step has the quantity.
std::string StepFigure(const SessionView& view, Quantity quantity, FigureUse use);

// Colours and strokes of the figure's classes; `dark` chooses the set.
std::string FigureStyleSheet(bool dark);

}  // namespace szarena::report

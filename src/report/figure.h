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

// Panels side by side, one a direction, on one logarithmic scale: medians with quartile bars, lines
// for the baseline and for the floor (a plain copy of the bytes that must move), a cross where an
// attempt was not ranked with the stage that failed. Empty where no step is ranked.
std::string StepFigure(const SessionView& view, FigureUse use);

// Colours and strokes of the figure's classes; `dark` chooses the set.
std::string FigureStyleSheet(bool dark);

}  // namespace szarena::report

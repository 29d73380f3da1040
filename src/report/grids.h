// SPDX-License-Identifier: Apache-2.0
// The tables of a report.
#pragma once

#include "report/grid.h"
#include "report/model.h"

namespace szarena::report {

// One row a cell: trials that were runnable, decodable, correct, ranked; best result.
Grid SummaryGrid(const Model& model);
// One row a step: idea, throughput and speed-up over the step before in each direction, ratio,
// and how far it came.
Grid StepGrid(const SessionView& view);
// Cerebras: one row a step and direction, runnable and correct side by side with what the program
// did on the wafer. No rows for other targets.
Grid WaferGrid(const SessionView& view);
// Machine, compiler, versions, dates.
Grid EnvironmentGrid(const Model& model);
// One row a session and step and direction, raw values with full precision: for other programs.
Grid LongGrid(const Model& model);

}  // namespace szarena::report

// SPDX-License-Identifier: Apache-2.0
// All files of a report.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "report/model.h"

namespace szarena::report {

// Writes report.html, report.json, report.csv, report.md, report.tex and figure-*.svg into `folder`
// (made where missing), each whole or not at all. Returns their paths, the page first.
Result<std::vector<std::string>> WriteReport(const Model& model, const std::string& folder);

}  // namespace szarena::report

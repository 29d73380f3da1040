// SPDX-License-Identifier: Apache-2.0
// The report as one self-contained page.
#pragma once

#include <string>

#include "report/model.h"

namespace szarena::report {

// No network, no script needed; light and dark, printable. The model is embedded as JSON
// (<script type="application/json" id="model">).
std::string ReportHtml(const Model& model);

}  // namespace szarena::report

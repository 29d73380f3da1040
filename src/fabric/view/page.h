// SPDX-License-Identifier: Apache-2.0
// A trace as one HTML page that needs nothing else: no network, no files beside it.
#pragma once

#include <string>

#include "fabric/trace/format.h"

namespace szarena::fabric::view {

extern const char* const kPage;  // the page with a place for the data (page.html)

// The data the page draws, as JSON: the trace in at most `max_frames` stretches of time of equal
// length.
std::string PageData(const trace::Trace& trace, uint32_t max_frames = 240);
std::string MakePage(const trace::Trace& trace);

}  // namespace szarena::fabric::view

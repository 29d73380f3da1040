// SPDX-License-Identifier: Apache-2.0
// A session's transcript for people: as text, and as one page that needs nothing else.
#pragma once

#include <string>

#include "data/json.h"

namespace szarena::report {

struct TranscriptOptions {
  size_t lines = 0;  // of each text at most so many, the rest counted; 0: all (text form only)
};

// `records`: every line of the transcript, in order. What a record's kind does not tell is shown as
// it stands, so nothing is left out.
std::string TranscriptText(const data::Json::Array& records, const TranscriptOptions& options);
std::string TranscriptHtml(const data::Json::Array& records);

}  // namespace szarena::report

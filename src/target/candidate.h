// SPDX-License-Identifier: Apache-2.0
// A candidate's files as received: read once, so that what is hashed, built and stored is the same.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"

namespace szarena::target {

struct CandidateFile {
  std::string path;  // relative, "/" between components
  std::string bytes;
};

struct Candidate {
  std::vector<CandidateFile> files;  // sorted by path
  std::string sha256;                // over paths and contents
};

// Reads every regular file below `folder`: at most 200 files and 8 MiB, no symbolic links or
// special files; names of letters, digits and ._-+ only. Files and folders whose name begins with
// '.' are passed over.
Result<Candidate> ReadCandidate(const std::string& folder);

// Writes the files below an existing empty folder.
Result<void> WriteCandidate(const Candidate& candidate, const std::string& folder);

}  // namespace szarena::target

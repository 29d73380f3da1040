// SPDX-License-Identifier: Apache-2.0
// Finds, reads and parses files. Every file is read once for a compilation.
//
// "name.csl"  beside the file that names it (the command line: the working directory), then beside
// the layout file (the first that is loaded), then the import directories in order
// "/a/b.csl"  as it stands
// "<name>"    the embedded library, then <dir>/name.csl in the import directories
// A library file finds its neighbours inside the embedded library.
// With `only_below` (--only-below), nothing outside of that folder is read or looked for, wherever
// paths and links lead.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "csl/sema/session.h"

namespace szarena::csl {

class Files : public FileProvider {
 public:
  // `import_dirs`: --import-path in order, then CSL_IMPORT_PATH.
  Files(SourceMap& sources, NameTable& names, DiagSink& diags, std::vector<std::string> import_dirs,
        std::string only_below = "");

  const Ast* Load(std::string_view path, SourceId from, Span span) override;
  std::optional<std::string> ReadText(std::string_view path, SourceId from, Span span) override;
  bool IsLibrary(SourceId file) const override;

  // Paths of all files read from disk, for the list of inputs.
  std::vector<std::string> DiskFiles() const;

 private:
  // One place where a path may be: a file on disk or an entry of the library.
  struct Candidate {
    std::string path;  // as shown
    bool embedded = false;
  };
  std::vector<Candidate> Candidates(std::string_view path, SourceId from) const;
  std::optional<std::string> Read(const Candidate& candidate, std::string* why) const;
  bool MayRead(const std::string& path) const;

  SourceMap& sources_;
  NameTable& names_;
  DiagSink& diags_;
  std::vector<std::string> import_dirs_;
  std::string only_below_;
  std::map<std::string, std::unique_ptr<Ast>> asts_;  // by canonical path, "<name>" for the library
  std::map<SourceId, Candidate> origins_;
  std::optional<std::filesystem::path> first_dir_;  // of the layout file
};

}  // namespace szarena::csl

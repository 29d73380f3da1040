// SPDX-License-Identifier: Apache-2.0
// The files of a generated program, for the compiler, with the real libraries.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "csl/lib/library.h"
#include "csl/parse/parser.h"
#include "csl/sema/session.h"
#include "program.h"

namespace szarena::csl_fuzz {

class MemoryFiles : public csl::FileProvider {
 public:
  MemoryFiles(csl::SourceMap& sources, csl::NameTable& names, csl::DiagSink& diags,
              const Program& program)
      : sources_(sources), names_(names), diags_(diags), program_(program) {}

  const csl::Ast* Load(std::string_view path, csl::SourceId from, csl::Span span) override {
    std::string name(path);
    const bool quoted = !name.starts_with('<');
    if (!quoted && name.ends_with('>') && name.size() > 2) name = name.substr(1, name.size() - 2);
    const bool own = quoted && !IsLibrary(from);
    if (!own && name.ends_with(".csl")) name.resize(name.size() - 4);
    const std::string key = own ? name : "<" + name + ">";
    if (const auto known = asts_.find(key); known != asts_.end()) return known->second.get();
    if (own) {
      for (const File& file : program_.files) {
        if (file.name == name) return Add(key, name, file.text);
      }
      diags_.Report(csl::DiagKind::kFileNotFound, span, path, "nowhere else");
      return nullptr;
    }
    const auto text = csl::LibraryText(name);
    if (!text) {
      diags_.Report(csl::DiagKind::kLibraryNotFound, span, path, name);
      return nullptr;
    }
    return Add(key, key, std::string(*text));
  }
  std::optional<std::string> ReadText(std::string_view, csl::SourceId, csl::Span) override {
    return "[1, 2.5, {\"a\": true}]";
  }
  bool IsLibrary(csl::SourceId file) const override {
    return !file.IsNone() && libraries_.contains(file.index);
  }

 private:
  const csl::Ast* Add(const std::string& key, const std::string& shown, std::string text) {
    const csl::SourceId id = sources_.Add(shown, std::move(text)).value();
    if (key.starts_with('<')) libraries_[id.index] = true;
    return asts_.emplace(key, std::make_unique<csl::Ast>(csl::Parse(sources_, id, names_, diags_)))
        .first->second.get();
  }

  csl::SourceMap& sources_;
  csl::NameTable& names_;
  csl::DiagSink& diags_;
  const Program& program_;
  std::map<std::string, std::unique_ptr<csl::Ast>> asts_;
  std::map<uint32_t, bool> libraries_;
};

}  // namespace szarena::csl_fuzz

// SPDX-License-Identifier: Apache-2.0
// Any bytes as a program: every file it names is the input itself, libraries are the real ones. The
// compiler ends, and what it accepts is a well-formed image.
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>

#include "bytecode/image.h"
#include "bytecode/verify.h"
#include "csl/diag/render.h"
#include "csl/layout/compile.h"
#include "csl/lib/library.h"
#include "csl/parse/parser.h"
#include "fabric/sim/fabric.h"

using namespace szarena;
using namespace szarena::csl;

namespace {

class OneFile : public FileProvider {
 public:
  OneFile(SourceMap& sources, NameTable& names, DiagSink& diags, std::string text)
      : sources_(sources), names_(names), diags_(diags) {
    Add("input.csl", std::move(text));
  }

  const Ast* Load(std::string_view path, SourceId from, Span span) override {
    std::string name(path);
    if (name.starts_with('<') && name.ends_with('>'))
      name = name.substr(1, name.size() - 2);
    else if (!IsLibrary(from))
      name = "input.csl";
    else if (name.ends_with(".csl"))
      name.resize(name.size() - 4);
    if (auto known = asts_.find(name); known != asts_.end()) return known->second.get();
    auto text = LibraryText(name);
    if (!text) {
      diags_.Report(DiagKind::kLibraryNotFound, span, path, name);
      return nullptr;
    }
    return Add(name, std::string(*text));
  }
  std::optional<std::string> ReadText(std::string_view, SourceId, Span) override {
    return "[1, 2.5, {\"a\": true}]";
  }
  bool IsLibrary(SourceId file) const override { return file.index != 0 && !file.IsNone(); }

 private:
  const Ast* Add(const std::string& name, std::string text) {
    SourceId id = sources_.Add(name, std::move(text)).value();
    return asts_.emplace(name, std::make_unique<Ast>(Parse(sources_, id, names_, diags_)))
        .first->second.get();
  }

  SourceMap& sources_;
  NameTable& names_;
  DiagSink& diags_;
  std::map<std::string, std::unique_ptr<Ast>> asts_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > 100000) return 0;
  SourceMap sources;
  NameTable names;
  DiagSink diags;
  bool wse3 = size > 0 && data[size - 1] % 2 == 1;
  OneFile files(sources, names, diags, std::string(reinterpret_cast<const char*>(data), size));
  Session session(sources, names, diags, files);
  session.target.arch = wse3 ? bytecode::Arch::kWse3 : bytecode::Arch::kWse2;
  session.target.offset_x = session.target.offset_y = -1;
  session.limits.comptime_steps = 100000;
  session.limits.stack_bytes = 2000000;
  AddLayoutBuiltins(session.builtins);
  CompileRequest request;
  request.layout = files.Load("input.csl", {}, {});
  request.name = "input.csl";
  request.memcpy = true;
  auto program = CompileProgram(session, request);
  RenderText(sources, diags);
  if (!program || diags.HasErrors()) return 0;
  if (!bytecode::Verify(*program)) std::abort();
  auto loaded = bytecode::FromBytes(bytecode::ToBytes(*program));
  if (!loaded) std::abort();
  if (size_t{loaded->width} * loaded->height > 64) return 0;
  fabric::Options options;
  options.max_cycles = 2000;
  auto fabric = fabric::Fabric::Create(
      std::make_shared<const bytecode::Program>(std::move(*loaded)), options);
  if (!fabric) return 0;
  if ((*fabric)->RunUntilIdle()) (*fabric)->Stop();
  (*fabric)->DeadlockReport();
  return 0;
}

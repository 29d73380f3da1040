// SPDX-License-Identifier: Apache-2.0
#include "csl/driver/output.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/atomic_file.h"
#include "bytecode/image.h"

namespace szarena::csl {
namespace {

using Json = nlohmann::ordered_json;

std::string Render(const Json& json) {
  return json.dump(2, ' ', true, Json::error_handler_t::replace) + "\n";
}

Json Named(const std::vector<bytecode::NamedValue>& values) {
  Json json = Json::object();
  for (const auto& value : values) json[value.name] = value.value;
  return json;
}

}  // namespace

std::string OutJson(const bytecode::Program& program) {
  Json json;
  json["compiler"] = "szarena cslc";
  json["arch"] = program.arch == bytecode::Arch::kWse3 ? "wse3" : "wse2";
  json["fp16_format"] = bytecode::FloatFormatName(program.fp16);
  json["params"] = Named(program.params);
  json["colors"] = Named(program.colors);
  json["rectangle"] = {{"width", program.width},
                       {"height", program.height},
                       {"x", program.offset_x},
                       {"y", program.offset_y}};
  json["fabric"] = {{"width", program.fabric_width}, {"height", program.fabric_height}};
  json["memcpy"] = program.memcpy;
  json["channels"] = program.channels;
  return Render(json);
}

std::string OutRpcJson(const bytecode::Program& program) {
  Json symbols = Json::array();
  for (size_t id = 0; id < program.exports.size(); ++id) {
    const bytecode::Export& symbol = program.exports[id];
    Json json;
    json["id"] = id;
    json["name"] = symbol.name;
    json["type"] = symbol.type;
    json["immutable"] = symbol.kind == bytecode::ExportKind::kVariable && !symbol.is_mutable;
    switch (symbol.kind) {
      case bytecode::ExportKind::kVariable:
        json["kind"] = "Var";
        break;
      case bytecode::ExportKind::kFunction:
        json["kind"] = "Func";
        break;
      case bytecode::ExportKind::kStream:
        json["kind"] = "Stream";
        break;
    }
    if (symbol.kind == bytecode::ExportKind::kStream) json["color"] = symbol.color;
    json["inputs"] = Json::array();
    for (size_t i = 0; i < symbol.params.size(); ++i) {
      std::string name = i < symbol.param_names.size() ? symbol.param_names[i] : std::string();
      json["inputs"].push_back(
          {{"name", name}, {"type", bytecode::ScalarTypeName(symbol.params[i])}});
    }
    symbols.push_back(std::move(json));
  }
  return Render(Json{{"rpc_symbols", symbols}});
}

Result<void> WriteOutput(const bytecode::Program& program, const std::string& directory) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error)
    return Fail(ErrorCode::kIo, "directory '" + directory + "' cannot be made: " + error.message());
  std::filesystem::path dir(directory);
  SZARENA_TRY_VOID(WriteFileAtomically((dir / "out.json").string(), OutJson(program)));
  SZARENA_TRY_VOID(WriteFileAtomically((dir / "out_rpc.json").string(), OutRpcJson(program)));
  return bytecode::SaveImage(program, (dir / "program.szcsl").string());
}

Result<void> WriteOutputJson(const bytecode::Program& program, const std::string& directory,
                             const std::string& path) {
  std::string base = directory;
  while (base.size() > 1 && base.ends_with('/')) base.pop_back();
  return WriteFileAtomically(path.empty() ? base + ".json" : path, OutJson(program));
}

}  // namespace szarena::csl

// SPDX-License-Identifier: Apache-2.0
// The table of programs.
#include "program/program.h"

namespace szarena::program {

std::span<const Program* const> AllPrograms() {
  static const Program* const kPrograms[] = {&Codex(), &Gemini(), &Claude(), &OpenCode()};
  return kPrograms;
}

const Program* FindProgram(std::string_view name) {
  for (const Program* program : AllPrograms()) {
    if (program->name == name) return program;
  }
  return nullptr;
}

std::string ProgramNames() {
  std::string names;
  for (const Program* program : AllPrograms()) {
    names += (names.empty() ? "" : ", ") + std::string(program->name);
  }
  return names;
}

std::string TextAt(const data::Json& event, std::initializer_list<std::string_view> path) {
  const data::Json* value = event.FindPath(path);
  return value != nullptr && value->is_string() ? *value->string() : "";
}

}  // namespace szarena::program

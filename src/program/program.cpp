// SPDX-License-Identifier: Apache-2.0
// The table of programs.
#include "program/program.h"

namespace szarena::program {
namespace {

const Program* const* Programs() {
  static const Program* const kPrograms[] = {&Codex(), &Gemini(), &Claude(), &OpenCode(), nullptr};
  return kPrograms;
}

}  // namespace

const Program* FindProgram(std::string_view name) {
  for (const Program* const* at = Programs(); *at != nullptr; ++at) {
    if ((*at)->name == name) return *at;
  }
  return nullptr;
}

std::string ProgramNames() {
  std::string names;
  for (const Program* const* at = Programs(); *at != nullptr; ++at) {
    names += (names.empty() ? "" : ", ") + std::string((*at)->name);
  }
  return names;
}

std::string TextAt(const data::Json& event, std::initializer_list<std::string_view> path) {
  const data::Json* value = event.FindPath(path);
  return value != nullptr && value->is_string() ? *value->string() : "";
}

}  // namespace szarena::program

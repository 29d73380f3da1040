// SPDX-License-Identifier: Apache-2.0
// What the comptime blocks of one PE class ask for beside its code, for checks and for the program
// image.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "bytecode/program.h"
#include "csl/layout/layout_state.h"
#include "csl/sema/unit.h"

namespace szarena::csl {

class ClassState : public UnitExtension {
 public:
  explicit ClassState(const LayoutState& layout_in, bool memcpy_in)
      : layout(layout_in), memcpy(memcpy_in) {}

  const LayoutState& layout;
  const bool memcpy;  // --memcpy: the command stream's resources are taken

  struct LocalRoute {
    bytecode::ColorRoute route;
    Span span;
  };
  std::vector<LocalRoute> local_routes;  // @set_local_color_config

  struct BoundTask {
    std::string task;
    std::string_view builtin;
    Span span;
  };
  std::array<std::optional<BoundTask>, bytecode::kTaskIdCount>
      shared_ids;  // data, local and (without a table of their own) control tasks
  std::array<std::optional<BoundTask>, bytecode::kTaskIdCount> control_ids;  // control tasks
  std::unordered_map<const Global*, uint32_t>
      export_ids;                  // of what @export_symbol was called for, by whatever name
  std::vector<Span> export_spans;  // parallel to CodeClass::exports
  std::vector<Span> queue_spans;   // parallel to CodeClass::queues: the @initialize_queue
  Span control_table_span;
  std::vector<HostStream> streams;  // that the code of this class declares

  static ClassState& Of(Unit& unit) { return static_cast<ClassState&>(*unit.extension); }
};

}  // namespace szarena::csl

// SPDX-License-Identifier: Apache-2.0
// What the layout block says: rectangle, code and routes of every PE, names for the host.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "bytecode/program.h"
#include "csl/sema/unit.h"

namespace szarena::csl {

// Code that some PEs run: a file and the values of its params. The same for all PEs that share it.
struct TileCode {
  const Ast* ast = nullptr;
  Value params;  // a struct; error type where there are none
  Span span;     // of the first @set_tile_code
  int x = 0, y = 0;
  uint32_t pe_count = 0;
};

struct HostName {
  std::string name;
  TypeId type;
  bool is_mutable = false;
  Span span;
};

struct HostStream {
  std::string name;
  uint8_t color = 0;
  bool into_pes = false;
};

inline constexpr uint32_t kNoTile = UINT32_MAX;

// Routes are interned: a wafer has few different ones.
class RouteTable {
 public:
  uint32_t Intern(const bytecode::ColorRoute& route);
  const bytecode::ColorRoute& operator[](uint32_t index) const { return routes_[index]; }

 private:
  std::vector<bytecode::ColorRoute> routes_;
  std::map<std::string, uint32_t> index_;
};

class LayoutState : public UnitExtension {
 public:
  int width = 0, height = 0;  // 0: @set_rectangle was not evaluated
  Span rectangle_span;
  bool memcpy = false;  // --memcpy
  std::function<void(int width, int height, Span span)>
      on_rectangle;  // checks and completes the fabric's size
  std::vector<TileCode> codes;
  std::map<std::string, uint32_t> code_index;  // by file and parameter values
  std::vector<uint32_t> tiles;                 // index y * width + x into codes, or kNoTile
  std::vector<Span> tile_spans;
  struct PeRoute {
    uint32_t route;
    Span span;
  };
  std::vector<std::vector<PeRoute>> pe_routes;  // by PE
  RouteTable routes;
  std::vector<HostName> names;
  std::vector<HostStream> streams;

  const HostName* FindName(std::string_view name) const;
  size_t At(int x, int y) const {
    return static_cast<size_t>(y) * static_cast<size_t>(width) + static_cast<size_t>(x);
  }

  static LayoutState& Of(Unit& unit) { return static_cast<LayoutState&>(*unit.extension); }
};

}  // namespace szarena::csl

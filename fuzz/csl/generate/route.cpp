// SPDX-License-Identifier: Apache-2.0
#include "route.h"

#include <fmt/format.h>

namespace szarena::csl_fuzz {

std::vector<Spot> RandomPath(Build& b) {
  // First along one axis, then along the other: no spot twice.
  const Spot from{b.c.Between(0, b.width() - 1), b.c.Between(0, b.height() - 1)};
  Spot to{b.c.Between(0, b.width() - 1), b.c.Between(0, b.height() - 1)};
  if (to == from && b.width() > 1) to.x = (from.x + 1) % b.width();
  if (to == from && b.height() > 1) to.y = (from.y + 1) % b.height();
  std::vector<Spot> path = {from};
  const bool x_first = b.c.Chance(50);
  for (int turn = 0; turn < 2; ++turn) {
    const bool along_x = x_first == (turn == 0);
    while (along_x ? path.back().x != to.x : path.back().y != to.y) {
      Spot next = path.back();
      int& at = along_x ? next.x : next.y;
      at += at < (along_x ? to.x : to.y) ? 1 : -1;
      path.push_back(next);
    }
  }
  return path;
}

std::string Toward(Spot from, Spot to) {
  if (to.x > from.x) return "EAST";
  if (to.x < from.x) return "WEST";
  return to.y > from.y ? "SOUTH" : "NORTH";
}

void RouteAlong(Build& b, int color, const std::vector<Spot>& path,
                const std::vector<bool>& drop_here, const std::string& more) {
  for (size_t i = 0; i < path.size(); ++i) {
    const std::string rx = i == 0 ? "RAMP" : Toward(path[i], path[i - 1]);
    std::string tx = i + 1 == path.size() ? "RAMP" : Toward(path[i], path[i + 1]);
    if (i + 1 < path.size() && i > 0 && i < drop_here.size() && drop_here[i]) tx += ", RAMP";
    b.layout += fmt::format(
        "  @set_color_config({}, {}, @get_color({}), .{{ .routes = .{{ .rx = .{{ {} }}, .tx = .{{ "
        "{} }} }}{} }});\n",
        path[i].x, path[i].y, color, rx, tx, i + 1 == path.size() ? more : "");
  }
}

std::string Is(Spot s) { return fmt::format("(x == {} and y == {})", s.x, s.y); }

std::string InitOutput(const Build& b, int queue, int color) {
  return b.wse3() ? fmt::format(
                        "@initialize_queue(@get_output_queue({}), .{{ .color = @get_color({}) }});",
                        queue, color)
                  : "";
}
std::string InitInput(const Build& b, int queue, int color, bool needed_on_wse2) {
  return b.wse3() || needed_on_wse2
             ? fmt::format(
                   "@initialize_queue(@get_input_queue({}), .{{ .color = @get_color({}) }});",
                   queue, color)
             : "";
}

Signal MakeSignal(Build& b, const std::string& p, const std::string& name) {
  Signal s;
  const uint32_t kind = b.c.Below(4);
  const int id = kind == 0 ? -1 : b.take.LocalId();
  if (id < 0) {
    s.settings = ".async = true, .activate = next_id";
    return s;
  }
  s.declarations = fmt::format(
      "const {0}{1}_id = @get_local_task_id({2});\ntask {0}{1}() void {{ @activate(next_id); }}\n",
      p, name, id);
  s.binds = fmt::format("  @bind_local_task({0}{1}, {0}{1}_id);\n", p, name);
  if (kind == 1) {
    s.settings = fmt::format(".async = true, .activate = {}{}_id", p, name);
  } else if (kind == 2) {
    s.settings = fmt::format(".async = true, .activate = {}{}", p, name);
  } else {
    s.binds += fmt::format("  @block({}{}_id);\n", p, name);
    s.before = fmt::format("@activate({}{}_id); ", p, name);
    s.settings = fmt::format(".async = true, .unblock = {}{}_id", p, name);
  }
  return s;
}

}  // namespace szarena::csl_fuzz

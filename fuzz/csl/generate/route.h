// SPDX-License-Identifier: Apache-2.0
// Paths over the rectangle for the parts that communicate.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "build.h"

namespace szarena::csl_fuzz {

struct Spot {
  int x = 0, y = 0;
  friend bool operator==(const Spot&, const Spot&) = default;
};

// Neighbouring spots; one spot where the rectangle is one PE: it then talks to itself.
std::vector<Spot> RandomPath(Build& b);

// The direction from one spot to its neighbour: "EAST".
std::string Toward(Spot from, Spot to);

// Configures a colour along the path: from the first spot's ramp to the last spot's, and to the
// ramps of those between that are marked. `more` is added to the configuration of the last spot (""
// or ", .filter = …").
void RouteAlong(Build& b, int color, const std::vector<Spot>& path,
                const std::vector<bool>& drop_here, const std::string& more = "");

// "x == 1 and y == 0".
std::string Is(Spot s);

// Text of `@initialize_queue` for a queue, where the architecture wants it.
std::string InitOutput(const Build& b, int queue, int color);
// Needed on WSE-3, and on WSE-2 for registers and data tasks.
std::string InitInput(const Build& b, int queue, int color, bool needed_on_wse2);

// An asynchronous operation and what starts at its end, as one of several ways to say it.
struct Signal {
  std::string settings;      // ".async = true, .activate = …"
  std::string declarations;  // tasks, ids
  std::string binds;         // for a comptime block
  std::string before;        // a statement before the operation
};
// At the end `next_id` is activated.
Signal MakeSignal(Build& b, const std::string& p, const std::string& name);

}  // namespace szarena::csl_fuzz

# SPDX-License-Identifier: Apache-2.0
"""Random SdkLayout programs: regions with ports on any edges at random places, joined to a network from host streams to host streams,
and what must come out. `test_random_layouts.py FIRST LAST` runs other seeds than those of the test."""
import os
import random
import sys

from kit import np, root, write
from cerebras.geometry.geometry import IntVector
from cerebras.sdk.runtime.sdkruntimepybind import (Edge, Route, RoutingPosition, SdkLayout, SdkRuntime, SdkTarget, SimfabConfig,
                                                   get_platform)

# The queues of a program and their colours; `main` runs at the start.
QUEUES = """
const in = @get_input_queue(2);
const in2 = @get_input_queue(3);
const out = @get_output_queue(4);
const out2 = @get_output_queue(5);
const main_id = @get_local_task_id(10);
fn from(comptime c: color, comptime q: input_queue, comptime n: u16) fabin_dsd {
  return @get_dsd(fabin_dsd, .{ .extent = n, .fabric_color = c, .input_queue = q });
}
fn to(comptime c: color, comptime q: output_queue, comptime n: u16) fabout_dsd {
  return @get_dsd(fabout_dsd, .{ .extent = n, .fabric_color = c, .output_queue = q });
}
fn begin(comptime q: anytype, comptime c: color) void {
  if (@is_arch("wse3") or @is_same_type(@type_of(q), input_queue)) @initialize_queue(q, .{ .color = c });
}
"""
BEGIN = "  @bind_local_task(main, main_id);\n  @activate(main_id);\n"
PROGRAMS = {
    # n words to memory, changed, and on.
    "whole": """
param into: color; param away: color; param n: u16; param a: i32; param b: i32;
var words = @zeros([n]i32);
const all = @get_dsd(mem1d_dsd, .{ .tensor_access = |i|{n} -> words[i] });
task main() void {
  @mov32(all, from(into, in, n));
  for (@range(u16, n)) |i| { words[i] = words[i] * a + b; }
  @mov32(to(away, out, n), all);
}
comptime { begin(in, into); begin(out, away); BEGIN }
""",
    # A word after the other by a data task.
    "each": """
param into: color; param away: color; param n: u16; param a: i32; param b: i32;
const got_id = if (@is_arch("wse3")) @get_data_task_id(in) else @get_data_task_id(into);
task got(v: i32) void { @mov32(to(away, out, 1), v * a + b); }
comptime { begin(in, into); begin(out, away); @bind_data_task(got, got_id); }
""",
    "sum": """
param into: color; param into2: color; param away: color; param n: u16;
var words = @zeros([2, n]i32);
var count: u16 = 0;
const first = @get_dsd(mem1d_dsd, .{ .tensor_access = |i|{n} -> words[0, i] });
task main() void {
  @mov32(first, from(into, in, n), .{ .async = true, .activate = first_came });
  @mov32(@get_dsd(mem1d_dsd, .{ .tensor_access = |i|{n} -> words[1, i] }), from(into2, in2, n), .{ .async = true, .activate = second_came });
}
task first_came() void { came(); }
task second_came() void { came(); }
fn came() void {
  count += 1;
  if (count < 2) return;
  for (@range(u16, n)) |i| { words[0, i] += words[1, i]; }
  @mov32(to(away, out, n), first, .{ .async = true });
}
comptime {
  begin(in, into); begin(in2, into2); begin(out, away); BEGIN
  @bind_local_task(first_came, @get_local_task_id(11));
  @bind_local_task(second_came, @get_local_task_id(12));
}
""",
    "fork": """
param into: color; param away: color; param away2: color; param n: u16;
var words = @zeros([n]i32);
const all = @get_dsd(mem1d_dsd, .{ .tensor_access = |i|{n} -> words[i] });
task main() void {
  @mov32(all, from(into, in, n));
  @mov32(to(away, out, n), all, .{ .async = true });
  @mov32(to(away2, out2, n), all, .{ .async = true });
}
comptime { begin(in, into); begin(out, away); begin(out2, away2); BEGIN }
""",
    # Keeps the first m words for its side, passes the rest on.
    "deal": """
param into: color; param next: color; param side: color; param m: u16; param rest: u16;
var words = @zeros([m]i32);
const own = @get_dsd(mem1d_dsd, .{ .tensor_access = |i|{m} -> words[i] });
task main() void {
  @mov32(own, from(into, in, m));
  if (rest > 0) @mov32(to(next, out, rest), from(into, in, rest), .{ .async = true });
  @mov32(to(side, out2, m), own, .{ .async = true });
}
comptime { begin(in, into); begin(out, next); begin(out2, side); BEGIN }
""",
    # Sends on what others collected, then its own words.
    "collect": """
param side: color; param before: color; param away: color; param m: u16; param others: u16;
var words = @zeros([m]i32);
const own = @get_dsd(mem1d_dsd, .{ .tensor_access = |i|{m} -> words[i] });
task main() void {
  @mov32(own, from(side, in, m));
  if (others > 0) @mov32(to(away, out, others), from(before, in2, others));
  @mov32(to(away, out, m), own);
}
comptime { begin(in, side); begin(in2, before); begin(out, away); BEGIN }
""",
}
for name, text in PROGRAMS.items():
    FILES = write("random_layouts", name + ".csl", QUEUES + text.replace("BEGIN", BEGIN))
STEP = {Edge.LEFT: Route.WEST, Edge.RIGHT: Route.EAST, Edge.TOP: Route.NORTH, Edge.BOTTOM: Route.SOUTH}
ACROSS = {Edge.LEFT: Edge.RIGHT, Edge.RIGHT: Edge.LEFT, Edge.TOP: Edge.BOTTOM, Edge.BOTTOM: Edge.TOP}


class Network:
    """A layout under construction: `ends` are what leads on, (port or number of a host stream, values)."""

    def __init__(self, seed, target):
        self.random = random.Random(seed)
        self.platform = get_platform(None, SimfabConfig(num_threads=self.random.choice([1, 2])), target)
        self.layout = SdkLayout(self.platform)
        self.n = self.random.choice([4, 6, 8, 12])
        self.gap = self.random.choice([5, 6, 7])
        self.cells = [(x, y) for x in range(4) for y in range(3)]
        self.random.shuffle(self.cells)
        self.regions, self.steps = 0, []
        self.inputs = [np.array([self.random.randint(-1000, 1000) for _ in range(self.n)], np.int32)
                       for _ in range(self.random.randint(1, 3))]
        self.names = [None] * len(self.inputs)
        self.ends = list(enumerate(self.inputs))

    def region(self, program, width=1, height=1):
        self.regions += 1
        made = self.layout.create_code_region(os.path.join(FILES, program + ".csl"), f"{program}{self.regions}", width, height)
        x, y = self.cells.pop()
        made.place(2 + x * self.gap + self.random.randint(0, 1), 2 + y * self.gap + self.random.randint(0, 1))
        return made

    def edges(self, count):
        return self.random.sample(list(Edge), count)

    def end(self, at=None):
        return self.ends.pop(self.random.randrange(len(self.ends)) if at is None else at)

    def feed(self, source, region, color, edge, size):
        port = region.create_input_port(color, edge, [RoutingPosition().set_output([Route.RAMP])], size)
        if isinstance(source, int):
            self.names[source] = self.layout.create_input_stream(port)
        else:
            self.layout.connect(source, port)

    def lead(self, region, color, edge, size, values):
        self.ends.append((region.create_output_port(color, edge, [RoutingPosition().set_input([Route.RAMP])], size), values))

    def unary(self, program, at=None):
        source, values = self.end(at)
        region, a, b = self.region(program), self.random.randint(-3, 3), self.random.randint(-9, 9)
        into, away = region.color("into"), region.color("away")
        for name, value in (("into", into), ("away", away), ("n", self.n), ("a", a), ("b", b)):
            region.set_param_all(name, value)
        first, last = self.edges(2)
        self.feed(source, region, into, first, self.n)
        self.lead(region, away, last, self.n, values * a + b)

    def sum(self):
        (source, values), (source2, values2) = self.end(), self.end()
        region = self.region("sum")
        into, into2, away = region.color("into"), region.color("into2"), region.color("away")
        for color in (into, into2, away):
            region.set_param_all(color)
        region.set_param_all("n", self.n)
        edges = self.edges(3)
        self.feed(source, region, into, edges[0], self.n)
        self.feed(source2, region, into2, edges[1], self.n)
        self.lead(region, away, edges[2], self.n, values + values2)

    def fork(self):
        source, values = self.end()
        region = self.region("fork")
        into, away, away2 = region.color("into"), region.color("away"), region.color("away2")
        for color in (into, away, away2):
            region.set_param_all(color)
        region.set_param_all("n", self.n)
        edges = self.edges(3)
        self.feed(source, region, into, edges[0], self.n)
        self.lead(region, away, edges[1], self.n, values)
        self.lead(region, away2, edges[2], self.n, values)

    def line(self, region, length, first, coming, going):
        """Paints a chain of PEs from the edge `first` on; yields each PE's place, number and two colours."""
        even, odd = region.color("even"), region.color("odd")
        on, back = STEP[ACROSS[first]], STEP[first]
        for k in range(length):
            along = k if first in (Edge.LEFT, Edge.TOP) else length - 1 - k
            at = IntVector(along, 0) if first in (Edge.LEFT, Edge.RIGHT) else IntVector(0, along)
            before = coming if k == 0 else (even if k % 2 else odd)
            after = going if k == length - 1 else (odd if k % 2 else even)
            if k > 0:
                region.paint(at, before, [RoutingPosition().set_input([back]).set_output([Route.RAMP])])
            if k < length - 1:
                region.paint(at, after, [RoutingPosition().set_input([Route.RAMP]).set_output([on])])
            yield at, k, before, after

    def chain(self):
        source, values = self.end()
        first, length, a = self.random.choice(list(Edge)), self.random.randint(2, 4), self.random.randint(1, 2)
        wide = first in (Edge.LEFT, Edge.RIGHT)
        region = self.region("whole", length if wide else 1, 1 if wide else length)
        coming, going = region.color("coming"), region.color("going")
        for at, k, before, after in self.line(region, length, first, coming, going):
            for name, value in (("into", before), ("away", after), ("n", self.n), ("a", a), ("b", k)):
                region.set_param(at, name, value)
            values = values * a + k
        self.feed(source, region, coming, first, self.n)
        self.lead(region, going, ACROSS[first], self.n, values)

    def deal(self):
        """A column deals out the words; another one, joined to it by a port of its height, collects them."""
        source, values = self.end()
        height = self.random.choice([k for k in (1, 2, 3, 4) if self.n % k == 0])
        m = self.n // height
        dealer, collector = self.region("deal", 1, height), self.region("collect", 1, height)
        into, last, side = dealer.color("into"), dealer.color("last"), dealer.color("side")
        for at, k, before, after in self.line(dealer, height, Edge.TOP, into, last):
            for name, value in (("into", before), ("next", after), ("side", side), ("m", m), ("rest", self.n - (k + 1) * m)):
                dealer.set_param(at, name, value)
        side2, none, away = collector.color("side2"), collector.color("none"), collector.color("away")
        for at, k, before, after in self.line(collector, height, Edge.TOP, none, away):
            for name, value in (("side", side2), ("before", before), ("away", after), ("m", m), ("others", k * m)):
                collector.set_param(at, name, value)
        self.feed(source, dealer, into, Edge.TOP, self.n)
        # Lanes of one colour cannot cross: from the side that faces the collector to the side that faces the dealer.
        toward = Edge.RIGHT if collector.origin.x > dealer.origin.x + 1 else Edge.LEFT
        if abs(collector.origin.x - dealer.origin.x) <= 1 and height > 1:
            collector.place(dealer.origin.x + 4 * self.gap, collector.origin.y)
            toward = Edge.RIGHT
        tx = dealer.create_output_port(side, toward, [RoutingPosition().set_input([Route.RAMP])], m)
        self.feed(tx, collector, side2, ACROSS[toward], m)
        self.lead(collector, away, Edge.BOTTOM, self.n, values)

    def build(self):
        for _ in range(self.random.randint(1, 6)):
            step = self.random.choice(["whole", "each", "sum", "fork", "chain", "deal"])
            if len(self.cells) < 5 or (step == "sum" and len(self.ends) < 2):
                step = "each"
            if not self.cells:
                break
            self.steps.append(step)
            self.unary(step) if step in ("whole", "each") else getattr(self, step)()
        for at in [at for at, (source, _) in enumerate(self.ends) if isinstance(source, int)][::-1]:
            self.unary("each", at)
        return [(self.layout.create_output_stream(port), values) for port, values in self.ends]


def check(seed, target):
    network = Network(seed, target)
    outputs = network.build()
    runtime = SdkRuntime(network.layout.compile(os.path.join(root, f"random{seed}{target.name}")), network.platform, memcpy_required=False)
    runtime.load()
    runtime.run()
    got = [np.zeros(network.n, np.int32) for _ in outputs]
    tasks = [runtime.receive(name, words, network.n, nonblock=True) for (name, _), words in zip(outputs, got)]
    for name, words in zip(network.names, network.inputs):
        runtime.send(name, words, nonblock=True)
    for task in tasks:
        runtime.task_wait(task)
    runtime.stop()
    for (name, values), words in zip(outputs, got):
        if not np.array_equal(words, values):
            raise AssertionError(f"{name} gave {words}, not {values}")


if __name__ == "__main__":
    begin, stop = (int(sys.argv[1]), int(sys.argv[2])) if len(sys.argv) > 2 else (0, 12)
    faults = 0
    for number in range(begin, stop):
        for arch in (SdkTarget.WSE2, SdkTarget.WSE3):
            try:
                check(number, arch)
            except Exception as error:  # every kind is a fault
                faults += 1
                print(f"seed {number}, {arch.name}: {type(error).__name__}: {error}")
    print(f"{2 * (stop - begin)} layouts, {faults} faults")
    sys.exit(1 if faults else 0)

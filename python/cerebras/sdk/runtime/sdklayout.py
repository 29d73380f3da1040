# SPDX-License-Identifier: Apache-2.0
"""SdkLayout: code regions, colours, ports and host streams, turned into one CSL layout and compiled with cslc.

Colours are symbolic until compile(): connected ports share one colour, colours that meet on a PE differ, and
paths between ports are found PE by PE (shortest, around regions where possible).
"""
import enum
import heapq
import json
import os
import subprocess

import numpy as np

from cerebras.geometry.geometry import IntRectangle, IntVector
from cerebras.sdk.runtime.platform import SdkCompileArtifacts, SdkTarget

_COLORS = 24
_FREE_COST, _REGION_COST = 1, 16  # a path prefers empty PEs to those of a region


class Route(enum.Enum):
    RAMP = "RAMP"
    EAST = "EAST"
    WEST = "WEST"
    NORTH = "NORTH"
    SOUTH = "SOUTH"


class Edge(enum.Enum):
    TOP = "TOP"
    BOTTOM = "BOTTOM"
    LEFT = "LEFT"
    RIGHT = "RIGHT"


_STEP = {Route.EAST: (1, 0), Route.WEST: (-1, 0), Route.NORTH: (0, -1), Route.SOUTH: (0, 1)}
_OPPOSITE = {Route.EAST: Route.WEST, Route.WEST: Route.EAST, Route.NORTH: Route.SOUTH, Route.SOUTH: Route.NORTH}


class FP16TYPE(enum.Enum):
    """The program's 16-bit float format."""
    F16 = "f16"
    BF16 = "bf16"
    CB16 = "cb16"


class Color:
    """A symbolic colour. Two Colors of one name are the same colour, except where they only name ports of several regions:
    those are told apart, and connect() says which belong together. `value` fixes the physical one."""

    def __init__(self, name, value=None):
        if value is not None and not 0 <= value < _COLORS:
            raise ValueError(f"Color '{name}': {value} is not in 0..{_COLORS - 1}")
        self.name = name
        self.value = value
        self.param = name  # what a region's programs call it

    def get_global_name(self):
        """The name over all regions: that of a region's own colour begins with the region's."""
        return self.name

    def get_local_param_name(self):
        return self.param

    def get_value(self):
        """The physical value that was asked for, or None."""
        return self.value


class RoutingPosition:
    """Where a colour comes from and goes to in one switch position."""

    def __init__(self, inputs=(), outputs=()):
        self.inputs = tuple(inputs)
        self.outputs = tuple(outputs)

    def set_input(self, routes):
        self.inputs = tuple(routes)
        return self

    def set_output(self, routes):
        self.outputs = tuple(routes)
        return self

    def add_input(self, route):
        self.inputs += (route,)
        return self

    def add_output(self, route):
        self.outputs += (route,)
        return self

    def get_input(self):
        return list(self.inputs)

    def get_output(self):
        return list(self.outputs)

    def completed(self, inputs=None, outputs=None):
        """A copy with the missing side filled in."""
        return RoutingPosition(self.inputs or (inputs or ()), self.outputs or (outputs or ()))


class EdgeRouteInfo:
    """Routing for the PEs of one edge of a region."""

    def __init__(self, edge, routes):
        self.edge, self.routes = edge, list(routes)


def get_edge_routing(edge, routes):
    """Routing for the PEs of one edge of a region, to pass to the paint functions."""
    return EdgeRouteInfo(edge, routes)


class PortHandle:
    """An edge of a region where one colour enters or leaves, one PE after the other along the edge."""

    def __init__(self, region, color, edge, routes, size, is_input, prefix):
        self.region, self.color, self.edge = region, color, edge
        self.positions, self.size, self.is_input = list(routes), size, is_input
        self.name = f"{region.name}.{color.name}{prefix}"

    def points(self):
        return [self.region.origin + point for point in self.region.edge_points(self.edge)]


class _StreamAt:
    """A host stream that ends at a PE whose region has painted the colour: `side` of that PE faces the host."""

    def __init__(self, loc, color, name, is_input):
        self.loc, self.color, self.name, self.is_input = loc, color, name, is_input


class CodeRegion:
    """A rectangle of PEs that run one source file, with parameters and routing set PE by PE."""

    def __init__(self, source, name, width, height):
        if width < 1 or height < 1:
            raise ValueError(f"code region '{name}': {width} x {height} PEs is no rectangle")
        self.file, self.name, self.width, self.height = os.fspath(source), name, width, height
        self.origin = IntVector(0, 0)
        self.params = {point: {} for point in self._all().points()}
        self.paints = {}   # (point, colour name) -> list of RoutingPosition
        self.colors = {}   # colour name -> Color
        self.symbols = []  # (point, symbol, array)
        self.ports = []

    def _all(self):
        return IntRectangle(IntVector(0, 0), IntVector(self.width, self.height))

    def edge_points(self, edge):
        if edge in (Edge.TOP, Edge.BOTTOM):
            y = 0 if edge is Edge.TOP else self.height - 1
            return [IntVector(x, y) for x in range(self.width)]
        x = 0 if edge is Edge.LEFT else self.width - 1
        return [IntVector(x, y) for y in range(self.height)]

    def color(self, name, value=None):
        """A colour of this region alone: the same name in another region is another colour."""
        scoped = Color(f"{self.name}_{name}", value)
        scoped.param = name
        return scoped

    def place(self, x, y):
        """Puts the region's upper left PE at fabric coordinates (x, y)."""
        self.origin = IntVector(x, y)

    def set_param(self, coord, name=None, value=None, *, color=None):
        """Sets a parameter of one PE: by name and value, or to a colour that is called like the parameter."""
        self._set([coord], name, value, color)

    def set_param_range(self, rect, name=None, value=None, *, color=None):
        self._set(rect.points(), name, value, color)

    def set_param_all(self, name=None, value=None, *, color=None):
        self._set(self._all().points(), name, value, color)

    def _set(self, points, name, value, color):
        if color is not None:
            name, value = (color, None) if name is None else (name, color)
        if isinstance(name, Color):
            name, value = name.param, name
        if value is None or name is None:
            raise ValueError(f"code region '{self.name}': parameter '{name}' needs a value")
        for point in points:
            self._known(point)
            self.params[point][name] = value
            if isinstance(value, Color):
                self.colors.setdefault(value.name, value)

    def paint(self, coord, color, routes):
        """Sets the routes of a colour on one PE; several are its switch positions."""
        self._paint([coord], color, routes)

    def paint_range(self, rect, color, routes, edge_routes=()):
        self._paint(rect.points(), color, routes, edge_routes)

    def paint_all(self, color, routes, edge_routes=()):
        self._paint(self._all().points(), color, routes, edge_routes)

    def _paint(self, points, color, routes, edge_routes=()):
        self.colors.setdefault(color.name, color)
        for point in points:
            self._known(point)
            self.paints[(point, color.name)] = list(routes)
        for info in edge_routes:
            for point in self.edge_points(info.edge):
                if (point, color.name) in self.paints:
                    self.paints[(point, color.name)] = list(info.routes)

    def _known(self, point):
        if point not in self.params:
            raise ValueError(f"code region '{self.name}': ({point.x}, {point.y}) is outside of its {self.width} x {self.height} PEs")

    def create_input_port(self, color, edge, routes, data_size, prefix=""):
        if any(position.inputs for position in routes):
            raise ValueError(f"input port of '{self.name}': the input side of its routes is chosen by the layout; leave it out")
        return self._port(color, edge, routes, data_size, True, prefix)

    def create_output_port(self, color, edge, routes, data_size, prefix=""):
        if any(position.outputs for position in routes):
            raise ValueError(f"output port of '{self.name}': the output side of its routes is chosen by the layout; leave it out")
        return self._port(color, edge, routes, data_size, False, prefix)

    def _port(self, color, edge, routes, size, is_input, prefix):
        self.colors.setdefault(color.name, color)
        port = PortHandle(self, color, edge, routes, size, is_input, prefix)
        if any(other.name == port.name for other in self.ports):
            raise ValueError(f"code region '{self.name}': there is a port '{port.name}' already: give one of them a prefix")
        self.ports.append(port)
        return port

    def set_symbol_all(self, symbol, data, width, height):
        """Splits a height x width array in equal blocks, one a PE, and sets `symbol` to them at load time (row-major)."""
        data = np.asarray(data).reshape(height, width)
        if width % self.width or height % self.height:
            raise ValueError(f"set_symbol_all: {height} x {width} does not split over {self.height} x {self.width} PEs")
        rows, columns = height // self.height, width // self.width
        for point in self._all().points():
            block = data[point.y * rows:(point.y + 1) * rows, point.x * columns:(point.x + 1) * columns]
            self.symbols.append((point, symbol, np.ascontiguousarray(block)))


class SdkLayout:
    def __init__(self, platform, *, msg_level="WARNING"):
        """`platform`: an execution platform, a target, or the path of a JSON file with the field "target"."""
        del msg_level
        if isinstance(platform, (str, os.PathLike)):
            with open(platform, encoding="utf-8") as file:
                platform = SdkTarget(str(json.load(file)["target"]).lower())
        self._target = platform if isinstance(platform, SdkTarget) else platform.target
        self._regions, self._connections, self._streams = [], [], []

    def create_code_region(self, source, name, width, height):
        if any(region.name == name for region in self._regions):
            raise ValueError(f"there is a code region '{name}' already")
        region = CodeRegion(source, name, width, height)
        self._regions.append(region)
        return region

    def connect(self, tx, rx):
        """Joins an output port to an input port of as many PEs."""
        if tx.is_input or not rx.is_input:
            raise ValueError(f"connect({tx.name}, {rx.name}): expected an output port, then an input port")
        if len(tx.points()) != len(rx.points()):
            raise ValueError(f"connect({tx.name}, {rx.name}): {len(tx.points())} PEs against {len(rx.points())}")
        self._connections.append((tx, rx))

    def create_input_stream(self, port, io_loc=None, io_buffer_size=1024):
        """A stream from the host into a one-PE input port; returns its name."""
        return self._stream(port, True, io_loc, io_buffer_size)

    def create_output_stream(self, port, io_loc=None, io_buffer_size=1024):
        """A stream from a one-PE output port to the host; returns its name."""
        return self._stream(port, False, io_loc, io_buffer_size)

    def create_input_stream_from_loc(self, loc, color, prefix=""):
        """A stream from the host to the PE at fabric coordinates `loc`, whose region routes `color`; returns its name."""
        return self._stream_at(loc, color, prefix, True)

    def create_output_stream_from_loc(self, loc, color, prefix=""):
        """A stream from the PE at fabric coordinates `loc`, whose region routes `color`, to the host; returns its name."""
        return self._stream_at(loc, color, prefix, False)

    def _stream(self, port, is_input, io_loc, io_buffer_size):
        del io_buffer_size  # a host link of the simulated fabric needs none
        if port.is_input != is_input:
            raise ValueError(f"stream on {port.name}: the port's direction does not fit")
        if len(port.points()) != 1:
            raise ValueError(f"stream on {port.name}: a host stream needs a port of one PE, this one has {len(port.points())}")
        return self._add_stream(port, io_loc)

    def _stream_at(self, loc, color, prefix, is_input):
        name = f"{prefix}{'_' if prefix else ''}{color.name}_{loc.x}_{loc.y}"
        return self._add_stream(_StreamAt(loc, color, name, is_input), None)

    def _add_stream(self, port, io_loc):
        if any(other.name == port.name for other, _ in self._streams):
            raise ValueError(f"there is a stream '{port.name}' already: give one of them a prefix")
        self._streams.append((port, io_loc))
        return port.name

    def hstack(self, children, origin=None):
        """Places regions side by side, left to right, from `origin` or the first one's place; returns their width together."""
        at = origin or children[0].origin
        for region in children:
            region.place(at.x, at.y)
            at = IntVector(at.x + region.width, at.y)
        return sum(region.width for region in children)

    def vstack(self, children, origin=None):
        """Places regions one below the other, from `origin` or the first one's place; returns their height together."""
        at = origin or children[0].origin
        for region in children:
            region.place(at.x, at.y)
            at = IntVector(at.x, at.y + region.height)
        return sum(region.height for region in children)

    def compile(self, out_prefix="out", libs=(), cslc_prefix="", save_port_map=False, f16_type=FP16TYPE.F16):
        """Compiles with cslc into the directory `out_prefix`; returns the artifacts that SdkRuntime takes.

        `cslc_prefix` is the folder that holds cslc; empty: the one on PATH. The map of the host streams is written in any case,
        to NAME_port_map.json in the directory NAME."""
        del save_port_map
        plan = _Plan(self._regions, self._connections, self._streams)
        os.makedirs(out_prefix, exist_ok=True)
        source = os.path.join(out_prefix, "layout.csl")
        empty = os.path.join(out_prefix, "route_only.csl")
        with open(empty, "w", encoding="utf-8") as file:
            file.write("// a PE that only routes\ncomptime {}\n")
        with open(source, "w", encoding="utf-8") as file:
            file.write(plan.text(os.path.abspath(empty)))
        command = [os.path.join(cslc_prefix, "cslc"), source, f"--arch={self._target.value}", f"--fabric-dims={plan.width},{plan.height}",
                   "--fabric-offsets=0,0", "-o", out_prefix]
        for lib in libs:
            command += ["--import-path", lib]
        if f16_type:
            command.append(f"--fp16-format={FP16TYPE(f16_type).value}")
        if subprocess.run(command, check=False).returncode != 0:
            raise RuntimeError(f"SdkLayout.compile: cslc refused the program (its generated layout is {source})")
        name = os.path.basename(os.path.abspath(out_prefix))
        with open(os.path.join(out_prefix, f"{name}_port_map.json"), "w", encoding="utf-8") as file:
            json.dump({"buses": [{"port_name": stream, "x": x, "y": y, "side": side, "color": color}
                                 for stream, (x, y, side, color) in plan.streams.items()]}, file, indent=1)
        patches = [(region.origin.x + point.x, region.origin.y + point.y, symbol, array)
                   for region in self._regions for point, symbol, array in region.symbols]
        artifacts = SdkCompileArtifacts(out_prefix, patches, plan.streams)
        artifacts.save()
        return artifacts


class _Plan:
    """Everything compile() decides: the fabric's size, routes of every PE, values of the colours."""

    def __init__(self, regions, connections, streams):
        self.regions = regions
        self.occupied = {}
        for region in regions:
            for point in region.params:
                at = region.origin + point
                if at in self.occupied:
                    raise ValueError(f"regions '{region.name}' and '{self.occupied[at].name}' overlap at ({at.x}, {at.y})")
                self.occupied[at] = region
        self.width = max(point.x for point in self.occupied) + 2
        self.height = max(point.y for point in self.occupied) + 2
        self.parent, self.fixed = {}, {}
        for region in regions:
            for color in region.colors.values():
                self._find((region.name, color.name))
        at_pes = [port for port, _ in streams if isinstance(port, _StreamAt)]
        streams = [(port, io_loc) for port, io_loc in streams if not isinstance(port, _StreamAt)]
        for stream in at_pes:
            if stream.loc not in self.occupied:
                raise ValueError(f"stream '{stream.name}': there is no code region at ({stream.loc.x}, {stream.loc.y})")
            stream.region = self.occupied[stream.loc]
            stream.region.colors.setdefault(stream.color.name, stream.color)
            self._find((stream.region.name, stream.color.name))
        ports = [port for connection in connections for port in connection] + [port for port, _ in streams]
        self._share_names()
        for tx, rx in connections:
            self.parent[self._port_root(rx)] = self._port_root(tx)
        self._check_ports(ports)
        for region in regions:
            for color in region.colors.values():
                if color.value is not None:
                    root = self._find((region.name, color.name))
                    if self.fixed.setdefault(root, color.value) != color.value:
                        raise ValueError(f"colour '{color.name}' would need two values, {self.fixed[root]} and {color.value}")
        self.routes = {}  # point -> {colour root: [RoutingPosition]}
        for region in regions:
            for (point, name), positions in region.paints.items():
                self._route(region.origin + point, self._find((region.name, name)), positions)
        for tx, rx in connections:
            self._clear(tx), self._clear(rx)
        for port, _ in streams:
            self._clear(port)
        for tx, rx in connections:
            self._connect(self._port_root(tx), tx, rx)
        self.streams = {}
        self.stream_roots = {}
        for port, io_loc in streams:
            self._host_link(port, io_loc)
        for stream in at_pes:
            self._link_at(stream)
        self.values = self._choose_values()
        self.streams = {name: (x, y, side, self.values[root]) for name, (x, y, side, root) in self.stream_roots.items()}

    def _find(self, key):
        """The colour that stands for a (region name, colour name) and all that were joined with it."""
        self.parent.setdefault(key, key)
        while self.parent[key] != key:
            key = self.parent[key]
        return key

    def _port_root(self, port):
        return self._find((port.region.name, port.color.name))

    def _share_names(self):
        """Colours of one name are one colour in all regions, but for those that only name a port of each of several regions:
        there every port is on its own, and connections say which belong together."""
        with_port = {(region.name, port.color.name) for region in self.regions for port in region.ports}
        by_name = {}
        for key in self.parent:
            by_name.setdefault(key[1], []).append(key)
        for keys in by_name.values():
            if len(keys) > 1 and all(key in with_port for key in keys):
                continue
            for key in keys[1:]:
                self.parent[self._find(key)] = self._find(keys[0])

    def _check_ports(self, ports):
        """Two ports with colours of different names that were joined must not meet on a PE: its program could not tell them apart."""
        seen = {}
        for port in ports:
            for at in port.points():
                other = seen.setdefault((at, self._port_root(port)), port)
                if other.color.name != port.color.name or other.is_input != port.is_input:
                    raise ValueError(f"code region '{port.region.name}': its ports {other.name} and {port.name} would get one colour on "
                                     f"PE ({at.x}, {at.y}), since connections join their colours '{other.color.name}' and "
                                     f"'{port.color.name}': give each region colours of its own with region.color(name)")

    def _route(self, at, root, positions):
        self.routes.setdefault(at, {})[root] = positions

    def _clear(self, port):
        """A port's own routes replace what was painted on its PEs."""
        for at in port.points():
            self.routes.get(at, {}).pop(self._port_root(port), None)

    def _connect(self, root, tx, rx):
        """Paths for all PEs of a connection, which have one colour and may not meet: from either end of the ports, around regions
        where that leaves room for every one, else straight through, or with some more of the fabric."""
        lanes = list(zip(tx.points(), rx.points()))
        before = {at: dict(by_root) for at, by_root in self.routes.items()}
        width, height, failure = self.width, self.height, None
        for margin in (0, len(lanes)):
            for region_cost in (_REGION_COST, _FREE_COST):
                for order in (lanes, lanes[::-1]):
                    self.routes = {at: dict(by_root) for at, by_root in before.items()}
                    self.width, self.height = width + margin, height + margin
                    try:
                        for lane in order:
                            others = {at for other in lanes if other is not lane for at in other}
                            self._join(root, *lane, others, tx.positions, rx.positions, region_cost)
                        return
                    except ValueError as error:
                        failure = failure or error
        raise failure

    def _path(self, root, start, goals, region_cost=_REGION_COST, others=()):
        """The cheapest list of PEs from `start` to one of `goals` over PEs where the colour is free, and not over `others`."""
        queue, best, order = [(0, 0, start, None)], {}, 0
        while queue:
            cost, _, at, before = heapq.heappop(queue)
            if at in best:
                continue
            best[at] = before
            if at in goals:
                path = [at]
                while best[path[-1]] is not None:
                    path.append(best[path[-1]])
                return path[::-1]
            for direction in (Route.EAST, Route.WEST, Route.NORTH, Route.SOUTH):
                dx, dy = _STEP[direction]
                to = IntVector(at.x + dx, at.y + dy)
                if not (0 <= to.x < self.width and 0 <= to.y < self.height) or to in best:
                    continue
                if to in others or (to not in goals and root in self.routes.get(to, {})):
                    continue
                order += 1
                step = region_cost if to in self.occupied and to not in goals else _FREE_COST
                heapq.heappush(queue, (cost + step, order, to, at))
        raise ValueError(f"no path for colour '{root[1]}' from ({start.x}, {start.y})")

    @staticmethod
    def _direction(a, b):
        return next(route for route, step in _STEP.items() if step == (b.x - a.x, b.y - a.y))

    def _join(self, root, start, end, others, tx_positions, rx_positions, region_cost):
        path = self._path(root, start, {end}, region_cost, others)
        if len(path) < 2:
            raise ValueError(f"colour '{root[1]}': both ports are on PE ({start.x}, {start.y})")
        self._route(start, root, [p.completed(outputs=[self._direction(path[0], path[1])]) for p in tx_positions])
        self._route(end, root, [p.completed(inputs=[self._direction(path[-1], path[-2])]) for p in rx_positions])
        for before, at, after in zip(path, path[1:], path[2:]):
            self._route(at, root, [RoutingPosition([self._direction(at, before)], [self._direction(at, after)])])

    def _host_link(self, port, io_loc):
        """Extends a one-PE port to the border of the fabric, where the host's link is."""
        root, at = self._port_root(port), port.points()[0]
        if io_loc is not None:
            goals = {IntVector(io_loc.x, io_loc.y)}
        else:
            goals = {IntVector(x, y) for y in range(self.height) for x in (0, self.width - 1)}
            goals = {goal for goal in goals if goal == at or root not in self.routes.get(goal, {})}
        path = self._path(root, at, goals)
        border = path[-1]
        side = Route.WEST if border.x == 0 else Route.EAST
        outward = [self._direction(at, path[1])] if len(path) > 1 else [side]
        filled = [p.completed(inputs=outward) if port.is_input else p.completed(outputs=outward) for p in port.positions]
        self._route(at, root, filled)
        for index in range(1, len(path)):
            toward_port = self._direction(path[index], path[index - 1])
            toward_host = self._direction(path[index], path[index + 1]) if index + 1 < len(path) else side
            ends = ([toward_host], [toward_port]) if port.is_input else ([toward_port], [toward_host])
            self._route(path[index], root, [RoutingPosition(*ends)])
        self.stream_roots[port.name] = (border.x, border.y, side.value, root)

    def _link_at(self, stream):
        """From the side of a PE that its painted route names straight on to the border of the fabric."""
        root, at = self._port_root(stream), stream.loc
        painted = self.routes.get(at, {}).get(root)
        routes = (painted[0].inputs if stream.is_input else painted[0].outputs) if painted else ()
        sides = [route for route in routes if route is not Route.RAMP]
        if painted and not sides:
            raise ValueError(f"stream '{stream.name}': the route of colour '{stream.color.name}' at ({at.x}, {at.y}) leads to no neighbour")
        side = sides[0] if sides else Route.WEST
        if not painted:
            ends = ([side], [Route.RAMP]) if stream.is_input else ([Route.RAMP], [side])
            self._route(at, root, [RoutingPosition(*ends)])
        to = IntVector(at.x + _STEP[side][0], at.y + _STEP[side][1])
        while 0 <= to.x < self.width and 0 <= to.y < self.height:
            if root in self.routes.get(to, {}):
                raise ValueError(f"stream '{stream.name}': colour '{stream.color.name}' is in use at ({to.x}, {to.y}), on the way to the border")
            ends = ([side], [_OPPOSITE[side]]) if stream.is_input else ([_OPPOSITE[side]], [side])
            self._route(to, root, [RoutingPosition(*ends)])
            at, to = to, IntVector(to.x + _STEP[side][0], to.y + _STEP[side][1])
        self.stream_roots[stream.name] = (at.x, at.y, side.value, root)

    def _choose_values(self):
        """Greedy colouring of the graph of colours that meet on a PE (or whose PEs could mix wavelets of one value)."""
        users = {}
        for at, by_root in self.routes.items():
            for root in by_root:
                users.setdefault(root, set()).add(at)
        for region in self.regions:
            for point, params in region.params.items():
                for value in params.values():
                    if isinstance(value, Color):
                        users.setdefault(self._find((region.name, value.name)), set()).add(region.origin + point)
        values = dict(self.fixed)
        for root in sorted(users):
            if root in values:
                continue
            near = set()
            for at in users[root]:
                near |= {at} | {IntVector(at.x + dx, at.y + dy) for dx, dy in _STEP.values()}
            taken = {values[other] for other in values if other in users and users[other] & near}
            free = [value for value in range(_COLORS) if value not in taken]
            if not free:
                raise ValueError(f"colour '{root[1]}' meets {len(taken)} others: more than the {_COLORS} of the hardware")
            values[root] = free[0]
        return values

    # the generated layout

    def text(self, empty_file):
        lines = ["// Generated by SdkLayout.compile.", "layout {", f"  @set_rectangle({self.width}, {self.height});"]
        for y in range(self.height):
            for x in range(self.width):
                at = IntVector(x, y)
                region = self.occupied.get(at)
                if region is None:
                    lines.append(f'  @set_tile_code({x}, {y}, "{empty_file}", .{{}});')
                else:
                    params = region.params[IntVector(x - region.origin.x, y - region.origin.y)]
                    fields = ", ".join(f".{name} = {self._literal(region, value)}" for name, value in params.items())
                    lines.append(f'  @set_tile_code({x}, {y}, "{os.path.abspath(region.file)}", .{{ {fields} }});')
                for root, positions in sorted(self.routes.get(at, {}).items()):
                    lines.append(f"  @set_color_config({x}, {y}, @get_color({self.values[root]}), {self._config(root, at, positions)});")
        lines.append("}\n")
        return "\n".join(lines)

    def _literal(self, region, value):
        if isinstance(value, Color):
            return f"@get_color({self.values[self._find((region.name, value.name))]})"
        if isinstance(value, bool):
            return "true" if value else "false"
        return repr(value)

    def _config(self, root, at, positions):
        def side(routes):
            return ".{ " + ", ".join(route.value for route in routes) + " }"
        first = positions[0]
        text = f".{{ .routes = .{{ .rx = {side(first.inputs)}, .tx = {side(first.outputs)} }}"
        switches = []
        for number, position in enumerate(positions[1:], 1):
            rx_differs, tx_differs = set(position.inputs) != set(first.inputs), set(position.outputs) != set(first.outputs)
            if rx_differs and tx_differs:
                raise ValueError(f"colour '{root[1]}' at ({at.x}, {at.y}): switch position {number} changes both its input and its "
                                 "output; the hardware can change only one of them")
            name, routes = ("rx", position.inputs) if rx_differs else ("tx", position.outputs)
            switches.append(f".pos{number} = .{{ .{name} = {side(routes)} }}" if len(routes) != 1
                            else f".pos{number} = .{{ .{name} = {routes[0].value} }}")
        if switches:
            text += ", .switches = .{ " + ", ".join(switches) + " }"
        return text + " }"

# SPDX-License-Identifier: Apache-2.0
"""SdkLayout: parameters, colours, painted routes, ports, connections, host streams, symbols; and the appliance classes."""
import json
import os
import unittest

from kit import BITS32, ROW, np, program, root, words, write
from cerebras.appliance.pb.sdk.sdk_common_pb2 import MemcpyDataType, MemcpyOrder
from cerebras.geometry.geometry import IntRectangle, IntVector
from cerebras.sdk import client
from cerebras.sdk.client.debug_util import debug_util
from cerebras.sdk.client.sdk_utils import calculate_cycles, input_array_to_u32
from cerebras.sdk.runtime.sdkruntimepybind import (FP16TYPE, Color, Edge, Route, RoutingPosition, SdkCompileArtifacts, SdkLayout,
                                                   SdkRuntime, SdkTarget, SimfabConfig, get_edge_routing, get_platform)

VALUE = """
param value: u16;
export var result: u16 = 0;
task main() void { result = value; }
comptime {
  @bind_local_task(main, @get_local_task_id(10));
  @activate(@get_local_task_id(10));
}
"""
SEND = """
param out: color;
param first: u16;
const queue = @get_output_queue(2);
const dsd = @get_dsd(fabout_dsd, .{ .extent = 1, .fabric_color = out, .output_queue = queue });
task main() void {
  const word: u32 = @as(u32, first) + 100;
  @mov32(dsd, word, .{ .async = true });
}
comptime {
  @bind_local_task(main, @get_local_task_id(10));
  @activate(@get_local_task_id(10));
  if (@is_arch("wse3")) @initialize_queue(queue, .{ .color = out });
}
"""
TAKE = """
param in: color;
const queue = @get_input_queue(2);
export var result: u32 = 0;
task take(x: u32) void { result += x; }
comptime {
  @initialize_queue(queue, .{ .color = in });
  if (@is_arch("wse3")) @bind_data_task(take, @get_data_task_id(queue)) else @bind_data_task(take, @get_data_task_id(in));
}
"""
SCALE = """
param in: color;
param out: color;
param size: u16;
export var factor = @zeros([1]f32);
const in_queue = @get_input_queue(2);
const out_queue = @get_output_queue(3);
const source = @get_dsd(fabin_dsd, .{ .extent = size, .fabric_color = in, .input_queue = in_queue });
const target = @get_dsd(fabout_dsd, .{ .extent = size, .fabric_color = out, .output_queue = out_queue });
task main() void { @fmuls(target, source, factor[0], .{ .async = true }); }
comptime {
  @bind_local_task(main, @get_local_task_id(10));
  @activate(@get_local_task_id(10));
  @initialize_queue(in_queue, .{ .color = in });
  if (@is_arch("wse3")) @initialize_queue(out_queue, .{ .color = out });
}
"""
FILES = write("layout", "value.csl", VALUE)
for file_name, text in (("send.csl", SEND), ("take.csl", TAKE), ("scale.csl", SCALE)):
    write("layout", file_name, text)


def source(name):
    return os.path.join(FILES, name)


class Layouts(unittest.TestCase):
    target = SdkTarget.WSE3

    def setUp(self):
        self.platform = get_platform(None, SimfabConfig(num_threads=1), self.target)
        self.layout = SdkLayout(self.platform)
        self.out = os.path.join(root, f"{self.id()}")

    def start(self):
        runtime = SdkRuntime(self.layout.compile(self.out), self.platform, memcpy_required=False)
        runtime.load()
        runtime.run()
        return runtime

    def test_parameters_of_one_of_some_and_of_all(self):
        region = self.layout.create_code_region(source("value.csl"), "values", 3, 2)
        region.set_param_all("value", 1)
        region.set_param_range(IntRectangle(IntVector(1, 0), IntVector(2, 2)), "value", 2)
        region.set_param(IntVector(2, 1), "value", 3)
        region.place(4, 3)
        runtime = self.start()
        runtime.stop()
        values = [[int(runtime.read_symbol(4 + x, 3 + y, "result", "uint16")[0]) for x in range(3)] for y in range(2)]
        self.assertEqual(values, [[1, 2, 1], [1, 2, 3]])

    def test_a_painted_row_carries_the_word_to_its_end(self):
        sender = self.layout.create_code_region(source("send.csl"), "sender", 1, 1)
        row = self.layout.create_code_region(source("take.csl"), "row", 3, 1)
        self.assertEqual(self.layout.hstack([sender, row]), 4)
        lane = Color("lane", 5)
        sender.set_param_all("out", lane)
        sender.set_param_all("first", 11)
        sender.paint_all(lane, [RoutingPosition().set_input([Route.RAMP]).set_output([Route.EAST])])
        row.set_param_all("in", lane)
        through = RoutingPosition().set_input([Route.WEST]).set_output([Route.EAST])
        end = RoutingPosition().set_input([Route.WEST]).set_output([Route.RAMP])
        row.paint_all(lane, [through], [get_edge_routing(Edge.RIGHT, [end])])
        # The left edge of a one-row region is its first PE; the right edge its last one.
        runtime = self.start()
        runtime.stop()
        self.assertEqual([int(runtime.read_symbol(x, 0, "result", "uint32")[0]) for x in (1, 2, 3)], [0, 0, 111])

    def test_connected_ports_of_several_pes_around_a_region(self):
        left = self.layout.create_code_region(source("send.csl"), "left", 1, 3)
        wall = self.layout.create_code_region(source("value.csl"), "wall", 1, 3)
        right = self.layout.create_code_region(source("take.csl"), "right", 1, 3)
        wall.set_param_all("value", 9)
        left.place(1, 1), wall.place(3, 1), right.place(5, 1)
        out, into = left.color("out"), right.color("in")
        left.set_param_all(out)
        right.set_param_all(into)
        for y in range(3):
            left.set_param(IntVector(0, y), "first", y)
        tx = left.create_output_port(out, Edge.RIGHT, [RoutingPosition().set_input([Route.RAMP])], 1)
        rx = right.create_input_port(into, Edge.LEFT, [RoutingPosition().set_output([Route.RAMP])], 1)
        self.layout.connect(tx, rx)
        runtime = self.start()
        runtime.stop()
        self.assertEqual([int(runtime.read_symbol(5, 1 + y, "result", "uint32")[0]) for y in range(3)], [100, 101, 102])

    def test_connected_ports_of_several_pes_that_lie_askew(self):
        # No lane may take the place that another one needs, here or there.
        for name, from_at, from_edge, to_at, to_edge in (("up", (6, 6), Edge.LEFT, (1, 1), Edge.RIGHT),
                                                         ("over", (17, 3), Edge.LEFT, (12, 8), Edge.LEFT)):
            left = self.layout.create_code_region(source("send.csl"), name + "_from", 1, 4)
            right = self.layout.create_code_region(source("take.csl"), name + "_to", 1, 4)
            left.place(*from_at), right.place(*to_at)
            out, into = left.color("out"), right.color("in")
            left.set_param_all(out)
            right.set_param_all(into)
            for y in range(4):
                left.set_param(IntVector(0, y), "first", y)
            self.layout.connect(left.create_output_port(out, from_edge, [RoutingPosition().set_input([Route.RAMP])], 1),
                                right.create_input_port(into, to_edge, [RoutingPosition().set_output([Route.RAMP])], 1))
        runtime = self.start()
        runtime.stop()
        self.assertEqual([[int(runtime.read_symbol(x, y + i, "result", "uint32")[0]) for i in range(4)] for x, y in ((1, 1), (12, 8))],
                         [[100, 101, 102, 103]] * 2)

    def test_host_streams_and_symbols(self):
        region = self.layout.create_code_region(source("scale.csl"), "scale", 1, 1)
        region.place(2, 2)
        into, out = region.color("in"), region.color("out")
        region.set_param_all(into)
        region.set_param_all(out)
        region.set_param_all("size", 8)
        region.set_symbol_all("factor", np.array([[2.5]], np.float32), 1, 1)
        rx = region.create_input_port(into, Edge.LEFT, [RoutingPosition().set_output([Route.RAMP])], 8)
        tx = region.create_output_port(out, Edge.RIGHT, [RoutingPosition().set_input([Route.RAMP])], 8)
        send, receive = self.layout.create_input_stream(rx), self.layout.create_output_stream(tx)
        runtime = self.start()
        data = np.arange(8, dtype=np.float32)
        result = np.zeros(8, np.float32)
        runtime.send(send, data, 3, nonblock=True)
        runtime.send(runtime.get_port_id(send), src=data[3:], n_wavelets=5, nonblock=True)
        runtime.receive(port=receive, dest=result, n_wavelets=8, nonblock=False)
        np.testing.assert_array_equal(result, 2.5 * data)
        with self.assertRaisesRegex(KeyError, "no stream 'nothing'"):
            runtime.send("nothing", data)
        with self.assertRaisesRegex(ValueError, "9 wavelets are asked for"):
            runtime.send(send, data, 9)
        with self.assertRaisesRegex(ValueError, "9 words do not fit"):
            runtime.receive(receive, result, 9)
        runtime.stop()

    def scale_at(self, x, y, factor, entry, exit):
        """A region of one PE with both colours painted, for streams that end at the PE."""
        region = self.layout.create_code_region(source=source("scale.csl"), name=f"scale_{x}_{y}", width=1, height=1)
        into, out = region.color(name="in"), region.color(name="out", value=7 + x)
        region.set_param(coord=IntVector(0, 0), color=into)
        region.set_param_range(rect=IntRectangle(origin=IntVector(0, 0), dims=IntVector(1, 1)), name="out", value=out)
        region.set_param_all("size", 4)
        region.set_symbol_all(symbol="factor", data=np.array([[factor]], np.float32), width=1, height=1)
        position = RoutingPosition()
        position.add_input(entry)
        position.add_output(Route.RAMP)
        self.assertEqual((position.get_input(), position.get_output()), ([entry], [Route.RAMP]))
        region.paint_all(color=into, routes=[position])
        region.paint(coord=IntVector(0, 0), color=out, routes=[RoutingPosition().set_input([Route.RAMP]).set_output([exit])])
        region.place(x=x, y=y)
        self.assertEqual((into.get_global_name(), into.get_local_param_name(), into.get_value(), out.get_value()),
                         (f"scale_{x}_{y}_in", "in", None, 7 + x))
        return into, out

    def test_streams_to_and_from_a_pe(self):
        streams = []
        for x, y, factor, entry, exit in ((0, 0, 3, Route.WEST, Route.EAST), (0, 6, 5, Route.WEST, Route.EAST),
                                          (4, 3, 7, Route.NORTH, Route.SOUTH)):
            into, out = self.scale_at(x, y, factor, entry, exit)
            streams.append((factor, self.layout.create_input_stream_from_loc(loc=IntVector(x, y), color=into, prefix=f"h{x}"),
                            self.layout.create_output_stream_from_loc(IntVector(x, y), out, prefix=f"d{x}")))
        self.layout.compile(out_prefix=self.out)
        # A later process knows the program by its path alone.
        for program in (SdkCompileArtifacts(artifacts_path=self.out), self.out):
            runtime = SdkRuntime(program, self.platform, memcpy_required=False)
            runtime.load()
            runtime.run()
            data = np.arange(1, 5, dtype=np.float32)
            for factor, send, receive in streams:
                result = np.zeros(4, np.float32)
                runtime.send(send, data, nonblock=True)
                runtime.receive(receive, result, 4, nonblock=False)
                np.testing.assert_array_equal(result, factor * data)
            runtime.stop()
        with open(os.path.join(self.out, f"{os.path.basename(self.out)}_port_map.json"), encoding="utf-8") as file:
            port_map = json.load(file)
        self.assertEqual({bus["port_name"] for bus in port_map["buses"]}, {name for _, *names in streams for name in names})
        some = os.path.join(self.out, "some.json")
        with open(some, "w", encoding="utf-8") as file:
            json.dump({"buses": port_map["buses"][:1]}, file)
        artifacts = SdkCompileArtifacts(self.out)
        artifacts.add_port_mapping(some)
        self.assertEqual(list(artifacts.streams), [port_map["buses"][0]["port_name"]])

    def test_streams_that_cannot_reach_the_host(self):
        into, out = self.scale_at(2, 2, 1, Route.WEST, Route.EAST)
        self.layout.create_output_stream_from_loc(IntVector(2, 2), out)
        with self.assertRaisesRegex(ValueError, "'out' already|_out_2_2' already"):
            self.layout.create_output_stream_from_loc(IntVector(2, 2), out)
        self.layout.create_input_stream_from_loc(IntVector(3, 3), into)
        with self.assertRaisesRegex(ValueError, r"no code region at \(3, 3\)"):
            self.layout.compile(self.out)

    def test_a_layout_from_a_target_or_a_file(self):
        path = os.path.join(write("fabrics", "fabric.json", '{"target": "WSE3"}'), "fabric.json")
        for origin in (SdkTarget.WSE3, path):
            layout = SdkLayout(origin, msg_level="INFO")
            upper = layout.create_code_region(source("value.csl"), "upper", 1, 2)
            lower = layout.create_code_region(source("value.csl"), "lower", 1, 1)
            self.assertEqual(layout.vstack(children=[upper, lower], origin=IntVector(2, 1)), 3)
            for region in (upper, lower):
                region.set_param_all("value", 6)
            artifacts = layout.compile(self.out, [], "", False, FP16TYPE.BF16)
            runtime = SdkRuntime(artifacts=artifacts, platform=get_platform(target=SdkTarget.WSE3), memcpy_required=False)
            self.assertFalse(self.platform.is_system())
            runtime.load()
            runtime.run()
            runtime.stop()
            self.assertEqual(int(runtime.read_symbol(2, 3, "result", "uint16")[0]), 6)

    def test_regions_that_name_their_ports_alike_are_told_apart(self):
        regions = []
        for index in range(3):
            region = self.layout.create_code_region(source("scale.csl"), f"scale{index}", 1, 1)
            region.place(2 + 3 * index, 2)
            into, out = Color("in"), Color("out")
            region.set_param_all(into)
            region.set_param_all(out)
            region.set_param_all("size", 4)
            region.set_symbol_all("factor", np.array([[index + 2]], np.float32), 1, 1)
            regions.append((region.create_input_port(into, Edge.LEFT, [RoutingPosition().set_output([Route.RAMP])], 4),
                            region.create_output_port(out, Edge.RIGHT, [RoutingPosition().set_input([Route.RAMP])], 4)))
        for (_, out), (into, _) in zip(regions, regions[1:]):
            self.layout.connect(out, into)
        send, receive = self.layout.create_input_stream(regions[0][0]), self.layout.create_output_stream(regions[-1][1])
        runtime = self.start()
        data = np.arange(4, dtype=np.float32)
        result = np.zeros(4, np.float32)
        runtime.send(send, data, nonblock=True)
        runtime.receive(receive, result, 4, nonblock=False)
        np.testing.assert_array_equal(result, 24 * data)
        runtime.stop()

    def test_joined_colours_of_two_ports_of_a_pe_are_refused(self):
        regions = [self.layout.create_code_region(source("scale.csl"), name, 1, 1) for name in ("first", "second")]
        also = self.layout.create_code_region(source("value.csl"), "also", 1, 1)
        ports = []
        for index, region in enumerate(regions):
            region.place(2 + 3 * index, 2)
            ports.append((region.create_input_port(Color("in"), Edge.LEFT, [RoutingPosition().set_output([Route.RAMP])], 1),
                          region.create_output_port(Color("out"), Edge.RIGHT, [RoutingPosition().set_input([Route.RAMP])], 1)))
        through = [RoutingPosition().set_input([Route.WEST]).set_output([Route.EAST])]
        also.paint_all(Color("in"), through)  # used as a route too: one colour in all regions
        also.paint_all(Color("out"), through)
        self.layout.connect(ports[0][1], ports[1][0])
        self.layout.create_input_stream(ports[0][0])
        with self.assertRaisesRegex(ValueError, "'first'.*first.in.*first.out|'first'.*first.out.*first.in"):
            self.layout.compile(self.out)

    def test_what_cannot_be(self):
        region = self.layout.create_code_region(source("value.csl"), "one", 2, 1)
        other = self.layout.create_code_region(source("value.csl"), "two", 1, 1)
        with self.assertRaisesRegex(ValueError, "'one' already"):
            self.layout.create_code_region(source("value.csl"), "one", 1, 1)
        with self.assertRaisesRegex(ValueError, "no rectangle"):
            self.layout.create_code_region(source("value.csl"), "three", 0, 1)
        with self.assertRaisesRegex(ValueError, r"\(2, 0\) is outside"):
            region.set_param(IntVector(2, 0), "value", 1)
        with self.assertRaisesRegex(ValueError, "not in 0..23"):
            Color("c", 24)
        ramp_in, ramp_out = RoutingPosition().set_input([Route.RAMP]), RoutingPosition().set_output([Route.RAMP])
        with self.assertRaisesRegex(ValueError, "chosen by the layout"):
            region.create_input_port(Color("c"), Edge.LEFT, [ramp_in.set_output([Route.EAST])], 1)
        tx = other.create_output_port(Color("t"), Edge.RIGHT, [RoutingPosition().set_input([Route.RAMP])], 1)
        rx = region.create_input_port(Color("r"), Edge.TOP, [ramp_out], 1)
        with self.assertRaisesRegex(ValueError, "1 PEs against 2"):
            self.layout.connect(tx, rx)
        with self.assertRaisesRegex(ValueError, "'two.t' already"):
            other.create_output_port(Color("t"), Edge.RIGHT, [RoutingPosition().set_input([Route.RAMP])], 1)
        with self.assertRaisesRegex(ValueError, "output port, then an input port"):
            self.layout.connect(rx, tx)
        with self.assertRaisesRegex(ValueError, "port of one PE"):
            self.layout.create_input_stream(rx)
        with self.assertRaisesRegex(ValueError, "overlap at"):
            self.layout.compile(self.out)
        with self.assertRaisesRegex(RuntimeError, "CS system"):
            get_platform("10.0.0.1:9000")


class LayoutsWse2(Layouts):
    target = SdkTarget.WSE2


COPY = """
param memcpy_params: comptime_struct;
const sys = @import_module("<memcpy/memcpy>", memcpy_params);
var data = @zeros([2]u32);
var data_ptr: [*]u32 = &data;
fn twice() void {
  data[0] *= 2;
  data[1] *= 2;
  sys.unblock_cmd_stream();
}
comptime {
  @export_symbol(data_ptr, "data");
  @export_symbol(twice);
}
"""
COPY_EXPORTS = """
  @export_name("data", [*]u32, true);
  @export_name("twice", fn ()void);
"""


class Appliance(unittest.TestCase):
    def test_compile_launch_and_run(self):
        directory = os.path.dirname(program("appliance", COPY, COPY_EXPORTS, 1, 1))
        with client.SdkCompiler() as compiler:
            artifact = compiler.compile(directory, "layout.csl",
                                        "--arch=wse3 --fabric-dims=8,3 --fabric-offsets=4,1 --memcpy --channels=1 -o built",
                                        os.path.join(root, "artifacts"))
        self.assertTrue(os.path.isdir(artifact), artifact)
        with client.SdkCompiler(disable_version_check=True) as compiler:
            again = compiler.compile(codedir=directory, layout="layout.csl", outdir=os.path.join(root, "artifacts"),
                                     args="--arch=wse3 --fabric-dims=8,3 --fabric-offsets=4,1 --memcpy --channels=1 -o=again")
        self.assertEqual(os.path.dirname(again), os.path.dirname(artifact))
        self.assertEqual(input_array_to_u32(arr=np.array([7], np.uint16), sentinel=None, fast_dim_sz=1)[0], 7)
        self.assertEqual(calculate_cycles(np.array([1, 5 << 16, 0], np.uint32)), 4)
        self.assertTrue(callable(debug_util))
        with client.SdkRuntime(artifact, simulator=True) as runtime:
            symbol = runtime.get_id("data")
            options = {"streaming": False, "data_type": MemcpyDataType.MEMCPY_32BIT, "order": MemcpyOrder.ROW_MAJOR,
                       "nonblock": False}
            runtime.memcpy_h2d(symbol, words(2), 0, 0, 1, 1, 2, **options)
            runtime.launch("twice", nonblock=False)
            result = np.zeros(2, np.uint32)
            runtime.memcpy_d2h(result, symbol, 0, 0, 1, 1, 2, **options)
        np.testing.assert_array_equal(result, [2, 4])
        note = os.path.join(write("notes", "note.txt", "hello"), "note.txt")
        with client.SdkLauncher(artifact, simulator=True) as launcher:
            launcher.stage(note)
            self.assertEqual(launcher.run("cat note.txt", "ls built | grep -c szcsl", "echo end%CMADDR%"), "hello1\nend\n")
            self.assertEqual(launcher.download_artifact("note.txt", os.path.join(root, "fetched.txt")), os.path.join(root, "fetched.txt"))
            archive = launcher.download_artifact("built", os.path.join(root, "fetched"))
            self.assertTrue(archive.endswith("fetched.tar.gz") and os.path.isfile(archive), archive)
            launcher.stage(os.path.dirname(note))
            self.assertEqual(launcher.run("cat notes/note.txt"), "hello")
        with open(os.path.join(root, "fetched.txt"), encoding="utf-8") as file:
            self.assertEqual(file.read(), "hello")
        with self.assertRaisesRegex(RuntimeError, "simulator=True"):
            client.SdkLauncher(artifact, simulator=False)


if __name__ == "__main__":
    unittest.main(verbosity=1)

# SPDX-License-Identifier: Apache-2.0
"""SdkRuntime: orders of data, broadcasts, 16-bit copies, strides, streams, launches, waiting, and what it refuses."""
import os
import subprocess
import sys
import unittest

from kit import BITS16, BITS32, COL, ROW, np, program, root, started, words
from cerebras.sdk.debug.debug_util import debug_util
from cerebras.sdk.runtime.sdkruntimepybind import SdkRuntime

CODE = """
param memcpy_params: comptime_struct;
const sys = @import_module("<memcpy/memcpy>", memcpy_params);
const debug = @import_module("<debug>", .{ .key = "log", .buffer_size = 100 });
const print = @import_module("<simprint>");
const place = @import_module("<layout>");
var wide = @zeros([4]u32);
var narrow = @zeros([4]u16);
var real = @zeros([2]f32);
var wide_ptr: [*]u32 = &wide;
var narrow_ptr: [*]u16 = &narrow;
var real_ptr: [*]f32 = &real;
fn add(n: i16, f: f32) void {
  for (@range(i16, 4)) |i| {
    wide[i] += @as(u32, @as(i32, n));
  }
  real[0] += f;
  sys.unblock_cmd_stream();
}
fn say() void {
  debug.trace_u16(place.get_x_coord());
  debug.trace_i16(-5);
  debug.trace_f32(0.25);
  debug.trace_bool(true);
  debug.trace_string("end");
  if (place.get_x_coord() == 1 and place.get_y_coord() == 0) print.fmt("{{{d}}} {X} {b} {f}", .{ @as(i16, -3), @as(u16, 255), @as(u16, 5), @as(f32, 2.5) });
  sys.unblock_cmd_stream();
}
fn forget() void {}
comptime {
  @export_symbol(wide_ptr, "wide");
  @export_symbol(narrow_ptr, "narrow");
  @export_symbol(real_ptr, "real");
  @export_symbol(add);
  @export_symbol(say);
  @export_symbol(forget);
}
"""
EXPORTS = """
  @export_name("wide", [*]u32, true);
  @export_name("narrow", [*]u16, true);
  @export_name("real", [*]f32, true);
  @export_name("add", fn (i16, f32)void);
  @export_name("say", fn ()void);
  @export_name("forget", fn ()void);
"""
W, H = 3, 2


def copy(runtime, symbol, data=None, place=(0, 0, W, H), count=4, order=ROW, bits=BITS32, nonblock=False, streaming=False):
    """memcpy_h2d of `data`, or memcpy_d2h without it."""
    options = {"streaming": streaming, "data_type": bits, "order": order, "nonblock": nonblock}
    target = runtime.get_id(symbol) if isinstance(symbol, str) else symbol
    if data is not None:
        return runtime.memcpy_h2d(target, np.ascontiguousarray(data).ravel(), *place, count, **options)
    result = np.zeros(place[2] * place[3] * count, np.uint32)
    runtime.memcpy_d2h(result, target, *place, count, **options)
    return result


class Copies(unittest.TestCase):
    arch = "wse3"

    def setUp(self):
        self.runtime = started(program("copies", CODE, EXPORTS, W, H, arch=self.arch))

    def tearDown(self):
        self.runtime.stop()

    def test_row_major_is_y_x_k(self):
        data = words(H, W, 4)
        copy(self.runtime, "wide", data)
        for y in range(H):
            for x in range(W):
                np.testing.assert_array_equal(copy(self.runtime, "wide", place=(x, y, 1, 1)), data[y, x])
        np.testing.assert_array_equal(copy(self.runtime, "wide"), data.ravel())

    def test_column_major_is_the_fortran_order_of_y_x_k(self):
        data = words(H, W, 4)
        copy(self.runtime, "wide", data.ravel(order="F"), order=COL)
        np.testing.assert_array_equal(copy(self.runtime, "wide"), data.ravel())
        np.testing.assert_array_equal(copy(self.runtime, "wide", order=COL), data.ravel(order="F"))

    def test_a_part_of_the_rectangle(self):
        data = words(1, 2, 3)
        copy(self.runtime, "wide", data, place=(1, 1, 2, 1), count=3)
        everything = copy(self.runtime, "wide").reshape(H, W, 4)
        np.testing.assert_array_equal(everything[1, 1:, :3], data[0])
        self.assertEqual(int(everything.sum()), int(data.sum()))

    def test_broadcasts(self):
        options = {"streaming": False, "data_type": BITS32, "order": ROW, "nonblock": False}
        by_column = words(W, 4)
        self.runtime.memcpy_h2d_colbcast(self.runtime.get_id("wide"), by_column.ravel(), 0, 0, W, H, 4, **options)
        np.testing.assert_array_equal(copy(self.runtime, "wide").reshape(H, W, 4), np.broadcast_to(by_column, (H, W, 4)))
        by_row = words(H, 4, start=100)
        self.runtime.memcpy_h2d_rowbcast(self.runtime.get_id("wide"), by_row.ravel(), 0, 0, W, H, 4, **options)
        np.testing.assert_array_equal(copy(self.runtime, "wide").reshape(H, W, 4),
                                      np.broadcast_to(by_row[:, None, :], (H, W, 4)))

    def test_sixteen_bits_use_the_low_halves(self):
        data = words(H, W, 4) + np.uint32(0x50000)
        copy(self.runtime, "narrow", data, bits=BITS16)
        np.testing.assert_array_equal(copy(self.runtime, "narrow", bits=BITS16), data.ravel() & 0xFFFF)

    def test_strides_skip_rows_and_columns(self):
        options = {"streaming": False, "data_type": BITS32, "nonblock": False}
        data = words(1, 2, 4)
        self.runtime.memcpy_h2d_stride(self.runtime.get_id("wide"), data.ravel(), 0, 1, 3, 1, 4, 2, 1, order=ROW, **options)
        everything = copy(self.runtime, "wide").reshape(H, W, 4)
        np.testing.assert_array_equal(everything[1, [0, 2]], data[0])
        self.assertEqual(int(everything.sum()), int(data.sum()))
        tall = words(2, 2, 4, start=100)
        self.runtime.memcpy_h2d_stride(self.runtime.get_id("wide"), tall.transpose(2, 1, 0).ravel(), 0, 0, W, H, 4, 2, 1,
                                       order=COL, **options)
        np.testing.assert_array_equal(copy(self.runtime, "wide").reshape(H, W, 4)[:, [0, 2]], tall)
        with self.assertRaisesRegex(ValueError, "must be positive"):
            self.runtime.memcpy_h2d_stride(self.runtime.get_id("wide"), data.ravel(), 0, 0, W, H, 4, 0, 1, order=ROW, **options)
        with self.assertRaisesRegex(ValueError, "ask for 16 words"):
            self.runtime.memcpy_h2d_stride(self.runtime.get_id("wide"), data.ravel(), 0, 0, W, H, 4, 2, 1, order=ROW, **options)

    def test_floats_keep_their_bits(self):
        data = np.array([1.5, -0.0, np.inf, 3e-40] * 3, np.float32)
        copy(self.runtime, "real", data, count=2)
        result = copy(self.runtime, "real", count=2)
        np.testing.assert_array_equal(result, data.view(np.uint32))

    def test_launches_are_ordered_with_copies(self):
        copy(self.runtime, "wide", np.full((H, W, 4), 10, np.uint32), nonblock=True)
        self.runtime.launch("add", np.int16(-3), np.float32(0.5), nonblock=True)
        self.runtime.call("add", [np.int16(5), np.float32(0.25)], nonblock=True)
        np.testing.assert_array_equal(copy(self.runtime, "wide"), np.full(H * W * 4, 12, np.uint32))
        real = copy(self.runtime, "real", count=2).view(np.float32).reshape(-1, 2)
        np.testing.assert_array_equal(real[:, 0], np.full(H * W, 0.75, np.float32))
        self.runtime.launch("add", -2, 0.1)  # numbers without a type
        np.testing.assert_array_equal(copy(self.runtime, "wide"), np.full(H * W * 4, 10, np.uint32))
        real = copy(self.runtime, "real", count=2).view(np.float32).reshape(-1, 2)
        np.testing.assert_array_equal(real[:, 0], np.full(H * W, np.float32(0.75) + np.float32(0.1), np.float32))

    def test_nonblocking_results_come_with_the_wait(self):
        data = words(H, W, 4)
        copy(self.runtime, "wide", data, nonblock=True)
        result = np.zeros(H * W * 4, np.uint32)
        task = self.runtime.memcpy_d2h(result, self.runtime.get_id("wide"), 0, 0, W, H, 4, streaming=False, data_type=BITS32,
                                       order=ROW, nonblock=True)
        self.runtime.task_wait(task)
        self.assertTrue(self.runtime.is_task_done(task))
        np.testing.assert_array_equal(result, data.ravel())


class CopiesWse2(Copies):
    arch = "wse2"


class Refusals(unittest.TestCase):
    def setUp(self):
        self.out = program("copies", CODE, EXPORTS, W, H)

    def test_order_of_load_run_stop(self):
        runtime = SdkRuntime(self.out)
        symbol = runtime.get_id("wide")  # allowed before load
        for early in (runtime.run, runtime.stop, lambda: copy(runtime, symbol, words(H, W, 4)), lambda: runtime.launch("say")):
            with self.assertRaisesRegex(RuntimeError, "out of order: load"):
                early()
        with self.assertRaisesRegex(RuntimeError, r"load\(\) comes first"):
            runtime.dump_core(os.path.join(root, "early"))
        runtime.load()
        with self.assertRaisesRegex(RuntimeError, "out of order"):
            runtime.load()
        with self.assertRaisesRegex(RuntimeError, r"run\(\) comes next"):
            runtime.launch("say")
        runtime.run()
        with self.assertRaisesRegex(RuntimeError, "running already"):
            runtime.run()
        runtime.stop()
        with self.assertRaisesRegex(RuntimeError, "was stopped"):
            runtime.stop()

    def test_names_regions_and_sizes(self):
        runtime = started(self.out)
        with self.assertRaisesRegex(KeyError, "wyde.*wide"):
            runtime.get_id("wyde")
        with self.assertRaisesRegex((KeyError, ValueError), "ad2"):
            runtime.launch("ad2", nonblock=False)
        with self.assertRaisesRegex(ValueError, "3 x 2"):
            copy(runtime, "wide", words(H, W + 1, 4), place=(0, 0, W + 1, H))
        with self.assertRaises(ValueError):
            copy(runtime, "wide", words(1, 1, 4), place=(-1, 0, 1, 1))
        with self.assertRaisesRegex(ValueError, "ask for 24 words, the array has 23"):
            copy(runtime, "wide", words(23))
        with self.assertWarnsRegex(UserWarning, "ask for 24 words, the array has 25"):
            copy(runtime, "wide", words(25))
        runtime.stop()

    def test_types(self):
        runtime = started(self.out)
        symbol = runtime.get_id("wide")
        with self.assertRaisesRegex(TypeError, "32-bit words.*uint16"):
            copy(runtime, symbol, np.zeros(24, np.uint16))
        with self.assertRaisesRegex(TypeError, "MemcpyOrder"):
            copy(runtime, symbol, words(24), order=0)
        with self.assertRaisesRegex(TypeError, "MemcpyDataType"):
            copy(runtime, symbol, words(24), bits=32)
        with self.assertRaises(ValueError):
            runtime.launch("add", np.int16(1))
        with self.assertRaises(ValueError):
            runtime.launch("add", np.float32(1), np.float32(1))
        with self.assertRaisesRegex(ValueError, "argument 1 of 'add' is 70000, the type holds -32768 to 32767: the function takes 'i16'"):
            runtime.launch("add", 70000, 0.5)
        with self.assertRaisesRegex(ValueError, "argument 1 of 'add' is a float"):
            runtime.launch("add", 1.0, 0.5)
        with self.assertRaisesRegex(ValueError, "argument 2 of 'add' is an integer"):
            runtime.launch("add", 1, 2)
        with self.assertRaisesRegex(ValueError, "argument 2 of 'add' is 1e\\+300, which is too large"):
            runtime.launch("add", 1, 1e300)
        with self.assertRaisesRegex(ValueError, "argument 1 of 'add' is of type 'float64'"):
            runtime.launch("add", np.float64(1.0), 0.5)
        fixed = np.zeros(24, np.uint32)
        fixed.flags.writeable = False
        with self.assertRaisesRegex(ValueError, "read-only"):
            runtime.memcpy_d2h(fixed, symbol, 0, 0, W, H, 4, streaming=False, data_type=BITS32, order=ROW, nonblock=False)
        runtime.stop()

    def test_programs_that_are_none(self):
        with self.assertRaises((RuntimeError, ValueError, KeyError)):
            SdkRuntime(os.path.join(root, "nothing"))
        with self.assertRaisesRegex(RuntimeError, "CS system"):
            SdkRuntime(self.out, cmaddr="10.0.0.1:9000")

    def test_more_elements_than_the_array_has(self):
        for bits, symbol in ((BITS32, "wide"), (BITS16, "narrow")):
            runtime = started(self.out)
            with self.assertRaisesRegex(ValueError, f"'{symbol}'.*reaches beyond"):
                copy(runtime, symbol, words(1, 1, 5), place=(0, 0, 1, 1), count=5, bits=bits)

    def test_reading_more_elements_than_the_array_has_is_reported(self):
        script = f"""
import sys
sys.path.insert(0, {os.path.dirname(os.path.abspath(__file__))!r})
from kit import started
from test_runtime import copy
runtime = started({self.out!r})
copy(runtime, "wide", place=(0, 0, 1, 1), count=5)
runtime.stop()
"""
        done = subprocess.run([sys.executable, "-c", script], cwd=root, check=False, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("trap host-overread at PE (0, 0)", done.stderr)

    def test_a_missing_unblock_is_a_deadlock_with_a_reason(self):
        runtime = started(self.out)
        runtime.launch("forget", nonblock=True)
        with self.assertRaisesRegex(RuntimeError, "(?s)deadlock at cycle.*copy to 'wide' is not done on 6 of 6 PEs"):
            copy(runtime, "wide", words(H, W, 4))


SPIN = """
param memcpy_params: comptime_struct;
const sys = @import_module("<memcpy/memcpy>", memcpy_params);
var n: u32 = 0;
fn spin() void {
  while (n < 1 or n > 0) n += 1;
  sys.unblock_cmd_stream();
}
comptime {
  @export_symbol(spin);
}
"""


class Interrupts(unittest.TestCase):
    def interrupted(self, operation):
        out = program("spin", SPIN, "@export_name(\"spin\", fn ()void);", 1, 1)
        script = f"""
import os, signal, sys, threading
sys.path.insert(0, {os.path.dirname(os.path.abspath(__file__))!r})
from kit import started
runtime = started({out!r})
task = runtime.launch("spin", nonblock=True)
threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    {operation}
except KeyboardInterrupt:
    print("interrupted")
"""
        done = subprocess.run([sys.executable, "-c", script], cwd=root, check=False, capture_output=True, text=True, timeout=60)
        self.assertEqual((done.returncode, done.stdout), (0, "interrupted\n"), done.stderr)

    def test_control_c_ends_a_blocking_operation(self):
        self.interrupted("runtime.task_wait(task)")

    def test_control_c_ends_stop(self):
        self.interrupted("runtime.stop()")


class Options(unittest.TestCase):
    def run_with(self, *flags, **environment):
        script = os.path.join(root, "nothing.py")
        with open(script, "w", encoding="utf-8") as file:
            file.write("import sys\nfrom cerebras.sdk.runtime.sdkruntimepybind import SdkRuntime\nSdkRuntime(sys.argv[1]).load()\n")
        out = program("spin", SPIN, "@export_name(\"spin\", fn ()void);", 1, 1)
        return subprocess.run(["cs_python", *flags, script, out], cwd=root, check=False, capture_output=True, text=True,
                              env={**os.environ, **environment})

    def test_what_is_no_number_is_refused(self):
        for flag in ("--max-cycles=abc", "--picker=abc", "--picker=", "--max-cycles=12x"):
            done = self.run_with(flag)
            self.assertEqual(done.returncode, 2, flag)
            self.assertIn(f"'{flag}': expected a whole number", done.stderr)
        for name, value in (("SZARENA_MAX_CYCLES", "1e6"), ("SZARENA_PICKER_SEED", "-1"), ("SZARENA_TRAP", "foo")):
            done = self.run_with(**{name: value})
            self.assertNotEqual(done.returncode, 0, name)
            self.assertRegex(done.stderr, f"{name}='{value}'.*expected")
        self.assertEqual(self.run_with("--max-cycles=0x100", "--picker=7", "--trap=warn").returncode, 0)

    def test_an_endless_loop_is_named_at_the_limit(self):
        out = program("spin", SPIN, "@export_name(\"spin\", fn ()void);", 1, 1)
        script = os.path.join(root, "spin.py")
        with open(script, "w", encoding="utf-8") as file:
            file.write("import sys\nfrom cerebras.sdk.runtime.sdkruntimepybind import SdkRuntime\nr = SdkRuntime(sys.argv[1])\nr.load()\nr.run()\nr.launch('spin', nonblock=False)\n")
        for backend in ("bytecode", "auto"):
            done = subprocess.run(["cs_python", f"--backend={backend}", "--max-cycles=200000", script, out], cwd=root, check=False, capture_output=True, text=True)
            self.assertNotEqual(done.returncode, 0)
            self.assertRegex(done.stderr, r"after 200000 cycles, the limit that was given; PE \(0, 0\): function 'spin', launched by the host, runs, at .*pe\.csl:6")


STREAM = """
param memcpy_params: comptime_struct;
const sys = @import_module("<memcpy/memcpy>", memcpy_params);
const in_queue = @get_input_queue(2);
const out_queue = @get_output_queue(2);
const out = @get_dsd(fabout_dsd, .{ .extent = 1, .fabric_color = sys.MEMCPYD2H_1, .output_queue = out_queue });
task twice(x: u32) void {
  @mov32(out, x * 2, .{ .async = true });
}
comptime {
  if (@is_arch("wse3")) {
    @bind_data_task(twice, @get_data_task_id(in_queue));
    @initialize_queue(in_queue, .{ .color = sys.MEMCPYH2D_1 });
    @initialize_queue(out_queue, .{ .color = sys.MEMCPYD2H_1 });
  } else {
    @bind_data_task(twice, @get_data_task_id(sys.MEMCPYH2D_1));
  }
}
"""


class Streams(unittest.TestCase):
    def check(self, arch):
        out = program("stream", STREAM, "", 2, 2, arch=arch, extra=".MEMCPYH2D_1 = @get_color(2), .MEMCPYD2H_1 = @get_color(3)")
        runtime = started(out)
        data = words(2, 2, 5)
        copy(runtime, 2, data, place=(0, 0, 2, 2), count=5, streaming=True, nonblock=True)
        result = copy(runtime, 3, place=(0, 0, 2, 2), count=5, streaming=True)
        np.testing.assert_array_equal(result, 2 * data.ravel())
        runtime.stop()

    def test_wse2(self):
        self.check("wse2")

    def test_wse3(self):
        self.check("wse3")


ROUTES = """
param memcpy_params: comptime_struct;
const sys = @import_module("<memcpy/memcpy>", memcpy_params);
const place = @import_module("<layout>");
const lane = @get_color(6);
const in_queue = @get_input_queue(2);
const out_queue = @get_output_queue(3);
var words = @zeros([30]u32);
const array = @get_dsd(mem1d_dsd, .{ .tensor_access = |i|{30} -> words[i] });
const in = @get_dsd(fabin_dsd, .{ .extent = 30, .fabric_color = lane, .input_queue = in_queue });
const out = @get_dsd(fabout_dsd, .{ .extent = 30, .fabric_color = lane, .output_queue = out_queue });
fn go() void {
  if (place.get_x_coord() == 0) {
    @mov32(out, 1, .{ .async = true });
  } else {
    @mov32(array, in);
  }
  sys.unblock_cmd_stream();
}
comptime {
  @initialize_queue(in_queue, .{ .color = lane });
  @initialize_queue(out_queue, .{ .color = lane });
  @export_symbol(go);
}
"""
STREAM_SHORT = STREAM.replace("x * 2, .{ .async = true });", "x * 2, .{ .async = true });\n  @block(in_queue);")


class Deadlocks(unittest.TestCase):
    def report(self, name, routes, width=2, height=1):
        out = program(name, ROUTES, "@export_name(\"go\", fn ()void);\n" + routes, width, height)
        runtime = started(out)
        with self.assertRaises(RuntimeError) as raised:
            runtime.launch("go", nonblock=False)
        return str(raised.exception)

    SEND_EAST = "for (@range(i16, ROWS)) |y| { @set_color_config(0, y, @get_color(6), .{ .routes = .{ .rx = .{ RAMP }, .tx = .{ EAST } } }); }\n"

    def test_a_router_without_a_configuration_says_so(self):
        report = self.report("no_configuration", self.SEND_EAST)
        self.assertRegex(report, r"PE \(1, 0\), since cycle [1-9]\d*: router: 2 wavelets on colour 6 from WEST wait: "
                                 r"the PE has no configuration for colour 6: give it one with WEST in \.rx")

    def test_a_router_that_takes_from_elsewhere_says_what_it_takes(self):
        report = self.report("takes_north", self.SEND_EAST + "@set_color_config(1, 0, @get_color(6), "
                             ".{ .routes = .{ .rx = .{ NORTH }, .tx = .{ RAMP } } });")
        self.assertRegex(report, r"PE \(1, 0\), since cycle [1-9]\d*: router: 2 wavelets on colour 6 from WEST wait: the route "
                                 r"here \(switch position 0\) has \.rx = \.\{ NORTH \}, \.tx = \.\{ RAMP \}, so it takes none from "
                                 r"WEST: add WEST to \.rx")

    def test_who_waits_is_listed_as_ranges(self):
        report = self.report("ranges", self.SEND_EAST, 4, 3)
        self.assertIn("[9 PEs of the class: (1..3, 0..2)]", report)

    def test_routes_in_a_circle_are_named(self):
        report = self.report("circle", "@set_color_config(0, 0, @get_color(6), .{ .routes = .{ .rx = .{ RAMP, EAST }, .tx = .{ EAST } } });"
                             "@set_color_config(1, 0, @get_color(6), .{ .routes = .{ .rx = .{ WEST }, .tx = .{ WEST } } });")
        self.assertRegex(report, r"trap route-loop at PE \(\d, 0\), cycle \d+: the routes of colour 6 lead in a circle of 2 PEs")

    def test_what_still_waits_at_the_end_is_reported(self):
        code = ROUTES.replace("if (place.get_x_coord() == 0)", "if (place.get_x_coord() == 9)").replace("@mov32(array, in);", "@mov32(array, in, .{ .async = true });")
        out = program("pending", code, "@export_name(\"go\", fn ()void);", 1, 1)
        script = f"""
import sys
sys.path.insert(0, {os.path.dirname(os.path.abspath(__file__))!r})
from kit import started
runtime = started({out!r})
runtime.launch("go", nonblock=False)
runtime.stop()
"""
        done = subprocess.run([sys.executable, "-c", script], cwd=root, check=False, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, r"pe\.csl:\d+: trap pending-operation at PE \(0, 0\).*@mov32 still waits: input queue 2 \(colour 6\) is empty \(0 of 30")

    def test_a_stream_says_how_far_it_came(self):
        out = program("stream_short", STREAM_SHORT, "", 1, 1, extra=".MEMCPYH2D_1 = @get_color(2), .MEMCPYD2H_1 = @get_color(3)")
        runtime = started(out)
        copy(runtime, 2, words(1, 1, 5), place=(0, 0, 1, 1), count=5, streaming=True, nonblock=True)
        with self.assertRaisesRegex(RuntimeError, r"host: stream out of colour 3.* is not done on 1 of 1 PEs: at PE \(0, 0\) 1 of 5 words "
                                                  r"received; 4 more on colour 3 would end it"):
            copy(runtime, 3, place=(0, 0, 1, 1), count=5, streaming=True)


class Debugging(unittest.TestCase):
    def test_symbols_traces_and_prints(self):
        script = f"""
import sys
sys.path.insert(0, {os.path.dirname(os.path.abspath(__file__))!r})
import numpy as np
from kit import started
runtime = started({program("copies", CODE, EXPORTS, W, H)!r})
runtime.launch("say", nonblock=False)
runtime.stop()
"""
        done = subprocess.run([sys.executable, "-c", script], cwd=root, check=False, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("{-3} 00ff 0000000000000101 2.500000", done.stdout.lower())

        runtime = started(program("copies", CODE, EXPORTS, W, H))
        copy(runtime, "wide", words(H, W, 4))
        runtime.launch("say", nonblock=False)
        runtime.stop()
        debug = debug_util(program("copies", CODE, EXPORTS, W, H))
        x0, y0 = runtime.coord_logical_to_physical((0, 0))
        self.assertEqual((x0, y0), (4, 1))
        np.testing.assert_array_equal(debug.get_symbol(x0 + 1, y0 + 1, "wide", np.uint32), words(H, W, 4)[1, 1])
        block = debug.get_symbol_rect(((x0, y0), (W, H)), "wide", np.uint32)
        np.testing.assert_array_equal(block, words(H, W, 4).transpose(1, 0, 2))
        self.assertEqual(debug.read_trace(x0 + 2, y0, "log"), [2, -5, 0.25, True, "end"])
        core = os.path.join(root, "core.json")
        runtime.dump_core(core)
        dumped = debug_util(core)
        np.testing.assert_array_equal(dumped.get_symbol_rect(((x0, y0), (W, H)), "wide", np.uint32), block)
        self.assertEqual(dumped.read_trace(x0 + 2, y0, "log"), [2, -5, 0.25, True, "end"])
        for source in (debug, dumped):
            with self.assertRaises((KeyError, ValueError)):
                source.get_symbol(x0, y0, "nothing", np.uint32)
            with self.assertRaises(ValueError):
                source.get_symbol(x0 + W, y0, "wide", np.uint32)
        with open(os.path.join(root, "sim.log"), encoding="utf-8") as file:
            self.assertIn("{-3} 00FF 0000000000000101 2.500000", file.read())
        with self.assertRaisesRegex(RuntimeError, "no run of"):
            debug_util(os.path.join(root, "never_run"))


if __name__ == "__main__":
    os.chdir(root)
    unittest.main(verbosity=1)

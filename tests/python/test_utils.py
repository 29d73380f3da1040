# SPDX-License-Identifier: Apache-2.0
"""sdk_utils: views and words, time stamps, options."""
import unittest

from kit import np, program
from cerebras.sdk import sdk_utils
from cerebras.sdk.runtime import runtime_utils


class Words(unittest.TestCase):
    def test_views_are_of_the_low_bytes(self):
        array = np.array([0x11223344, 0xFFFF8001], np.uint32)
        np.testing.assert_array_equal(sdk_utils.memcpy_view(array, np.uint16), [0x3344, 0x8001])
        np.testing.assert_array_equal(sdk_utils.memcpy_view(array, np.int16), [0x3344, -0x7FFF])
        np.testing.assert_array_equal(sdk_utils.memcpy_view(array, np.uint8), [0x44, 0x01])
        sdk_utils.memcpy_view(array, np.uint16)[0] = 7
        self.assertEqual(int(array[0]), 0x11220007)
        for bad in (np.zeros(2, np.uint16), np.zeros((4, 4), np.uint32)[:, ::2]):
            with self.assertRaises(ValueError):
                sdk_utils.memcpy_view(bad, np.uint16)
        with self.assertRaises(ValueError):
            sdk_utils.memcpy_view(array, np.float64)

    def test_sixteen_bit_inputs(self):
        values = np.array([[1, -1], [2, -2]], np.int16)
        np.testing.assert_array_equal(sdk_utils.input_array_to_u32(values, None, 2), [1, 0xFFFF, 2, 0xFFFE])
        np.testing.assert_array_equal(sdk_utils.input_array_to_u32(values, 0, 2), [1, 0x1FFFF, 2, 0x1FFFE])
        np.testing.assert_array_equal(sdk_utils.input_array_to_u32(values, 0, 4), [1, 0x1FFFF, 0x20002, 0x3FFFE])
        np.testing.assert_array_equal(sdk_utils.input_array_to_u32(np.array([1.0], np.float32), None, 1), [0x3F800000])
        with self.assertRaises(ValueError):
            sdk_utils.input_array_to_u32(np.zeros(2, np.uint8), None, 1)

    def test_scalars(self):
        for value, bits in ((np.float32(1.0), 0x3F800000), (1.0, 0x3F800000), (np.float16(1.0), 0x3C00), (np.int16(-1), 0xFFFFFFFF),
                            (-1, 0xFFFFFFFF), (np.uint16(65535), 65535), (True, 1), (0xFFFFFFFF, 0xFFFFFFFF)):
            self.assertEqual(int(sdk_utils.cast_uint32(value)), bits, value)
        for value in (1 << 32, -(1 << 31) - 1):
            with self.assertRaises(ValueError):
                sdk_utils.cast_uint32(value)
        with self.assertRaises(TypeError):
            sdk_utils.cast_uint32("1")
        self.assertEqual(sdk_utils.float_to_hex(-2.0), "0xc0000000")

    def test_time_stamps(self):
        self.assertEqual(sdk_utils.make_u48([1, 2, 3]), 1 + (2 << 16) + (3 << 32))
        self.assertEqual(sdk_utils.sub_ts([0xFFFF, 0, 0, 1, 1, 0]), 2)
        start, end = [0xFFFE, 1, 0], [3, 2, 0]
        packed = np.array([start[0] | start[1] << 16, start[2] | end[0] << 16, end[1] | end[2] << 16], np.uint32)
        self.assertEqual(sdk_utils.calculate_cycles(packed.view(np.float32)), 5)

    def test_options_and_interface(self):
        for options in ("--arch=wse3 -o built", ["-o=built"], ["-o", "built"]):
            self.assertEqual(sdk_utils.getOutputNameFromCompileOptions(options), "built")
        self.assertEqual(sdk_utils.getOutputNameFromCompileOptions("--memcpy"), "out")
        code = """
param memcpy_params: comptime_struct;
const sys = @import_module("<memcpy/memcpy>", memcpy_params);
fn f(n: i16) void { sys.unblock_cmd_stream(); }
comptime { @export_symbol(f); }
"""
        interface = sdk_utils.get_api_info_dict(program("interface", code, '@export_name("f", fn (i16)void);', 1, 1))
        self.assertIn("f", [symbol["name"] for symbol in interface["rpc_symbols"]])


class PortMaps(unittest.TestCase):
    """Of SDK 0.9: cerebras.sdk.runtime.runtime_utils."""

    def test_there_and_back(self):
        portmap = "{ A[i=0:3][j=0:2] -> [PE[1 + i // 2, j % 3] -> index[i % 2]] }"
        tensor = np.arange(12, dtype=np.float32).reshape(4, 3)
        px, py, w, h, l, data = runtime_utils.convert_input_tensor(portmap, tensor)
        self.assertEqual((px, py, w, h, l), (1, 0, 2, 3, 2))
        # PE (1, 0) holds A[0][0] and A[1][0], PE (2, 0) A[2][0] and A[3][0]; then the next row.
        np.testing.assert_array_equal(data.view(np.float32), [0, 3, 6, 9, 1, 4, 7, 10, 2, 5, 8, 11])
        self.assertEqual(runtime_utils.prepare_output_tensor(portmap, np.float32)[:5], (1, 0, 2, 3, 2))
        np.testing.assert_array_equal(runtime_utils.format_output_tensor(portmap, np.float32, data), tensor)

    def test_an_index_of_several_dimensions_is_row_major(self):
        portmap = "{ B[i=0:3][j=0:1] -> [PE[i//2, 0] ->  index[i%2, j]] }"
        data = runtime_utils.convert_input_tensor(portmap, np.arange(8, dtype=np.int16).reshape(4, 2))[5]
        np.testing.assert_array_equal(data, range(8))

    def test_what_is_no_port_map_is_refused(self):
        for bad in ("A[i=0:3]", "{ A[i=0:3] -> [PE[i] -> index[i]] }", "{ A[i=0:3] -> [PE[i, 0] -> index[foo(i)]] }", "{ A[i=0:3] -> [PE[0, 0] -> index[i // 2]] }",
                    "{ A[i=0:2] -> [PE[i // 2, 0] -> index[i % 2]] }"):
            with self.assertRaises(ValueError, msg=bad):
                runtime_utils.prepare_output_tensor(bad, np.float32)
        with self.assertRaises(ValueError):
            runtime_utils.convert_input_tensor("{ A[i=0:3] -> [PE[i, 0] -> index[0]] }", np.zeros(5, np.float32))


if __name__ == "__main__":
    unittest.main(verbosity=1)

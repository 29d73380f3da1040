# SPDX-License-Identifier: Apache-2.0
"""Reads symbols and traces of a program after SdkRuntime.stop(). Coordinates are those of the whole fabric."""
import os
import struct

import numpy as np

from cerebras.sdk.runtime import sdkruntimepybind


class debug_util:  # the SDK's spelling
    def __init__(self, bindir, cmaddr=None):
        del cmaddr
        path = os.path.abspath(bindir)
        if path not in sdkruntimepybind.stopped_runtimes:
            raise RuntimeError(f"debug_util: no run of '{bindir}' was stopped in this process; call SdkRuntime.stop() first")
        self._runtime = sdkruntimepybind.stopped_runtimes[path]

    def get_symbol(self, col, row, symbol, dtype):
        """The symbol of the PE in column `col` and row `row`, as an array of `dtype`."""
        return self._runtime.read_symbol(col, row, symbol, dtype)

    def get_symbol_rect(self, rectangle, symbol, dtype):
        """rectangle = ((col, row), (width, height)); an array of shape (width, height, elements)."""
        (col, row), (width, height) = rectangle
        return np.stack([np.stack([self.get_symbol(col + x, row + y, symbol, dtype) for y in range(height)])
                         for x in range(width)])

    def read_trace(self, px, py, key):
        """The values that the <debug> module imported with `.key = key` recorded on this PE, as Python objects."""
        return decode_trace(bytes(self.get_symbol(px, py, "__debug_" + key, np.uint8)))


# Records of the <debug> library: one tag word, then the value in 16-bit words, low word first.
_FORMATS = {1: "<?x", 2: "<Bx", 3: "<bx", 4: "<H", 5: "<h", 6: "<e", 7: "<I", 8: "<i", 9: "<f"}


def decode_trace(data):
    """The records of a trace buffer: word 0 is the number of words used, the rest are records."""
    used = struct.unpack_from("<H", data)[0]
    at, end, values = 2, 2 + 2 * used, []
    while at < end:
        tag = struct.unpack_from("<H", data, at)[0]
        at += 2
        if tag in _FORMATS:
            values.append(struct.unpack_from(_FORMATS[tag], data, at)[0])
            at += struct.calcsize(_FORMATS[tag])
        elif tag == 10:  # time stamp
            low, middle, high = struct.unpack_from("<HHH", data, at)
            values.append(low | middle << 16 | high << 32)
            at += 6
        elif tag == 11:  # string: length in bytes, then the bytes, padded to a whole word
            size = struct.unpack_from("<H", data, at)[0]
            values.append(data[at + 2:at + 2 + size].decode("utf-8", "replace"))
            at += 2 + (size + 1) // 2 * 2
        else:
            raise ValueError(f"trace buffer: unknown record tag {tag} at byte {at - 2}")
    return values

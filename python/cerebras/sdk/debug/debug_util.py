# SPDX-License-Identifier: Apache-2.0
"""Reads symbols and traces of a program after SdkRuntime.stop(). Coordinates are those of the whole fabric."""
import os

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
        return self._runtime.read_trace(px, py, key)

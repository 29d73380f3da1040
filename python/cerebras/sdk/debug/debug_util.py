# SPDX-License-Identifier: Apache-2.0
"""Reads symbols and traces of a program after SdkRuntime.stop(). Coordinates are those of the whole fabric."""
import base64
import json
import os

import numpy as np

from cerebras.sdk.runtime import sdkruntimepybind


class _Core:
    """A file that SdkRuntime.dump_core wrote."""

    def __init__(self, path):
        self._path = path
        with open(path, encoding="utf-8") as file:
            core = json.load(file)
        if not isinstance(core, dict) or core.get("format") != sdkruntimepybind.CORE_FORMAT:
            raise ValueError(f"debug_util: '{path}' is no file of SdkRuntime.dump_core")
        self._pes = core["pes"]

    def _pe(self, x, y):
        if f"{x},{y}" not in self._pes:
            raise ValueError(f"debug_util: PE ({x}, {y}) is outside of the program of '{self._path}'")
        return self._pes[f"{x},{y}"]

    def read_symbol(self, x, y, name, dtype="uint8"):
        symbols = self._pe(x, y)["symbols"]
        if name not in symbols:
            raise KeyError(f"PE ({x}, {y}) has no symbol '{name}'; known: {', '.join(sorted(symbols))}")
        return np.frombuffer(base64.b64decode(symbols[name]), dtype=np.uint8).view(np.dtype(dtype)).copy()

    def read_trace(self, x, y, key):
        return self._pe(x, y)["traces"].get(key, [])


class debug_util:  # the SDK's spelling
    """`bindir`: the directory of a program that was stopped in this process, or that was run with
    SimfabConfig(dump_core=True) in another one; or a file of SdkRuntime.dump_core."""

    def __init__(self, bindir, cmaddr=None):
        del cmaddr
        path = os.path.abspath(bindir)
        dumped = os.path.join(path, "core.json")
        if path in sdkruntimepybind.stopped_runtimes:
            self._runtime = sdkruntimepybind.stopped_runtimes[path]
        elif os.path.isfile(path):
            self._runtime = _Core(path)
        elif os.path.isfile(dumped):
            self._runtime = _Core(dumped)
        else:
            raise RuntimeError(f"debug_util: no run of '{bindir}' was stopped in this process, and there is no {dumped}: call "
                               "SdkRuntime.stop() first, or run it with SimfabConfig(dump_core=True)")

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

# SPDX-License-Identifier: Apache-2.0
"""The host runtime: loads a compiled program onto the simulated fabric, copies data, launches functions."""
import base64
import enum
import json
import os
import warnings

import numpy as np

from cerebras.sdk.runtime import _sdkhost
from cerebras.sdk.runtime.platform import (SdkCompileArtifacts, SdkExecutionPlatform, SdkTarget,
                                           SimfabConfig, get_platform, get_simulator, get_system)
from cerebras.sdk.runtime.sdklayout import (FP16TYPE, CodeRegion, Color, Edge, EdgeRouteInfo, PortHandle, Route,
                                            RoutingPosition, SdkLayout, get_edge_routing)
from cerebras.sdk.sdk_utils import cast_uint32

__all__ = ["SdkRuntime", "MemcpyDataType", "MemcpyOrder", "Task", "SdkTarget", "SimfabConfig",
           "SdkExecutionPlatform", "SdkCompileArtifacts", "get_platform", "get_simulator", "get_system",
           "SdkLayout", "CodeRegion", "FP16TYPE", "Color", "Edge", "EdgeRouteInfo", "PortHandle", "Route", "RoutingPosition",
           "get_edge_routing"]


class MemcpyDataType(enum.Enum):
    """Width of the elements on the PE; host arrays always hold one element in each 32-bit word."""
    MEMCPY_16BIT = 0
    MEMCPY_32BIT = 1


class MemcpyOrder(enum.Enum):
    """ROW_MAJOR: host index ((y*w)+x)*l+k. COL_MAJOR: host index ((k*w)+x)*h+y."""
    ROW_MAJOR = 0
    COL_MAJOR = 1


class Task:
    """A queued host operation. Its result is valid once it is done."""

    def __init__(self, ticket):
        self.ticket = ticket


#: What dump_core writes into its file as the format's name.
CORE_FORMAT = "szarena-core-1"


def write_file(path, text):
    """Writes a file as a whole or not at all."""
    temporary = f"{path}.{os.getpid()}.new"
    with open(temporary, "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(temporary, path)


#: Runtimes that were stopped in this process, by absolute path of their program: read by debug_util.
stopped_runtimes = {}


class SdkRuntime:
    """Drives one compiled program. Order of use: load(), run(), copies and launches, stop()."""

    def __init__(self, bindir=None, platform=None, *, artifacts=None, cmaddr=None, suppress_simfab_trace=False,
                 simfab_numthreads=None, msg_level="WARNING", memcpy_required=True, simulator=True):
        """`bindir` or `artifacts`: the directory of a compiled program, or its SdkCompileArtifacts."""
        if (bindir is None) == (artifacts is None):
            raise TypeError("SdkRuntime: expected the directory of a compiled program, or its artifacts")
        if cmaddr:
            raise RuntimeError(f"SdkRuntime: cmaddr '{cmaddr}' names a CS system; this runtime drives the simulated "
                               "fabric only: leave cmaddr out")
        program = bindir if artifacts is None else artifacts
        if not isinstance(program, SdkCompileArtifacts):
            program = SdkCompileArtifacts(program)
        self._bindir = os.path.abspath(program.path)
        config = platform.config if platform is not None else None
        threads = simfab_numthreads or (config.num_threads if config else 0) or 0
        self._patches, self._streams = program.patches, program.streams
        self._runtime = _sdkhost.Runtime(self._bindir, int(threads), bool(memcpy_required))
        self._core_path = None
        if config is not None and config.dump_core:
            self._core_path = config.core_path or os.path.join(self._bindir, "core.json")
        self._pending = []  # keeps arrays of queued operations alive, and what to copy back
        self._state = "new"
        del suppress_simfab_trace, msg_level, simulator

    def __enter__(self):
        self.load()
        self.run()
        return self

    def __exit__(self, kind, value, trace):
        if kind is None:
            self.stop()

    # life cycle

    def load(self):
        """Places the program on the fabric."""
        self._need("new", "load()")
        self._runtime.load()
        for x, y, name, words in self._patches:
            self._runtime.write_symbol(x, y, name, np.ascontiguousarray(words).view(np.uint8).ravel())
        self._state = "loaded"

    def run(self):
        """Starts the fabric; from here on copies and launches are served."""
        self._need("loaded", "run()")
        self._runtime.run()
        self._state = "running"

    def stop(self):
        """Finishes every queued operation, lets the fabric come to rest, and ends the run."""
        self._need("running", "stop()")
        try:
            self._finish_all()
        except KeyboardInterrupt:  # nothing more runs; what was left over is not looked for
            self._state = "stopped"
            raise
        except BaseException:
            self._stop_runtime()
            raise
        self._stop_runtime()
        stopped_runtimes[self._bindir] = self
        if self._core_path:
            self.dump_core(self._core_path)

    def _stop_runtime(self):
        self._state = "stopped"
        try:
            self._runtime.stop()
        finally:
            self._write_log()

    def _write_log(self):
        """What the program printed with <simprint>, into sim.log of the working directory."""
        lines = self._runtime.printed()
        try:
            write_file("sim.log", "".join(line + "\n" for line in lines))
        except OSError:
            if lines:  # an empty log is only for scripts that move it away
                raise

    def _need(self, state, what):
        if self._state != state:
            order = {"new": "load() comes first", "loaded": "run() comes next",
                     "running": "it is running already", "stopped": "it was stopped"}
            raise RuntimeError(f"SdkRuntime.{what} is out of order: {order[self._state]}")

    # names

    def get_id(self, name):
        """The id of an exported symbol, or the value of an exported colour."""
        return self._runtime.symbol_id(name)

    get_symbol = get_id  # so called in an example of the documentation

    def get_port_id(self, port_name):
        """A number for a host stream, which send() and receive() take in place of its name."""
        self._stream(port_name)
        return list(self._streams).index(port_name)

    def coord_logical_to_physical(self, coords):
        """Fabric coordinates of a PE of the program rectangle."""
        x0, y0 = self._runtime.offset()
        return (coords[0] + x0, coords[1] + y0)

    # copies

    def memcpy_h2d(self, dest, src, px, py, w, h, elem_per_pe, *, streaming, data_type, order, nonblock):
        """Copies w*h*elem_per_pe words to a symbol (copy mode) or onto a colour (streaming) of a rectangle of PEs."""
        return self._h2d(dest, src, px, py, w, h, elem_per_pe, streaming, data_type, order, nonblock, 0)

    def memcpy_h2d_colbcast(self, dest, src, px, py, w, h, elem_per_pe, *, streaming, data_type, order, nonblock):
        """As memcpy_h2d with w*elem_per_pe words: every PE of a column gets the column's data."""
        return self._h2d(dest, src, px, py, w, h, elem_per_pe, streaming, data_type, order, nonblock, 1)

    def memcpy_h2d_rowbcast(self, dest, src, px, py, w, h, elem_per_pe, *, streaming, data_type, order, nonblock):
        """As memcpy_h2d with h*elem_per_pe words: every PE of a row gets the row's data."""
        return self._h2d(dest, src, px, py, w, h, elem_per_pe, streaming, data_type, order, nonblock, 2)

    def memcpy_h2d_stride(self, dest, src, px, py, w, h, elem_per_pe, row_stride, col_stride, *, streaming, data_type,
                          order, nonblock):
        """As memcpy_h2d to some PEs of a rectangle of w x h: in a row every row_stride-th PE, from the first on, in a column every
        col_stride-th. `src` holds the data of these PEs only, in the order of memcpy_h2d for a rectangle of their number."""
        if row_stride < 1 or col_stride < 1:
            raise ValueError(f"memcpy_h2d_stride: row_stride {row_stride} and col_stride {col_stride} must be positive")
        columns, rows = range(px, px + w, row_stride), range(py, py + h, col_stride)
        words = self._words(src, len(columns) * len(rows) * elem_per_pe, "memcpy_h2d_stride")
        if self._is_col_major(order):
            by_pe = words.reshape(elem_per_pe, len(columns), len(rows)).transpose(2, 1, 0)
        else:
            by_pe = words.reshape(len(rows), len(columns), elem_per_pe)
        last = None
        for part, y in zip(by_pe, rows):
            for words_of_pe, x in zip(part, columns):
                last = self._h2d(dest, np.ascontiguousarray(words_of_pe), x, y, 1, 1, elem_per_pe, streaming, data_type,
                                 order, True, 0)
        return self._end(last, nonblock)

    def memcpy_d2h(self, dest, src, px, py, w, h, elem_per_pe, *, streaming, data_type, order, nonblock):
        """Copies a symbol (copy mode) or what arrives on a colour (streaming) of a rectangle of PEs to `dest`."""
        self._need("running", "memcpy_d2h")
        size = w * h * elem_per_pe
        self._check_array(dest, size, "memcpy_d2h", writable=True)
        buffer = np.zeros(size, np.uint32)
        ticket = self._runtime.d2h(buffer, int(src), px, py, w, h, elem_per_pe, bool(streaming),
                                   self._is_16bit(data_type), self._is_col_major(order))
        self._pending.append((ticket, buffer, dest))
        return self._end(Task(ticket), nonblock)

    def _h2d(self, dest, src, px, py, w, h, elem_per_pe, streaming, data_type, order, nonblock, broadcast):
        self._need("running", "memcpy_h2d")
        size = (w * h, w, h)[broadcast] * elem_per_pe
        words = self._words(src, size, "memcpy_h2d")
        ticket = self._runtime.h2d(int(dest), words, px, py, w, h, elem_per_pe, bool(streaming),
                                   self._is_16bit(data_type), self._is_col_major(order), broadcast)
        return self._end(Task(ticket), nonblock)

    @staticmethod
    def _is_16bit(data_type):
        if not isinstance(data_type, MemcpyDataType):
            raise TypeError(f"data_type: expected a MemcpyDataType, got {data_type!r}")
        return data_type is MemcpyDataType.MEMCPY_16BIT

    @staticmethod
    def _is_col_major(order):
        if not isinstance(order, MemcpyOrder):
            raise TypeError(f"order: expected a MemcpyOrder, got {order!r}")
        return order is MemcpyOrder.COL_MAJOR

    @staticmethod
    def _check_array(array, size, what, writable=False):
        if not isinstance(array, np.ndarray):
            raise TypeError(f"{what}: expected a numpy array, got {type(array).__name__}")
        if array.dtype.itemsize != 4:
            raise TypeError(f"{what}: host arrays hold 32-bit words; this one holds {array.dtype} "
                            "(widen 16-bit data with sdk_utils.input_array_to_u32)")
        if array.size > size and not writable:
            warnings.warn(f"{what}: the rectangle and elem_per_pe ask for {size} words, the array has {array.size}: the rest stays here", stacklevel=4)
        elif array.size != size:
            raise ValueError(f"{what}: the rectangle and elem_per_pe ask for {size} words, the array has {array.size}")
        if not array.flags["C_CONTIGUOUS"]:
            raise ValueError(f"{what}: the array must be contiguous in C order (use numpy.ascontiguousarray or ravel)")
        if writable and not array.flags["WRITEABLE"]:
            raise ValueError(f"{what}: the array is read-only")

    def _words(self, src, size, what):
        self._check_array(src, size, what)
        return src.ravel()[:size].view(np.uint32)

    # launches

    def launch(self, name, *args, nonblock=False):
        """Runs the exported function `name` on every PE of the program rectangle."""
        self._need("running", f"launch('{name}')")
        return self._end(Task(self._runtime.launch(name, [self._argument(a) for a in args])), nonblock)

    def call(self, name, args=(), nonblock=False):
        """The older form of launch: the arguments as a list of 32-bit words."""
        self._need("running", f"call('{name}')")
        return self._end(Task(self._runtime.launch(name, [(int(cast_uint32(a)), "") for a in args])), nonblock)

    @staticmethod
    def _argument(value):
        """A number and "int" or "float", which the parameter's type decides about, or the word of a typed value and its type."""
        if isinstance(value, np.generic):
            return int(cast_uint32(value)), value.dtype.name
        if type(value) is int:
            if not -(1 << 63) <= value < (1 << 63):
                raise ValueError(f"launch: {value} does not fit 32 bits")
            return value, "int"
        if type(value) is float:
            return value, "float"
        return int(cast_uint32(value)), type(value).__name__

    # waiting

    def is_task_done(self, task):
        done = self._runtime.done(task.ticket)
        if done:
            self._collect()
        return done

    def task_wait(self, task):
        self._runtime.wait(task.ticket)
        self._collect()

    def _end(self, task, nonblock):
        if not nonblock and task is not None:
            self.task_wait(task)
        return task

    def _finish_all(self):
        self._runtime.wait_all()
        self._collect()

    def _collect(self):
        """Hands the data of finished device-to-host copies to the arrays of the caller."""
        waiting = []
        for ticket, buffer, dest in self._pending:
            if self._runtime.done(ticket):
                flat = dest.reshape(-1).view(np.uint32)
                flat[:] = buffer[:flat.size]
            else:
                waiting.append((ticket, buffer, dest))
        self._pending = waiting

    # streams of an SdkLayout program

    def send(self, port, src, n_wavelets=None, nonblock=False):
        """Sends the words of `src`, or the first `n_wavelets` of them, into an input stream. 16-bit elements are sent in the low
        halves of wavelets."""
        self._need("running", "send")
        words = np.ascontiguousarray(src).ravel()
        if words.dtype.itemsize == 2:
            words = words.view(np.uint16).astype(np.uint32)
        if words.dtype.itemsize != 4:
            raise TypeError(f"send: expected an array of 32-bit or 16-bit elements, got {words.dtype}")
        words = words.view(np.uint32)
        if n_wavelets is not None and not 0 <= n_wavelets <= words.size:
            raise ValueError(f"send: {n_wavelets} wavelets are asked for, the array has {words.size} elements")
        return self._end(Task(self._runtime.send(self._stream(port), words[:n_wavelets])), nonblock)

    def receive(self, port, dest, n_wavelets, nonblock=False):
        """Receives `n_wavelets` words from an output stream into `dest`, an array of 32-bit elements."""
        self._need("running", "receive")
        if dest.dtype.itemsize != 4:
            raise TypeError(f"receive: expected an array of 32-bit elements, got {dest.dtype}")
        if dest.size < n_wavelets:
            raise ValueError(f"receive: {n_wavelets} words do not fit an array of {dest.size}")
        if not dest.flags["C_CONTIGUOUS"]:
            raise ValueError("receive: the array must be contiguous in C order")
        buffer = np.zeros(n_wavelets, np.uint32)
        ticket = self._runtime.receive(self._stream(port), buffer)
        self._pending.append((ticket, buffer, dest.reshape(-1)[:n_wavelets]))
        return self._end(Task(ticket), nonblock)

    def receive_tofile(self, port, outfile, n_wavelets=None, nonblock=False):
        """As receive, into a file of raw little-endian words."""
        if n_wavelets is None:
            raise TypeError("receive_tofile: n_wavelets is needed here: the simulated fabric ends a run when nothing moves any more, "
                            "so an endless receive could not be told from a deadlock")
        array = np.zeros(n_wavelets, np.uint32)
        task = self.receive(port, array, n_wavelets, nonblock=False)
        array.tofile(outfile)
        del nonblock
        return task

    def report_port_infos(self):
        return dict(self._streams)

    def _stream(self, port):
        name = getattr(port, "name", port)
        if isinstance(name, int) and 0 <= name < len(self._streams):
            name = list(self._streams)[name]
        if name not in self._streams:
            raise KeyError(f"no stream '{name}' in this program; known: {', '.join(self._streams) or 'none'}")
        return self._streams[name]

    # looking inside

    def read_symbol(self, x, y, name, dtype="uint8"):
        """The bytes of a symbol of the PE at fabric coordinates (x, y), as an array of `dtype`."""
        return np.frombuffer(self._runtime.read_symbol(x, y, name), dtype=np.uint8).view(np.dtype(dtype)).copy()

    def read_trace(self, x, y, key):
        """What the <debug> module with this key recorded on the PE at fabric coordinates (x, y)."""
        return self._runtime.read_trace(x, y, key)

    def dump_core(self, path):
        """Writes all symbols and <debug> records to a file that debug_util reads, also in another process."""
        if self._state == "new":
            raise RuntimeError("SdkRuntime.dump_core: nothing is loaded yet: load() comes first")
        (x0, y0), (width, height) = self._runtime.offset(), self._runtime.size()
        pes = {}
        for y in range(y0, y0 + height):
            for x in range(x0, x0 + width):
                symbols = {name: base64.b64encode(self._runtime.read_symbol(x, y, name)).decode("ascii")
                           for name in self._runtime.symbols(x, y)}
                traces = {key: self._runtime.read_trace(x, y, key) for key in self._runtime.trace_keys(x, y)}
                pes[f"{x},{y}"] = {"symbols": symbols, "traces": traces}
        write_file(path, json.dumps({"format": CORE_FORMAT, "pes": pes}))

    dump_elf_core = dump_core

    def cycles(self):
        """The fabric's clock, in cycles of the cost model (an estimate, see `cslc --print-cost-model`)."""
        return self._runtime.cycles()

    def statistics(self):
        """What the program did: cycles busy, stalled and idle, operations, wavelets, host traffic."""
        return self._runtime.statistics()

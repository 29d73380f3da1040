# SPDX-License-Identifier: Apache-2.0
"""What the tests of the Python API share: CSL programs in a temporary directory, compiled once, and runs of them.

Ends with code 77 (which ctest reports as skipped) where numpy is missing.
"""
import atexit
import os
import shutil
import subprocess
import sys
import tempfile

try:
    import numpy as np
except ImportError:
    print("skipped: numpy is not installed for", sys.executable)
    sys.exit(77)

from cerebras.sdk.runtime.sdkruntimepybind import MemcpyDataType, MemcpyOrder, SdkRuntime

ROW, COL = MemcpyOrder.ROW_MAJOR, MemcpyOrder.COL_MAJOR
BITS16, BITS32 = MemcpyDataType.MEMCPY_16BIT, MemcpyDataType.MEMCPY_32BIT

root = tempfile.mkdtemp(prefix="szarena_python_")
atexit.register(shutil.rmtree, root, ignore_errors=True)
_compiled = {}

LAYOUT = """
const memcpy = @import_module("<memcpy/get_params>", .{ WIDTH_AND_HEIGHT, EXTRA });
layout {
  @set_rectangle(COLUMNS, ROWS);
  for (@range(i16, COLUMNS)) |x| {
    for (@range(i16, ROWS)) |y| {
      @set_tile_code(x, y, "pe.csl", .{ .memcpy_params = memcpy.get_params(x) });
    }
  }
  EXPORTS
}
"""


def write(directory, name, text):
    """Writes a file under the temporary directory; returns the path of its directory."""
    path = os.path.join(root, directory)
    os.makedirs(path, exist_ok=True)
    with open(os.path.join(path, name), "w", encoding="utf-8") as file:
        file.write(text)
    return path


def program(name, code, exports, width=3, height=2, extra="", arch="wse3"):
    """Compiles `code` for every PE of a width x height rectangle; returns the directory with the program."""
    key = (name, arch)
    if key not in _compiled:
        layout = LAYOUT.replace("EXTRA", extra).replace("EXPORTS", exports)
        layout = layout.replace("WIDTH_AND_HEIGHT", ".width = COLUMNS, .height = ROWS")
        layout = layout.replace("COLUMNS", str(width)).replace("ROWS", str(height))
        path = write(f"{name}_{arch}", "layout.csl", layout)
        write(f"{name}_{arch}", "pe.csl", code)
        out = os.path.join(path, "out")
        done = subprocess.run(["cslc", "layout.csl", f"--arch={arch}", f"--fabric-dims={width + 7},{height + 2}",
                               "--fabric-offsets=4,1", "-o", out, "--memcpy", "--channels=1"],
                              cwd=path, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode != 0:
            raise AssertionError(f"cslc refused the test program {name}:\n{done.stdout}")
        _compiled[key] = out
    return _compiled[key]


def started(directory, **options):
    """A running SdkRuntime of a compiled program."""
    runtime = SdkRuntime(directory, **options)
    runtime.load()
    runtime.run()
    return runtime


def words(*shape, start=1):
    """1, 2, 3, … as 32-bit words in an array of this shape."""
    return np.arange(start, start + int(np.prod(shape)), dtype=np.uint32).reshape(shape)

# SPDX-License-Identifier: Apache-2.0
"""Where SDK 0.9 and older kept cerebras.sdk.sdk_utils, and the port maps of that time: which element of a tensor lies in
which word of which PE, as '{ A[i=0:7][j=0:3] -> [PE[i // 4, j] -> index[i % 4]] }' (bounds inclusive)."""
import ast
import re

import numpy

from cerebras.sdk.sdk_utils import *  # noqa: F401,F403
from cerebras.sdk.sdk_utils import input_array_to_u32, memcpy_view

_MAP = re.compile(r"^\{\s*\w+\s*((?:\[[^\]]*\]\s*)+)->\s*\[\s*PE\s*\[(.*?)\]\s*->\s*index\s*\[(.*)\]\s*\]\s*\}$", re.DOTALL)
_DIM = re.compile(r"^\s*(\w+)\s*(?:=\s*(-?\d+)\s*(?::\s*(-?\d+)\s*)?)?$")
_OPERATORS = {ast.Add: numpy.add, ast.Sub: numpy.subtract, ast.Mult: numpy.multiply, ast.FloorDiv: numpy.floor_divide,
              ast.Div: numpy.floor_divide, ast.Mod: numpy.mod}


def _value(node, names, portmap):
    """The value of an expression of dimension names, integers and + - * // %."""
    if isinstance(node, ast.Expression):
        return _value(node.body, names, portmap)
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return numpy.int64(node.value)
    if isinstance(node, ast.Name) and node.id in names:
        return names[node.id]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_value(node.operand, names, portmap)
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        return _OPERATORS[type(node.op)](_value(node.left, names, portmap), _value(node.right, names, portmap))
    raise ValueError(f"port map {portmap!r}: only the dimensions, integers and + - * // % may stand in an expression")


def _expressions(text, names, portmap, size):
    try:
        tree = ast.parse(f"[{text}]", mode="eval").body.elts
    except SyntaxError as error:
        raise ValueError(f"port map {portmap!r}: {text!r} is not a list of expressions") from error
    return [numpy.broadcast_to(_value(node, names, portmap), (size,)) for node in tree]


def _read(portmap):
    """(shape of the tensor, (px, py, w, h, l), position of each element, in row-major order, in an array [h][w][l])."""
    parts = _MAP.match(portmap.strip())
    if parts is None:
        raise ValueError(f"port map {portmap!r}: expected '{{ A[i=0:7][j=0:3] -> [PE[x, y] -> index[k]] }}'")
    dims = []
    for text in re.findall(r"\[([^\]]*)\]", parts[1]):
        dim = _DIM.match(text)
        if dim is None:
            raise ValueError(f"port map {portmap!r}: {text!r} is not a dimension 'i=0:7'")
        low = int(dim[2] or 0)
        dims.append((dim[1], low, int(dim[3]) if dim[3] is not None else low))
    shape = tuple(high - low + 1 for _, low, high in dims)
    size = int(numpy.prod(shape))
    if min(shape) < 1:
        raise ValueError(f"port map {portmap!r}: a dimension is empty")
    grid = numpy.indices(shape, dtype=numpy.int64).reshape(len(dims), -1)
    names = {name: grid[k] + low for k, (name, low, _) in enumerate(dims)}
    pe = _expressions(parts[2], names, portmap, size)
    if len(pe) != 2:
        raise ValueError(f"port map {portmap!r}: PE takes a column and a row")
    index = _expressions(parts[3], names, portmap, size)
    px, py = int(pe[0].min()), int(pe[1].min())
    w, h = int(pe[0].max()) - px + 1, int(pe[1].max()) - py + 1
    word, length = numpy.zeros(size, numpy.int64), 1
    for part in index:  # the PE's array is row-major over the index tuple
        extent = int(part.max()) + 1
        word, length = word * extent + part, length * extent
    at = ((pe[1] - py) * w + (pe[0] - px)) * length + word
    if w * h * length != size or numpy.unique(at).size != size:
        raise ValueError(f"port map {portmap!r}: the {size} elements do not fill a rectangle of {w}x{h} PEs by {length} words")
    return shape, (px, py, w, h, length), at


def convert_input_tensor(portmap, tensor):
    """(px, py, w, h, l, data): what memcpy_h2d (row-major, 32-bit words) takes for `tensor` laid out by the port map."""
    shape, region, at = _read(portmap)
    words = input_array_to_u32(numpy.ascontiguousarray(tensor).ravel(), None, 1)
    if words.size != at.size:
        raise ValueError(f"port map {portmap!r} names {at.size} elements, the tensor has {words.size}")
    data = numpy.empty(at.size, numpy.uint32)
    data[at] = words
    return (*region, data)


def prepare_output_tensor(portmap, datatype):
    """(px, py, w, h, l, data): what memcpy_d2h (row-major, 32-bit words) takes; `data` is an empty buffer of words."""
    _, region, at = _read(portmap)
    return (*region, numpy.zeros(at.size, numpy.uint32))


def format_output_tensor(portmap, datatype, data):
    """The tensor, shaped as the port map's dimensions, from the words that memcpy_d2h wrote."""
    shape, _, at = _read(portmap)
    words = numpy.ascontiguousarray(data).ravel().view(numpy.uint32)[at]
    datatype = numpy.dtype(datatype)
    values = words.view(datatype) if datatype.itemsize == 4 else words.astype(numpy.uint16).view(datatype)
    return values.reshape(shape)


def output_array_from_u32(words, datatype):
    """The array of `datatype` that the host's 32-bit words hold, one element a word."""
    return memcpy_view(words, datatype)

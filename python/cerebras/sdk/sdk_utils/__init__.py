# SPDX-License-Identifier: Apache-2.0
"""Helpers between numpy arrays and the 32-bit words that travel to and from the fabric."""
import json
import os
import struct

import numpy as np


def memcpy_view(arr, datatype):
    """A view of the low bytes of every 32-bit word of `arr` as `datatype` (1, 2 or 4 bytes wide).

    Writing through the view changes `arr`. The host is little endian, so the low bytes come first.
    """
    datatype = np.dtype(datatype)
    if arr.dtype.itemsize != 4:
        raise ValueError(f"memcpy_view: the array must hold 32-bit words, not {arr.dtype}")
    if not arr.flags["C_CONTIGUOUS"]:
        raise ValueError("memcpy_view: the array must be contiguous")
    if datatype.itemsize not in (1, 2, 4):
        raise ValueError(f"memcpy_view: a view of {datatype} does not fit a 32-bit word")
    return arr.view(datatype).reshape(arr.shape + (4 // datatype.itemsize,))[..., 0]


def input_array_to_u32(np_arr=None, sentinel=None, fast_dim_sz=1, *, arr=None):
    """16-bit values as 32-bit words: the value below, and above it either zero or an index.

    sentinel None: the high half is zero. Otherwise it holds the index of the element in the innermost
    dimension, 0 to fast_dim_sz - 1. (`arr`: what the documentation calls np_arr, the examples' name.)
    """
    flat = np.ascontiguousarray(np_arr if arr is None else arr).ravel()
    if flat.dtype.itemsize == 4:
        return flat.view(np.uint32).copy()
    if flat.dtype.itemsize != 2:
        raise ValueError(f"input_array_to_u32: expected 16-bit elements, got {flat.dtype}")
    words = flat.view(np.uint16).astype(np.uint32)
    if sentinel is not None:
        if fast_dim_sz < 1 or fast_dim_sz > 0x10000:
            raise ValueError(f"input_array_to_u32: fast_dim_sz {fast_dim_sz} is not in 1..65536")
        words |= (np.arange(flat.size, dtype=np.uint32) % np.uint32(fast_dim_sz)) << np.uint32(16)
    return words


def cast_uint32(x):
    """The bits of a scalar as an unsigned 32-bit word."""
    if isinstance(x, (bool, np.bool_)):
        return np.uint32(int(x))
    if isinstance(x, (float, np.float32)):
        return np.float32(x).view(np.uint32)
    if isinstance(x, np.float16):
        return np.uint32(x.view(np.uint16))
    if isinstance(x, (int, np.integer)):
        value = int(x)
        if not -(1 << 31) <= value < (1 << 32):
            raise ValueError(f"cast_uint32: {value} does not fit 32 bits")
        return np.uint32(value & 0xFFFFFFFF)
    raise TypeError(f"cast_uint32: cannot turn {type(x).__name__} into a 32-bit word")


def float_to_hex(f):
    """The bits of a 32-bit float as a hexadecimal string."""
    return hex(struct.unpack("<I", struct.pack("<f", f))[0])


def make_u48(words):
    """Three 16-bit words, low one first, as an integer: a time stamp of the <time> library."""
    return int(words[0]) + (int(words[1]) << 16) + (int(words[2]) << 32)


def sub_ts(words):
    """Cycles between two time stamps held in six 16-bit words: start, then end."""
    return make_u48(words[3:6]) - make_u48(words[0:3])


def calculate_cycles(timestamp_buf):
    """Cycles between two time stamps packed in three 32-bit words.

    Word 0 is the low and middle part of the start, word 1 the high part of the start and the low part
    of the end, word 2 the middle and high part of the end.
    """
    words = np.asarray(timestamp_buf).view(np.uint32)
    halves = []
    for word in words[:3]:
        halves += [int(word) & 0xFFFF, int(word) >> 16]
    return np.int64(sub_ts(halves))


def get_api_info_dict(bindir):
    """The host interface of a compiled program: the parsed out_rpc.json."""
    with open(os.path.join(bindir, "out_rpc.json"), encoding="utf-8") as file:
        return json.load(file)


def getOutputNameFromCompileOptions(options):
    """The value of -o in a list or string of cslc options; "out" where there is none."""
    words = options.split() if isinstance(options, str) else list(options)
    for index, word in enumerate(words):
        if word == "-o" and index + 1 < len(words):
            return words[index + 1]
        if word.startswith("-o="):
            return word[3:]
    return "out"

# SPDX-License-Identifier: Apache-2.0
"""An honest host program: deals the values out to 16 PEs, launches, and joins what they made to one payload, or the other way round."""
import argparse

import numpy as np
from cerebras.sdk.runtime.sdkruntimepybind import MemcpyDataType, MemcpyOrder, SdkRuntime

WIDTH, HEIGHT, ROOM, BLOCK, UNIT = 4, 4, 2048, 32, 1024
PES, CHUNK_BLOCKS, MAX_WORDS = WIDTH * HEIGHT, 4, ROOM + ROOM // 16 + 64

parser = argparse.ArgumentParser()
for name in ("name", "direction", "n", "eb", "input", "output"):
    parser.add_argument("--" + name, required=True)
args = parser.parse_args()
n = int(args.n)

eb = np.float32(args.eb)
if float(eb) > float(args.eb):
    eb = np.nextafter(eb, np.float32(0))
blocks = -(-n // BLOCK)
per_pe = -(-blocks // PES) * BLOCK  # whole blocks, so that payloads can be joined
here = np.clip(n - np.arange(PES) * per_pe, 0, per_pe)

runner = SdkRuntime(args.name)
runner.load()
runner.run()
HOW = {"streaming": False, "order": MemcpyOrder.ROW_MAJOR, "data_type": MemcpyDataType.MEMCPY_32BIT, "nonblock": False}


def put(symbol, words, count):
    runner.memcpy_h2d(runner.get_id(symbol), words.reshape(-1).view(np.uint32), 0, 0, WIDTH, HEIGHT, count, **HOW)


def get(symbol, count):
    words = np.zeros(PES * count, np.uint32)
    runner.memcpy_d2h(words, runner.get_id(symbol), 0, 0, WIDTH, HEIGHT, count, **HOW)
    return words.reshape(PES, count)


def table_bytes(values):
    return -(-(-(-int(values) // BLOCK)) // CHUNK_BLOCKS) * CHUNK_BLOCKS


def block_bytes(rate):
    return 128 if rate == 0x3F else 4 + 4 * rate if rate else 0


put("n_local", here.astype(np.uint32), 1)
put("eb_f32", np.full(PES, eb, np.float32), 1)
with open(args.input, "rb") as f:
    data = f.read()
if args.direction == "compress":
    values = np.zeros((PES, ROOM), np.float32)
    given = np.frombuffer(data, np.float32)
    for p in range(PES):
        values[p, :here[p]] = given[p * per_pe:p * per_pe + here[p]]
    put("input", values, ROOM)
    runner.launch("compress", nonblock=False)
    counts = get("output_word_count", 1)[:, 0]
    words = get("output_words", MAX_WORDS)
    rates, payload = b"", b""
    for p in range(PES):
        part = words[p, :counts[p]].tobytes()
        rates += part[:-(-int(here[p]) // BLOCK)]
        payload += part[table_bytes(here[p]):]
    result = rates.ljust(-(-blocks // UNIT) * UNIT, b"\0") + payload
else:
    at = -(-blocks // UNIT) * UNIT
    words = np.zeros((PES, MAX_WORDS), np.uint32)
    counts = np.zeros(PES, np.uint32)
    for p in range(PES):
        own = data[p * per_pe // BLOCK:p * per_pe // BLOCK + -(-int(here[p]) // BLOCK)]
        size = sum(block_bytes(rate) for rate in own)
        part = own.ljust(table_bytes(here[p]), b"\0") + data[at:at + size]
        at += size
        counts[p] = len(part) // 4
        words[p, :counts[p]] = np.frombuffer(part, np.uint32)
    put("in_words", words, MAX_WORDS)
    put("in_word_count", counts, 1)
    runner.launch("decompress", nonblock=False)
    values = get("output", ROOM).view(np.float32)
    result = b"".join(values[p, :here[p]].tobytes() for p in range(PES))
runner.stop()
with open(args.output, "wb") as f:
    f.write(result)

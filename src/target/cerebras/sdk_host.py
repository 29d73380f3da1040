# SPDX-License-Identifier: Apache-2.0
"""The judge's host program for candidates under the Cerebras SDK: one launch of a resident program, data from and to files of 32-bit words."""
import argparse
import json
import os

import numpy as np
from cerebras.sdk.runtime.sdkruntimepybind import MemcpyDataType, MemcpyOrder, SdkRuntime

parser = argparse.ArgumentParser()
parser.add_argument("--name", required=True, help="what cslc wrote")
parser.add_argument("--job", required=True, help="folder with job.json and the words of each symbol")
args = parser.parse_args()
with open(os.path.join(args.job, "job.json"), encoding="utf-8") as file:
    job = json.load(file)
width, height = job["width"], job["height"]
how = {"streaming": False, "order": MemcpyOrder.ROW_MAJOR, "data_type": MemcpyDataType.MEMCPY_32BIT, "nonblock": False}

runner = SdkRuntime(args.name)
runner.load()
runner.run()


def read(symbol, count):
    words = np.zeros(width * height * count, np.uint32)
    runner.memcpy_d2h(words, runner.get_id(symbol), 0, 0, width, height, count, **how)
    return words


for symbol in job["in"]:
    words = np.fromfile(os.path.join(args.job, symbol["name"] + ".in"), np.uint32)
    runner.memcpy_h2d(runner.get_id(symbol["name"]), words, 0, 0, width, height, symbol["count"], **how)
runner.launch(job["function"], nonblock=False)
for symbol in job["out"]:
    read(symbol["name"], symbol["count"]).tofile(os.path.join(args.job, symbol["name"] + ".out"))
runner.stop()

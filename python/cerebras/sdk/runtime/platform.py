# SPDX-License-Identifier: Apache-2.0
"""Where a program runs, and what a compiled one consists of. A program runs on the simulated fabric always."""
import base64
import enum
import json
import os
from dataclasses import dataclass

import numpy as np


class SdkTarget(enum.Enum):
    WSE2 = "wse2"
    WSE3 = "wse3"


@dataclass
class SimfabConfig:
    num_threads: int = 0
    suppress_trace: bool = False
    dump_core: bool = False
    core_path: str = None


@dataclass
class SdkExecutionPlatform:
    config: SimfabConfig
    target: SdkTarget

    def is_simulation(self):
        return True

    def is_system(self):
        return False


class SdkCompileArtifacts:
    """A compiled program: its directory, memory to set at load time, and its host streams.

    The last two are those of an SdkLayout program; left out, they are read from what its compile() wrote."""

    _FILE = "sdklayout.json"

    def __init__(self, artifacts_path, patches=None, streams=None):
        self.path = os.fspath(artifacts_path)
        self.patches, self.streams = patches or [], streams or {}
        saved = os.path.join(self.path, self._FILE)
        if patches is None and streams is None and os.path.isfile(saved):
            with open(saved, encoding="utf-8") as file:
                data = json.load(file)
            self.streams = {name: tuple(where) for name, where in data["streams"].items()}
            self.patches = [(x, y, symbol, np.frombuffer(base64.b64decode(content), np.uint8))
                            for x, y, symbol, content in data["patches"]]

    def save(self):
        """Writes memory and streams beside the program, for later processes."""
        patches = [(x, y, symbol, base64.b64encode(np.ascontiguousarray(array).tobytes()).decode("ascii"))
                   for x, y, symbol, array in self.patches]
        path = os.path.join(self.path, self._FILE)
        with open(path + ".new", "w", encoding="utf-8") as file:
            json.dump({"streams": self.streams, "patches": patches}, file)
        os.replace(path + ".new", path)

    def add_port_mapping(self, path):
        """Keeps the host streams that a port map names, and no others."""
        with open(path, encoding="utf-8") as file:
            names = {bus["port_name"] for bus in json.load(file)["buses"]}
        unknown = names - set(self.streams)
        if unknown:
            raise ValueError(f"'{path}' names streams that the program does not have: {', '.join(sorted(unknown))}")
        self.streams = {name: where for name, where in self.streams.items() if name in names}


def get_platform(cmaddr=None, config=None, target=SdkTarget.WSE3):
    """The platform to run on; `cmaddr` must be empty, for there is no CS system here."""
    if cmaddr:
        return get_system(cmaddr)
    return get_simulator(config, target)


def get_simulator(config=None, target=SdkTarget.WSE3):
    return SdkExecutionPlatform(config or SimfabConfig(), target)


def get_system(cmaddr):
    raise RuntimeError(f"cmaddr '{cmaddr}' names a CS system; only the simulated fabric is available here")

# SPDX-License-Identifier: Apache-2.0
"""Where a program runs. Here that is always the simulated fabric."""
import enum
from dataclasses import dataclass, field


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


@dataclass
class SdkCompileArtifacts:
    """A compiled program: its directory, memory to set at load time, and its host streams."""
    path: str
    patches: list = field(default_factory=list)
    streams: dict = field(default_factory=dict)


def get_platform(cmaddr=None, config=None, target=SdkTarget.WSE3):
    """The platform to run on; `cmaddr` must be empty, for there is no CS system here."""
    if cmaddr:
        return get_system(cmaddr)
    return get_simulator(config, target)


def get_simulator(config=None, target=SdkTarget.WSE3):
    return SdkExecutionPlatform(config or SimfabConfig(), target)


def get_system(cmaddr):
    raise RuntimeError(f"cmaddr '{cmaddr}' names a CS system; only the simulated fabric is available here")

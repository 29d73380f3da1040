# SPDX-License-Identifier: Apache-2.0
"""Where SDK 0.9 and older kept cerebras.sdk.sdk_utils. Port maps (ISL strings) belonged to the legacy runtime."""
from cerebras.sdk.sdk_utils import *  # noqa: F401,F403


def _port_map(*_):
    raise NotImplementedError("runtime_utils: port maps (ISL strings) of SDK 0.9 are not supported; "
                              "give memcpy_h2d and memcpy_d2h their region and arrays directly")


convert_input_tensor = prepare_output_tensor = format_output_tensor = _port_map


def output_array_from_u32(words, datatype):
    """The array of `datatype` that the host's 32-bit words hold, one element a word."""
    return memcpy_view(words, datatype)  # noqa: F405

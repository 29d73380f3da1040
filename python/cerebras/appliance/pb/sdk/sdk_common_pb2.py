# SPDX-License-Identifier: Apache-2.0
"""The enumerations that appliance-style host scripts import from here."""
from cerebras.sdk.runtime.sdkruntimepybind import MemcpyDataType, MemcpyOrder

__all__ = ["MemcpyDataType", "MemcpyOrder"]

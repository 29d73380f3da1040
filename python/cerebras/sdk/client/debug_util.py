# SPDX-License-Identifier: Apache-2.0
"""The module cerebras.sdk.debug.debug_util under its name in appliance-style scripts."""
from cerebras.sdk.debug.debug_util import debug_util  # noqa: F401

# SPDX-License-Identifier: Apache-2.0
"""The module cerebras.sdk.sdk_utils under its name in appliance-style scripts."""
from cerebras.sdk.sdk_utils import *  # noqa: F401,F403 - every helper
from cerebras.sdk.sdk_utils import getOutputNameFromCompileOptions  # noqa: F401

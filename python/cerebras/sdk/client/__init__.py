# SPDX-License-Identifier: Apache-2.0
"""Appliance-style host scripts, run on this machine: the compiler and the launcher are local programs."""
import os
import shlex
import shutil
import subprocess
import tempfile

from cerebras.sdk import sdk_utils
from cerebras.sdk.debug import debug_util
from cerebras.sdk.runtime import sdkruntimepybind
from cerebras.sdk.runtime.sdkruntimepybind import MemcpyDataType, MemcpyOrder

__all__ = ["SdkCompiler", "SdkLauncher", "SdkRuntime", "sdk_utils", "debug_util", "MemcpyDataType", "MemcpyOrder"]


class _Context:
    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        return False


class SdkCompiler(_Context):
    """compile() runs cslc and returns the artifact: the path of the compiled program's directory."""

    def __init__(self, *_, **__):
        pass

    def compile(self, app_path, csl_main, options, out_path=".", **_):
        name = sdk_utils.getOutputNameFromCompileOptions(shlex.split(options))
        artifact = os.path.abspath(os.path.join(out_path, name))
        words, skip = [], False
        for word in shlex.split(options):
            if skip:
                skip = False
            elif word == "-o":
                skip = True
            elif not word.startswith("-o="):
                words.append(word)
        subprocess.run(["cslc", csl_main, *words, "-o", artifact], cwd=app_path, check=True)
        return artifact


class SdkLauncher(_Context):
    """Runs commands beside a copy of the artifact in a working directory of its own."""

    def __init__(self, artifact_path, simulator=True, **_):
        if not simulator:
            raise RuntimeError("SdkLauncher: only simulator=True is available here")
        self._directory = tempfile.mkdtemp(prefix="sdk-launcher-")
        if os.path.isdir(artifact_path):
            shutil.copytree(artifact_path, os.path.join(self._directory, os.path.basename(artifact_path.rstrip("/"))))
        else:
            shutil.copy(artifact_path, self._directory)

    def stage(self, path):
        """Copies a file into the working directory."""
        shutil.copy(path, self._directory)

    def run(self, *commands):
        """Runs shell commands; returns what they printed. %CMADDR% stands for nothing here."""
        output = ""
        for command in commands:
            done = subprocess.run(command.replace("%CMADDR%", ""), shell=True, cwd=self._directory, check=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            output += done.stdout
        return output

    def download_artifact(self, name, out_path):
        """Copies a file of the working directory to `out_path`."""
        shutil.copy(os.path.join(self._directory, name), out_path)

    def __exit__(self, kind, value, trace):
        shutil.rmtree(self._directory, ignore_errors=True)
        return False


class SdkRuntime(sdkruntimepybind.SdkRuntime):
    """As the ordinary runtime; used with `with`, it loads, runs and stops by itself."""

    def __init__(self, artifact_path, simulator=True, **options):
        if not simulator:
            raise RuntimeError("SdkRuntime: only simulator=True is available here")
        super().__init__(artifact_path, **options)

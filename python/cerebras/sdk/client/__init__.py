# SPDX-License-Identifier: Apache-2.0
"""Appliance-style host scripts, run on this machine: the compiler and the launcher are local programs."""
import os
import shlex
import shutil
import subprocess
import tempfile

from cerebras.sdk.client import debug_util, sdk_utils
from cerebras.sdk.runtime import sdkruntimepybind
from cerebras.sdk.runtime.sdkruntimepybind import MemcpyDataType, MemcpyOrder, Task

__all__ = ["SdkCompiler", "SdkLauncher", "SdkRuntime", "Task", "sdk_utils", "debug_util", "MemcpyDataType", "MemcpyOrder"]


class _Context:
    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        return False


class SdkCompiler(_Context):
    """compile() runs cslc and returns the artifact: the path of the compiled program's directory."""

    def __init__(self, *_, **__):
        pass

    def compile(self, codedir, layout, args, outdir="."):
        """Compiles the file `layout` of the folder `codedir` with the flags `args`, a text or a list; their -o names the artifact in `outdir`."""
        flags = shlex.split(args) if isinstance(args, str) else [os.fspath(arg) for arg in args]
        name = sdk_utils.getOutputNameFromCompileOptions(flags)
        artifact = os.path.abspath(os.path.join(outdir, name))
        words, skip = [], False
        for word in flags:
            if skip:
                skip = False
            elif word == "-o":
                skip = True
            elif not word.startswith("-o="):
                words.append(word)
        subprocess.run(["cslc", layout, *words, "-o", artifact], cwd=codedir, check=True)
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

    def stage(self, artifact_path):
        """Copies a file or a folder into the working directory."""
        if os.path.isdir(artifact_path):
            shutil.copytree(artifact_path, os.path.join(self._directory, os.path.basename(os.path.abspath(artifact_path))))
        else:
            shutil.copy(artifact_path, self._directory)

    def run(self, *commands):
        """Runs shell commands; returns what they printed. %CMADDR% stands for nothing here."""
        output = ""
        for command in commands:
            done = subprocess.run(command.replace("%CMADDR%", ""), shell=True, cwd=self._directory, check=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            output += done.stdout
        return output

    def download_artifact(self, artifact_name, out_path):
        """Copies a file of the working directory to `out_path`, a folder as an archive; returns the name of the written file."""
        source = os.path.join(self._directory, artifact_name)
        if os.path.isdir(source):
            base = out_path.removesuffix(".tar.gz")
            return shutil.make_archive(base, "gztar", root_dir=os.path.dirname(source) or ".", base_dir=os.path.basename(source))
        os.makedirs(os.path.dirname(os.path.abspath(out_path)), exist_ok=True)
        shutil.copy(source, out_path)
        return out_path

    def __exit__(self, kind, value, trace):
        shutil.rmtree(self._directory, ignore_errors=True)
        return False


class SdkRuntime(sdkruntimepybind.SdkRuntime):
    """As the ordinary runtime; used with `with`, it loads, runs and stops by itself."""

    def __init__(self, artifact_path, simulator=True, **options):
        if not simulator:
            raise RuntimeError("SdkRuntime: only simulator=True is available here")
        super().__init__(artifact_path, **options)

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Looks for races between the threads of a block in the CUDA codecs' kernels, where there is no GPU: cuda_on_host.h under
ThreadSanitizer. Planted ones must be found. Exit status 0: none but those; 77: this compiler has no ThreadSanitizer."""
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TASKS = os.path.dirname(HERE)
VALUES = "200000"  # some tiles for every thread block
# A candidate, its modes, and lines whose loss is a race that must be found (file, line).
CODECS = {
    "szp": (["1", "2", "3"], ("codec/szp_compress.cu", "    __syncwarp();\n    // Raw rows stay", "    // Raw rows stay")),
    "szx": (["4"], ("codec/szx_compress.cu", "    WaitCopies<0>();\n    __syncwarp();\n    if (first_value", "    WaitCopies<0>();\n    if (first_value")),
}
# Stores of lanes that all write the same.
SUPPRESSIONS = "race_top:ClearWord\n"


def build(source, folder):
    program = os.path.join(folder, "program")
    subprocess.run([sys.executable, os.path.join(HERE, "cuda_on_host.py"), source, folder], check=True)
    files = [os.path.join(root, name) for root, _, names in os.walk(folder) for name in names if name.endswith(".cpp")]
    subprocess.run(["g++", "-std=c++20", "-O1", "-g", "-w", "-ffp-contract=off", "-fno-strict-aliasing", "-fsanitize=thread",
                    "-include", os.path.join(HERE, "cuda_on_host.h"), "-I" + os.path.join(TASKS, "contract"), "-I" + folder, *files,
                    os.path.join(HERE, "cuda_races.cpp"), "-o", program], check=True)
    return program


def races(program, modes, folder):
    """Runs it: {"file:line and file:line": how often}; whether the calls were right."""
    suppressions = os.path.join(folder, "suppressions")
    with open(suppressions, "w") as file:
        file.write(SUPPRESSIONS)
    environment = dict(os.environ, TSAN_OPTIONS=f"history_size=7 exitcode=0 suppressions={suppressions}")
    done = subprocess.run([program, VALUES, *modes], capture_output=True, text=True, env=environment)
    print(done.stdout, end="")
    found = {}
    for report in done.stderr.split("WARNING: ThreadSanitizer: data race")[1:]:
        places = re.findall(r"(?:[Rr]ead|[Ww]rite) of size \d+.*\n\s+#0 .*?([\w.]+:\d+) \(", report)
        key = " and ".join(places[:2])
        found[key] = found.get(key, 0) + 1
    if done.returncode != 0 and not found:
        print(done.stderr[-2000:], file=sys.stderr)
    return found, done.returncode == 0


def check(name, modes, planted):
    """Whether the candidate has no race, and the planted one is found."""
    source = os.path.join(TASKS, name, "ladder/cuda/08-resident")
    good = True
    for plant in (False, True):
        with tempfile.TemporaryDirectory(prefix="cuda-races-") as folder:
            copy = os.path.join(folder, "candidate")
            subprocess.run(["cp", "-r", source, copy], check=True)
            if plant:
                path, line, instead = os.path.join(copy, planted[0]), *planted[1:]
                with open(path) as file:
                    text = file.read()
                if line not in text:
                    print(f"{name}: {planted[0]} has no line {line.strip()!r} any more: name another one here", file=sys.stderr)
                    return False
                with open(path, "w") as file:
                    file.write(text.replace(line, instead))
            made = os.path.join(folder, "made")
            found, right = races(build(copy, made), modes, folder)
        for places, count in sorted(found.items()):
            print(f"{name}{', planted' if plant else ''}: {places}, {count} times")
        good &= bool(found) if plant else right and not found
        if plant and not found:
            print(f"{name}: the planted race is not found", file=sys.stderr)
    return good


def main():
    probe = subprocess.run(["g++", "-fsanitize=thread", "-x", "c++", "-", "-o", "/dev/null"], input="int main() {}", text=True, capture_output=True)
    if probe.returncode != 0:
        print("needs a g++ with ThreadSanitizer")
        sys.exit(77)
    sys.exit(0 if all([check(name, *what) for name, what in CODECS.items()]) else 1)


if __name__ == "__main__":
    main()

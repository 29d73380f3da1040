#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that every #include "room/..." under src/ names a room in the including room's DEPS (transitively)."""
import os
import re
import sys

root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "src")
room_call = re.compile(r"szarena_room\(([^)]*)\)", re.S)
deps, test_deps = {}, {}
for folder, _, files in os.walk(root):
    if "CMakeLists.txt" not in files:
        continue
    text = open(os.path.join(folder, "CMakeLists.txt")).read()
    text = re.sub(r"#[^\n]*", "", text)
    for body in room_call.findall(text):
        words, key, fields = body.split(), None, {}
        for word in words:
            if re.fullmatch(r"NAME|LABEL|SRCS|DEPS|LIBS|TESTS|TEST_LIBS|TEST_DEPS|STRICT_FP|NATIVE_TESTS", word):
                key = word
                fields.setdefault(key, [])
            else:
                fields[key].append(word)
        name = fields["NAME"][0]
        deps[name] = fields.get("DEPS", [])
        test_deps[name] = fields.get("TEST_DEPS", [])


def closure(start):
    seen, todo = set(), list(start)
    while todo:
        room = todo.pop()
        if room not in seen:
            seen.add(room)
            todo += deps.get(room, [])
    return seen


def room_of(path):
    while path and path not in deps:
        path = os.path.dirname(path)
    return path


errors = []
for name in deps:
    if name in closure(deps[name]):
        errors.append(f"{name}: dependency cycle")
for folder, _, files in os.walk(root):
    for file in files:
        if not file.endswith((".h", ".cpp", ".cu", ".cuh")):
            continue
        path = os.path.join(folder, file)
        room = room_of(os.path.relpath(folder, root))
        if not room:
            continue
        is_test = file.endswith("_test.cpp") or "/testing" in folder
        allowed = closure(deps[room] + (test_deps[room] if is_test else [])) | {room}
        for number, line in enumerate(open(path, errors="replace"), 1):
            match = re.match(r'\s*#\s*include\s+"([^"]+)"', line)
            if not match:
                continue
            target = room_of(os.path.dirname(match.group(1)))
            if target and target not in allowed:
                errors.append(f"{os.path.relpath(path)}:{number}: room '{room}' may not include room '{target}' (add it to DEPS or move the code)")
for error in errors:
    print(error, file=sys.stderr)
print(f"layers: {len(deps)} rooms, {len(errors)} faults")
sys.exit(bool(errors))

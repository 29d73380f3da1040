#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes C++ for cuda_on_host.h of a CUDA candidate: cuda_on_host.py CANDIDATE OUTPUT. The output exports the functions of the CPU
contract. Launches become calls; the PTX statements in the table below become what they mean. Others stay, and do not compile."""
import os
import re
import sys

# What a statement must contain, and its meaning; {0} .. are its operands in order.
PTX = [
    ("mbarrier.init", "emulated::HandoverInit({0}, {1});"),
    ("mbarrier.arrive", "emulated::HandoverArrive({0});"),
    ("mbarrier.try_wait.parity", "{0} = emulated::HandoverTry({1}, {2});"),
    ("ld.acquire.gpu.global.u32", "{0} = emulated::AtomicLoad({1}, true);"),
    ("st.release.gpu.global.u32", "emulated::AtomicStore({0}, {1}, true);"),
    ("ld.relaxed.gpu.global.u64", "{0} = emulated::AtomicLoad({1}, false);"),
    ("st.relaxed.gpu.global.u64", "emulated::AtomicStore({0}, {1}, false);"),
    ("cp.async.cg.shared.global", "memcpy(emulated::At<void*>({0}), {1}, 16);"),
    ("cp.async.ca.shared.global", "memcpy(emulated::At<void*>({0}), {1}, {2});"),
    ("cp.async.commit_group", ";"),
    ("cp.async.wait_group", ";"),
    ("min.NaN.f32", "{0} = emulated::MinNan({1}, {2});"),
    ("max.NaN.f32", "{0} = emulated::MaxNan({1}, {2});"),
    ("lop3.b32 t, %1, %2, 1, 0xbe; bfind.u32", "{0} = 31u - static_cast<uint32_t>(__builtin_clz((({1}) ^ ({2})) | 1u));"),
    ("lop3.b32 t, %1, %2, %3, 0xbe; bfind.u32", "{0} = 31u - static_cast<uint32_t>(__builtin_clz((({1}) ^ ({2})) | ({3})));"),
    ("lop3.b32 t, %2, 3, %3, 0xea; prmt.b32 %0, %1, 0, t", "{0} = __byte_perm({1}, 0, (({2}) & 3u) | ({3}));"),
    ("@p st.shared.b32 [%0], %3; @p add.u32 %0, %0, 4", "if (((({1}) ^ ({2})) & 32u) != 0) {{ emulated::Store32({0}, {3}); {0} += 4; }}"),
    ("@p mov.b32 %0, %1; @p ld.shared.b32 %1, [%2]; @p add.u32 %2, %2, 4",
     "if (((({3}) ^ ({4})) & 32u) != 0) {{ {0} = {1}; {1} = emulated::Load32({2}); {2} += 4; }}"),
    ("bmsk.wrap.b32 %0, %1, %2", "{0} = static_cast<uint32_t>(((uint64_t{{1}} << (({2}) & 31u)) - 1) << (({1}) & 31u));"),
    ("lop3.b32 %0, %1, %2, %3, 0xca", "{0} = ({1} & ({2})) | (~{1} & ({3}));"),
    ("lop3.b32 %0, %1, %2, %3, 0xfe", "{0} = ({1}) | ({2}) | ({3});"),
    ("bmsk.clamp.b32 %0, 0, %1", "{0} = ({1}) >= 32u ? ~0u : (1u << ({1})) - 1u;"),
    ("red.shared.or.b32", "emulated::AtomicChange(emulated::At<uint32_t>({0}), [&](uint32_t old) {{ return old | ({1}); }});"),
    ("ld.shared.b32 %0, [%1]", "{0} = emulated::Load32({1});"),
]


def closing(text, at):
    """The place of the parenthesis that closes the one at `at`; strings and comments are passed over."""
    depth = 0
    while at < len(text):
        if text[at] == '"':
            at += 1
            while text[at] != '"':
                at += 2 if text[at] == "\\" else 1
        elif text.startswith("//", at):
            at = text.index("\n", at)
        elif text[at] == "(":
            depth += 1
        elif text[at] == ")":
            depth -= 1
            if depth == 0:
                return at
        at += 1
    raise ValueError("a parenthesis is not closed")


def operands(rest):
    found = []
    at = 0
    while match := re.compile(r'"[=+]?[a-z]"\s*\(').search(rest, at):
        end = closing(rest, match.end() - 1)
        found.append(rest[match.end():end])
        at = end
    return found


def plain_asm(text):
    out, at = "", 0
    for match in re.finditer(r"\basm\s*(volatile)?\s*\(", text):
        if match.start() < at:
            continue
        end = closing(text, match.end() - 1)
        body = re.sub(r"//[^\n]*", "", text[match.end():end])
        template = re.match(r'\s*((?:"(?:[^"\\]|\\.)*"\s*)*)', body)
        code = " ".join("".join(re.findall(r'"((?:[^"\\]|\\.)*)"', template.group(1))).split())
        meaning = next((meaning for key, meaning in PTX if key in code), None)
        if meaning is None:
            continue
        out += text[at:match.start()] + "{ " + meaning.format(*operands(body[template.end():])) + " }"
        at = end + 1
    return out + text[at:]


def plain_launches(text):
    launch = re.compile(r"(\b[A-Za-z_]\w*(?:<[^<>;(){}]*>)?)\s*<<<")
    while match := launch.search(text):
        middle = text.index(">>>", match.end())
        open_at = text.index("(", middle)
        end = closing(text, open_at)
        arguments = text[open_at:end + 1]
        text = (text[:match.start()] + f"emulated::Launch([&] {{ {match.group(1)}{arguments}; }}, {text[match.end():middle]})" + text[end + 1:])
    return text


WRAPPER = """#include "szarena_candidate_cuda.h"
extern "C" {
uint64_t szarena_workspace_bytes(const szarena_problem* p) { return szarena_cuda_workspace_bytes(p); }
int %(forward)s(const szarena_problem* p, const void* input, void* output, uint64_t capacity, void* workspace, uint64_t bytes, szarena_payload* payload) {
  return %(cuda_forward)s(p, input, output, capacity, workspace, bytes, payload, nullptr);
}
"""
BACKWARD = """int %(backward)s(const szarena_problem* p, const void* payload, uint64_t size, void* output, void* workspace, uint64_t bytes) {
  return %(cuda_backward)s(p, payload, size, output, workspace, bytes, nullptr);
}
"""


def main():
    source, output = sys.argv[1:]
    everything = ""
    for folder, _, names in os.walk(source):
        for name in names:
            if not name.endswith((".cu", ".cuh", ".h", ".cpp")):
                continue
            with open(os.path.join(folder, name)) as file:
                text = file.read()
            everything += text
            text = re.sub(r"extern __shared__ (?:__align__\(\d+\) )?([\w ]+?) (\w+)\[\];",
                          r"\1* const \2 = reinterpret_cast<\1*>(emulated::dynamic_shared);", text)
            text = re.sub(r"__shared__ (alignas|__align__)\((\d+)\)", r"alignas(\2) __shared__", text)
            text = plain_launches(plain_asm(text))
            target = os.path.join(output, os.path.relpath(folder, source), name)
            os.makedirs(os.path.dirname(target), exist_ok=True)
            with open(target + ".cpp" if name.endswith(".cu") else target, "w") as file:
                file.write(text)
    with open(os.path.join(output, "cuda_runtime.h"), "w"):
        pass
    words = {"forward": "szarena_compress", "backward": "szarena_decompress"}
    if "szarena_cuda_compress" not in everything:
        words = {"forward": "szarena_run", "backward": "szarena_inverse"}
    words.update({f"cuda_{key}": name.replace("szarena_", "szarena_cuda_") for key, name in list(words.items())})
    with open(os.path.join(output, "wrapper.cpp"), "w") as file:
        file.write(WRAPPER % words + (BACKWARD % words if words["cuda_backward"] in everything else "") + "}\n")


if __name__ == "__main__":
    main()

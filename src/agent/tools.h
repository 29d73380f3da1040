// SPDX-License-Identifier: Apache-2.0
// The tables of tools; see toolbox.h.
#pragma once

#include <span>

#include "agent/toolbox.h"

namespace szarena::agent {

std::span<const Tool> FileTools();  // list_files, read_file, write_file, edit_file, delete_file
std::span<const Tool>
ReferenceTools();  // describe_task, list_references, read_reference, search_references
std::span<const Tool> JudgeTools();  // build, test, benchmark, profile, submit, history
std::span<const Tool> JobTools();    // poll, cancel, read_output

inline constexpr std::string_view kNoArguments =
    R"({"type": "object", "properties": {}, "additionalProperties": false})";

// How much text a reading tool gives at once.
inline constexpr uint64_t kPageBytes = 16384;

// A page of `text` from `offset`, cut where no character is torn, with "next_offset" (null at the
// end) and "size_bytes" set in `content`.
std::string Page(std::string_view text, uint64_t offset, data::Json& content);

}  // namespace szarena::agent

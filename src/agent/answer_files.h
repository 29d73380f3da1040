// SPDX-License-Identifier: Apache-2.0
// Files as text: in a model's answer, and shown to a model.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "agent/toolbox.h"
#include "base/error.h"
#include "data/json.h"

namespace szarena::agent {

using FileTexts = std::map<std::string, std::string>;  // by relative path

// The files of an answer: fenced blocks, each named by the line before it ("### candidate.cpp",
// "**`src/a.h`**", "File: a.h") or by its opening line ("```cpp a.h"). Blocks without a name count
// only where no block has one: then the longest is `default_name` (empty: none). A block that does
// not end is left out; a name that comes again replaces what it had.
FileTexts FilesInAnswer(std::string_view answer, const std::string& default_name);

// "### NAME" and a fence for each file, as the prompt shows the contract's.
std::string FilesAsText(const FileTexts& files);

// The form in which transcripts and snapshots have them: [{path, text}].
FileTexts FilesFromJson(const data::Json& list);

// Makes the workspace hold these files and no others, through the tools. A file that the tools
// refuse (a path outside, too large) ends it: the refusal is returned.
Result<ToolResult> PlaceFiles(const FileTexts& files, Toolbox& toolbox);

}  // namespace szarena::agent

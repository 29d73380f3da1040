// SPDX-License-Identifier: Apache-2.0
// Agent programs of others: how each is installed, told about our server, started, and understood.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "data/json.h"

namespace szarena::program {

// What a program is started with, as it looks inside its sandbox.
struct Surroundings {
  std::string mcp_url;    // our tools, over streamable HTTP
  std::string model_url;  // the way to the model's service, without "/v1"; empty: none
  std::string key;        // what the program sends as its key; worth nothing outside
  std::string model;      // empty: the program's own choice
  std::string home;       // its home folder, empty but for what Launch::files names
  std::string workspace;  // its working directory
  std::string prompt;     // also on its standard input
};

struct Launch {
  std::vector<std::string> arguments;  // without the program itself
  std::vector<std::pair<std::string, std::string>> env;
  std::vector<std::pair<std::string, std::string>> files;  // below home: path, text
};

// What a program's own events say about its end.
struct Account {
  std::string stop;   // why it stopped, in its own words
  std::string error;  // the last failure that it told
};

struct Program {
  std::string_view name;        // "codex"
  std::string_view executable;  // looked up in PATH
  std::string_view package;     // of npm
  std::string_view provider;    // whose service it speaks to: "openai", as in models.toml
  Launch (*prepare)(const Surroundings& surroundings);
  // Reads one line of its output, parsed.
  void (*read)(const data::Json& event, Account& account);
};

const Program& Codex();
const Program& Gemini();
const Program& Claude();
const Program& OpenCode();

std::span<const Program* const> AllPrograms();
// "codex", "gemini", "claude", "opencode"; nullptr: none of them.
const Program* FindProgram(std::string_view name);
std::string ProgramNames();  // for error texts

// Any other: a shell command that finds our server in $SZARENA_MCP_URL, the model in
// $OPENAI_BASE_URL and its like, and the prompt on its standard input.
Launch PrepareCommand(const std::string& command, const Surroundings& surroundings);

// The member as text, or "".
std::string TextAt(const data::Json& event, std::initializer_list<std::string_view> path);

}  // namespace szarena::program

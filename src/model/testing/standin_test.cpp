// SPDX-License-Identifier: Apache-2.0
// The stand-in answers as scripted, in each wire format.
#include "model/testing/standin.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <httplib.h>

namespace szarena::model::standin {
namespace {

using data::Json;
using testing::HasSubstr;

Script Parse(const std::string& text) {
  const auto json = data::ParseJson(text, "script");
  EXPECT_TRUE(json) << json.error().ToString();
  auto script = ParseScript(*json, ".");
  EXPECT_TRUE(script) << script.error().ToString();
  return *script;
}

constexpr const char* kScript = R"({"key": "sesame", "chats": [{"turns": [
  {"text": "writing", "calls": [{"name": "write_file", "arguments": {"path": "a"}}],
   "faults": [{"status": 429, "retry_after": "7"}, {"cut_after": 40}]},
  {"text": "finished"}]}]})";

struct Case {
  const char* path;
  const char* fresh;   // a request with no history
  const char* later;   // one whose history holds a call
  const char* call;    // in the answer to the first
  const char* header;  // that carries the key
};

const Case kCases[] = {
    {"/v1/responses",
     R"({"model": "m", "stream": true, "input": [{"role": "user", "content": "hi"}],
         "tools": [{"type": "namespace", "name": "szarena", "tools": [{"type": "function", "name": "write_file"}]}]})",
     R"({"model": "m", "stream": true, "tools": [], "input": [{"role": "user", "content": "hi"},
         {"type": "function_call", "call_id": "1"}, {"type": "function_call_output", "call_id": "1"}]})",
     R"("namespace": "szarena")", "Authorization"},
    {"/v1/chat/completions",
     R"({"model": "m", "stream": true, "messages": [{"role": "user", "content": "hi"}],
         "tools": [{"function": {"name": "szarena_write_file"}}, {"function": {"name": "write_file"}}]})",
     R"({"model": "m", "stream": true, "messages": [{"role": "user", "content": "hi"},
         {"role": "assistant", "tool_calls": [{"id": "1"}]}, {"role": "tool", "content": "x"}]})",
     R"("name": "szarena_write_file")", "Authorization"},
    {"/v1beta/models/m:streamGenerateContent",
     R"({"contents": [{"role": "user", "parts": [{"text": "hi"}]}],
         "tools": [{"functionDeclarations": [{"name": "write_file"}]}]})",
     R"({"contents": [{"role": "user", "parts": [{"text": "hi"}]},
         {"role": "model", "parts": [{"functionCall": {"name": "write_file"}}]},
         {"role": "user", "parts": [{"functionResponse": {"name": "write_file"}}]}]})",
     R"("thoughtSignature")", "x-goog-api-key"},
    {"/v1/messages",
     R"({"model": "m", "stream": true, "messages": [{"role": "user", "content": "hi"}],
         "tools": [{"name": "mcp__szarena__write_file"}]})",
     R"({"model": "m", "stream": true, "messages": [{"role": "user", "content": "hi"},
         {"role": "assistant", "content": [{"type": "tool_use", "id": "1"}]},
         {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1"}]}]})",
     R"("name": "mcp__szarena__write_file")", "x-api-key"}};

TEST(StandInTest, AnswersEachDialectAndMisbehavesAsScripted) {
  for (const Case& item : kCases) {
    const auto standin = StandIn::Start(Parse(kScript));
    ASSERT_TRUE(standin) << standin.error().ToString();
    httplib::Client client("127.0.0.1", (*standin)->port());
    const std::string prefix = std::string(item.header) == "Authorization" ? "Bearer " : "";
    const httplib::Headers headers = {{item.header, prefix + "sesame"}};
    const auto post = [&](const char* body) {
      return client.Post(item.path, headers, body, "application/json");
    };
    EXPECT_EQ(client.Post(item.path, item.fresh, "application/json")->status, 401) << item.path;
    const auto limited = post(item.fresh);
    EXPECT_EQ(limited->status, 429);
    EXPECT_EQ(limited->get_header_value("Retry-After"), "7");
    EXPECT_TRUE(data::ParseJson(limited->body, "error")->Find("error"));
    EXPECT_FALSE(post(item.fresh)) << item.path << ": the cut stream came whole";
    const auto first = post(item.fresh);
    ASSERT_TRUE(first) << item.path;
    EXPECT_THAT(first->body, HasSubstr(item.call));
    EXPECT_THAT(first->body, HasSubstr("data: {"));
    EXPECT_THAT(post(item.later)->body, testing::ContainsRegex("fin")) << item.path;
    EXPECT_EQ((*standin)->seen().back().turn, 1) << item.path;
  }
}

TEST(StandInTest, AMisspeltScriptIsRefused) {
  for (const char* text : {R"({"chat": []})", R"({"chats": [{"turns": [{"txt": "x"}]}]})",
                           R"({"chats": [{"turns": [], "advance": "time"}]})",
                           R"({"chats": [{"turns": [{"text": {"$file": "/nowhere/at/all"}}]}]})"}) {
    EXPECT_FALSE(ParseScript(*data::ParseJson(text, "script"), ".")) << text;
  }
}

}  // namespace
}  // namespace szarena::model::standin

// SPDX-License-Identifier: Apache-2.0
// szarena-mcp-conformance [stdio]: the protocol code with the fixtures that the public conformance
// suite calls by name, over HTTP on a free port (its URL is the first line) or over stdio.
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <map>
#include <string_view>
#include <thread>

#include "mcp/http.h"
#include "mcp/server.h"
#include "mcp/stdio.h"

namespace szarena::mcp {
namespace {

using data::Json;

// A red pixel, and a wave of one silent sample.
constexpr std::string_view kPng =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJg"
    "gg==";
constexpr std::string_view kWav =
    "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQIAAAAAAA==";

Json Parse(std::string_view text) { return *data::ParseJson(text, "fixture"); }

Json Text(std::string_view text) { return Json::Of({{"type", "text"}, {"text", text}}); }

Json Media(std::string_view type, std::string_view bytes, std::string_view mime) {
  return Json::Of({{"type", type}, {"data", bytes}, {"mimeType", mime}});
}

Json Resource(std::string_view uri, std::string_view mime, std::string_view text) {
  return Json::Of({{"type", "resource"},
                   {"resource", Json::Of({{"uri", uri}, {"mimeType", mime}, {"text", text}})}});
}

Json Content(std::initializer_list<Json> parts) {
  Json content = Json::MakeArray();
  for (const Json& part : parts) content.Append(part);
  return Json::Of({{"content", std::move(content)}});
}

Json User(Json content) { return Json::Of({{"role", "user"}, {"content", std::move(content)}}); }

Json Messages(std::initializer_list<Json> parts) {
  Json messages = Json::MakeArray();
  for (const Json& part : parts) messages.Append(User(part));
  return Json::Of({{"messages", std::move(messages)}});
}

void Pause() { std::this_thread::sleep_for(std::chrono::milliseconds(50)); }

Reply WithProgress(Caller& caller) {
  caller.progress(0, 100, "");
  Pause();
  caller.progress(50, 100, "");
  Pause();
  caller.progress(100, 100, "");
  return Content({Text("done")});
}

Reply WithLogging(Caller& caller) {
  caller.log("info", "Tool execution started");
  Pause();
  caller.log("info", "Tool processing data");
  Pause();
  caller.log("info", "Tool execution completed");
  return Content({Text("logged")});
}

Reply MissingCapability(Caller& caller) {
  const Json* declared =
      caller.params.FindPath({"_meta", "io.modelcontextprotocol/clientCapabilities", "sampling"});
  if (declared != nullptr) return Content({Text("declared")});
  return Refuse(kMissingCapability, "this tool needs sampling",
                Json::Of({{"requiredCapabilities", Json::Of({{"sampling", Json::MakeObject()}})}}));
}

struct Fixture {
  std::string_view name;
  Reply (*run)(Caller& caller);
};

constexpr Fixture kTools[] = {
    {"test_simple_text",
     [](Caller&) -> Reply {
       return Content({Text("This is a simple text response for testing.")});
     }},
    {"test_image_content",
     [](Caller&) -> Reply { return Content({Media("image", kPng, "image/png")}); }},
    {"test_audio_content",
     [](Caller&) -> Reply { return Content({Media("audio", kWav, "audio/wav")}); }},
    {"test_embedded_resource",
     [](Caller&) -> Reply {
       return Content({Resource("test://embedded-resource", "text/plain",
                                "This is an embedded resource content.")});
     }},
    {"test_multiple_content_types",
     [](Caller&) -> Reply {
       return Content({Text("Multiple content types test:"), Media("image", kPng, "image/png"),
                       Resource("test://mixed-content-resource", "application/json",
                                R"({"test":"data","value":123})")});
     }},
    {"test_error_handling",
     [](Caller&) -> Reply {
       return Content({Text("This tool intentionally returns an error for testing")})
           .Set("isError", true);
     }},
    {"test_tool_with_progress", WithProgress},
    {"test_streaming_elicitation", WithProgress},
    {"test_tool_with_logging", WithLogging},
    {"test_logging_tool", WithLogging},
    {"test_missing_capability", MissingCapability},
    {"json_schema_2020_12_tool", [](Caller&) -> Reply { return Content({Text("ok")}); }},
};

constexpr std::string_view kSchema2020 = R"({
  "$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object",
  "$defs": {"address": {"$anchor": "addressDef", "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}}}},
  "properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"},
                 "contactMethod": {"type": "string", "enum": ["phone", "email"]},
                 "phone": {"type": "string"}, "email": {"type": "string"}},
  "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
  "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
  "then": {"required": ["phone"]}, "else": {"required": ["email"]},
  "additionalProperties": false})";

class Fixtures : public Surface {
 public:
  Json Info() const override {
    return Json::Of({{"name", "szarena-mcp-conformance"}, {"version", "1"}});
  }
  std::string Instructions() const override { return "Fixtures of the conformance suite."; }
  Json Tools(bool) const override {
    Json tools = Json::MakeArray();
    for (const Fixture& fixture : kTools) {
      const bool schema = fixture.name == "json_schema_2020_12_tool";
      tools.Append(Json::Of(
          {{"name", fixture.name},
           {"description", "A fixture of the conformance suite"},
           {"inputSchema", schema ? Parse(kSchema2020) : Parse(R"({"type": "object"})")}}));
    }
    return tools;
  }
  Json Resources() const override {
    return Parse(R"([
      {"uri": "test://static-text", "name": "static-text", "description": "A text", "mimeType": "text/plain"},
      {"uri": "test://static-binary", "name": "static-binary", "description": "An image", "mimeType": "image/png"}])");
  }
  Json ResourceTemplates() const override {
    return Parse(R"([{"uriTemplate": "test://template/{id}/data", "name": "template",
      "description": "A text with a parameter", "mimeType": "application/json"}])");
  }
  Json Prompts() const override {
    return Parse(R"([
      {"name": "test_simple_prompt", "description": "A prompt"},
      {"name": "test_prompt_with_arguments", "description": "A prompt", "arguments": [
        {"name": "arg1", "description": "First", "required": true}, {"name": "arg2", "description": "Second", "required": true}]},
      {"name": "test_prompt_with_embedded_resource", "description": "A prompt", "arguments": [
        {"name": "resourceUri", "description": "What to embed", "required": true}]},
      {"name": "test_prompt_with_image", "description": "A prompt"}])");
  }
  Reply CallTool(const std::string& name, const Json&, Caller& caller) override {
    for (const Fixture& fixture : kTools) {
      if (fixture.name == name) return fixture.run(caller);
    }
    return Refuse(kInternalError, "no such fixture");
  }
  std::optional<Reply> ReadResource(const std::string& uri, Caller&) override {
    const auto contents = [&](std::string_view key, std::string_view mime, std::string_view value) {
      Json list = Json::MakeArray();
      list.Append(Json::Of({{"uri", uri}, {"mimeType", mime}, {std::string(key), value}}));
      return Reply(Json::Of({{"contents", std::move(list)}}));
    };
    constexpr std::string_view kBefore = "test://template/";
    constexpr std::string_view kAfter = "/data";
    if (uri == "test://static-text") {
      return contents("text", "text/plain", "This is the content of the static text resource.");
    }
    if (uri == "test://static-binary") return contents("blob", "image/png", kPng);
    if (uri.starts_with(kBefore) && uri.ends_with(kAfter)) {
      const std::string id =
          uri.substr(kBefore.size(), uri.size() - kBefore.size() - kAfter.size());
      return contents(
          "text", "application/json",
          Json::Of({{"id", id}, {"templateTest", true}, {"data", "Data for ID: " + id}}).Dump());
    }
    return std::nullopt;
  }
  Reply GetPrompt(const std::string& name, const Json& arguments, Caller&) override {
    const auto argument = [&](std::string_view key) { return *arguments.Find(key)->string(); };
    if (name == "test_simple_prompt")
      return Messages({Text("This is a simple prompt for testing.")});
    if (name == "test_prompt_with_arguments") {
      return Messages({Text(fmt::format("Prompt with arguments: arg1='{}', arg2='{}'",
                                        argument("arg1"), argument("arg2")))});
    }
    if (name == "test_prompt_with_image") {
      return Messages({Media("image", kPng, "image/png"), Text("Please analyze the image above.")});
    }
    return Messages(
        {Resource(argument("resourceUri"), "text/plain", "Embedded resource content for testing."),
         Text("Please process the embedded resource above.")});
  }
};

}  // namespace
}  // namespace szarena::mcp

int main(int argc, char** argv) {
  using namespace szarena;  // NOLINT(google-build-using-namespace)
  mcp::Fixtures fixtures;
  mcp::Server server(fixtures);
  if (argc > 1 && std::string_view(argv[1]) == "stdio") {
    return mcp::ServeStdio(server, STDIN_FILENO, STDOUT_FILENO, {}) ? 0 : 4;
  }
  auto listener = net::ListenTcp("127.0.0.1", 0);
  if (!listener) return 3;
  const mcp::HttpEndpoint endpoint(server, std::move(*listener), {});
  fmt::print("http://127.0.0.1:{}/mcp\n", endpoint.port());
  std::fflush(stdout);
  char ignored[256];
  while (read(STDIN_FILENO, ignored, sizeof ignored) > 0) {
  }
  return 0;
}

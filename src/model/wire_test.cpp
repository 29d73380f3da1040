// SPDX-License-Identifier: Apache-2.0
// Protocols read whatever a service sends: an answer, an error, never a crash.
#include "model/wire.h"

#include <gtest/gtest.h>

#include <random>

#include "model/http_model.h"
#include "model/testing/dialect.h"
#include "net/sse.h"

namespace szarena::model {
namespace {

using data::Json;

struct Pair {
  const Wire& wire;
  const standin::Dialect& dialect;
};

std::vector<Pair> Pairs() {
  return {{OpenAiResponsesWire(), standin::OpenAiResponses()},
          {OpenAiChatWire(), standin::OpenAiChat()},
          {GoogleWire(), standin::GoogleGenerate()},
          {AnthropicWire(), standin::AnthropicMessages()}};
}

standin::Answer SomeAnswer() {
  standin::Answer answer;
  answer.id = "1";
  answer.model = "m";
  answer.text = "text of the answer";
  answer.reasoning = "reasoning";
  answer.calls.push_back({{"build", ""}, "call_1", Json::Of({{"a", 1}}), R"({"a": 1})", false});
  answer.tokens_in = 10;
  answer.tokens_out = 5;
  return answer;
}

// The value with one part, anywhere in it, gone or of another kind.
Json Damaged(const Json& value, std::mt19937& random) {
  const auto children = value.items().size() + value.members().size();
  if (children == 0 || random() % 4 == 0) {
    const Json others[] = {nullptr,
                           -1,
                           1.5,
                           "x",
                           true,
                           Json::MakeArray(),
                           Json::MakeObject(),
                           Json::MakeArray().Append(Json::MakeArray()),
                           int64_t{1} << 60};
    return others[random() % std::size(others)];
  }
  const size_t chosen = random() % children;
  const bool remove = random() % 3 == 0;
  Json out = value.is_array() ? Json::MakeArray() : Json::MakeObject();
  for (size_t i = 0; i < value.items().size(); ++i) {
    if (i == chosen && remove) continue;
    out.Append(i == chosen ? Damaged(value.items()[i], random) : value.items()[i]);
  }
  for (size_t i = 0; i < value.members().size(); ++i) {
    const data::JsonMember& member = value.members()[i];
    if (i == chosen && remove) continue;
    out.Set(member.key, i == chosen ? Damaged(member.value, random) : member.value);
  }
  return out;
}

std::vector<Json> Events(const standin::Dialect& dialect) {
  std::vector<Json> events;
  net::SseReader reader([&](const net::SseEvent& event) {
    if (auto json = data::ParseJson(event.data, "event")) events.push_back(std::move(*json));
  });
  const auto stream = dialect.Stream(SomeAnswer());
  for (const std::string& bytes : stream) reader.Feed(bytes);
  return events;
}

TEST(WireTest, DamagedAnswersAndStreamsAreReadOrRefused) {
  std::mt19937 random(7);
  size_t read = 0;
  size_t refused = 0;
  for (const Pair& pair : Pairs()) {
    const std::vector<Json> events = Events(pair.dialect);
    ASSERT_GT(events.size(), 3U);
    for (int i = 0; i < 2000; ++i) {
      const auto fold = pair.wire.NewFold();
      const size_t chosen = random() % events.size();
      for (size_t e = 0; e < events.size(); ++e) {
        if (fold->Add(e == chosen ? Damaged(events[e], random) : events[e])) break;
      }
      for (const Json& whole : {fold->Take(), Damaged(pair.dialect.Whole(SomeAnswer()), random)}) {
        const auto reply = pair.wire.Read(whole);
        ++(reply ? read : refused);
        if (!reply) continue;
        // What was read can be sent back.
        Request request;
        request.messages = {UserMessage("go"), reply->message};
        for (const ToolCall& call : reply->message.calls) {
          request.messages.push_back(ToolMessage(call, true, "done"));
        }
        EXPECT_FALSE(pair.wire.Body({}, request).Dump().empty());
      }
      pair.wire.ReadError(Damaged(pair.dialect.ErrorBody(429, "", "slow down"), random));
    }
  }
  EXPECT_GT(read, 1000U);
  EXPECT_GT(refused, 100U);
}

TEST(WireTest, ResponsesGetBackSealedReasoningOnlyAndNoIds) {
  const Wire& wire = OpenAiResponsesWire();
  Json whole = standin::OpenAiResponses().Whole(SomeAnswer());
  for (const bool sealed : {true, false}) {
    if (!sealed) {
      Json output = Json::MakeArray();
      for (const Json& item : whole.Find("output")->items()) {
        Json copy = item;
        if (copy.Find("encrypted_content")) copy.Set("encrypted_content", nullptr);
        output.Append(std::move(copy));
      }
      whole.Set("output", std::move(output));
    }
    Request request;
    request.messages = {UserMessage("go"), wire.Read(whole)->message};
    const std::string body = wire.Body({}, request).Dump();
    EXPECT_EQ(body.find("sealed-1") != std::string::npos, sealed);
    EXPECT_EQ(body.find("\"type\": \"reasoning\"") != std::string::npos, sealed);
    EXPECT_EQ(body.find("\"id\""), std::string::npos);
    EXPECT_NE(body.find("\"call_id\": \"call_1\""), std::string::npos);
  }
}

TEST(WireTest, ChatGetsReasoningBackWhereItIsWanted) {
  const Wire& wire = OpenAiChatWire();
  const auto fold = wire.NewFold();
  const std::vector<Json> events = Events(standin::OpenAiChat());
  for (const Json& event : events) fold->Add(event);
  Request request;
  request.messages = {UserMessage("go"), wire.Read(fold->Take())->message};
  WireConfig config;
  EXPECT_EQ(wire.Body(config, request).Dump().find("reasoning_content"), std::string::npos);
  config.echo_reasoning = true;
  EXPECT_NE(wire.Body(config, request).Dump().find("\"reasoning_content\": \"reasoning\""),
            std::string::npos);
}

TEST(WireTest, AMessageSurvivesItsRecord) {
  for (const Pair& pair : Pairs()) {
    const auto reply = pair.wire.Read(pair.dialect.Whole(SomeAnswer()));
    ASSERT_TRUE(reply) << reply.error().ToString();
    const Json record = MessageToJson(reply->message);
    const auto back = MessageFromJson(*data::ParseJson(record.Dump(), "record"));
    ASSERT_TRUE(back);
    EXPECT_EQ(MessageToJson(*back), record);
    Request before;
    before.messages = {UserMessage("go"), reply->message};
    Request after;
    after.messages = {UserMessage("go"), *back};
    EXPECT_EQ(pair.wire.Body({}, before), pair.wire.Body({}, after));
  }
  EXPECT_FALSE(MessageFromJson(Json::Of({{"role", "system"}})));
}

// A count below zero, above the range or not whole is none; sums stay in the range.
TEST(Wires, CountsOfTokensThatAreNoneAreNotTold) {
  const std::vector<std::pair<const Wire*, std::string>> answers = {
      {&OpenAiResponsesWire(), R"({"output": [], "usage": {"input_tokens": IN,
        "output_tokens": OUT, "input_tokens_details": {"cached_tokens": OUT},
        "output_tokens_details": {"reasoning_tokens": OUT}}})"},
      {&OpenAiChatWire(), R"({"choices": [{"message": {"content": "x"}}],
        "usage": {"prompt_tokens": IN, "completion_tokens": OUT,
        "prompt_tokens_details": {"cached_tokens": OUT},
        "completion_tokens_details": {"reasoning_tokens": OUT}}})"},
      {&GoogleWire(), R"({"candidates": [{"content": {"parts": [{"text": "x"}]}}],
        "usageMetadata": {"promptTokenCount": IN, "candidatesTokenCount": OUT,
        "thoughtsTokenCount": 5, "cachedContentTokenCount": OUT}})"},
      {&AnthropicWire(), R"({"content": [], "usage": {"input_tokens": IN, "output_tokens": OUT,
        "cache_read_input_tokens": OUT, "cache_creation_input_tokens": OUT}})"}};
  const auto read = [](const Wire& wire, std::string text, const std::string& count) {
    for (const std::string name : {"IN", "OUT"}) {
      for (size_t at = 0; (at = text.find(name)) != std::string::npos;) {
        text.replace(at, name.size(), count);
      }
    }
    const auto json = data::ParseJson(text, "answer");
    EXPECT_TRUE(json) << text;
    const auto reply = wire.Read(*json);
    EXPECT_TRUE(reply) << text;
    return reply->usage;
  };
  for (const auto& [wire, text] : answers) {
    for (const std::string bad :
         {"-1", "-9223372036854775808", "18446744073709551615", "1.5", "1e30", "\"7\"", "null"}) {
      const Usage usage = read(*wire, text, bad);
      EXPECT_FALSE(usage.in || usage.out || usage.cached) << bad << text;
      EXPECT_FALSE(CostUsd({.in = 1, .out = 1}, usage)) << bad;
    }
    const Usage most = read(*wire, text, "9223372036854775807");
    EXPECT_EQ(most.in, INT64_MAX) << text;
    EXPECT_EQ(most.out, INT64_MAX) << text;
    EXPECT_GT(*CostUsd({.in = 1, .out = 1}, most), 0);
  }
}

// Cached tokens beyond all of them would make an answer cost less than nothing.
TEST(Wires, MoreCachedTokensThanThereAreCostThePlainPrice) {
  Usage usage;
  usage.in = 1'000'000;
  usage.cached = INT64_MAX;
  usage.out = 0;
  EXPECT_DOUBLE_EQ(*CostUsd({.in = 2, .out = 1, .cached = 0.5}, usage), 2.0);
}

}  // namespace
}  // namespace szarena::model

// SPDX-License-Identifier: Apache-2.0
// Each provider against the stand-in for its service: answers, calls, usage, failures.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <ostream>
#include <thread>

#include "model/http_model.h"
#include "model/testing/standin.h"

namespace szarena::model {
namespace {

using data::Json;
using std::chrono::milliseconds;
using testing::HasSubstr;

struct Service {
  const char* protocol;
  const char* path;  // of base_url
  bool stream;
};
void PrintTo(const Service& service, std::ostream* out) {
  *out << service.protocol << (service.stream ? " streamed" : " whole");
}

std::string PrintName(const testing::TestParamInfo<Service>& info) {
  std::string name = std::string(info.param.protocol) + (info.param.stream ? "_stream" : "_whole");
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

// Remembers waits instead of waiting.
class FakeWaiter : public Waiter {
 public:
  explicit FakeWaiter(std::vector<milliseconds>& waits) : waits_(waits) {}
  bool Wait(milliseconds time, const std::stop_token& stop) override {
    waits_.push_back(time);
    return !stop.stop_requested();
  }

 private:
  std::vector<milliseconds>& waits_;
};

constexpr const char* kKey = "sk-test-0123456789abcdef";

class ProviderTest : public testing::TestWithParam<Service> {
 protected:
  void Start(const std::string& chats) {
    const auto json =
        data::ParseJson("{\"key\": \"" + std::string(kKey) + "\", \"chats\": " + chats + "}", "t");
    ASSERT_TRUE(json) << json.error().ToString();
    auto script = standin::ParseScript(*json, ".");
    ASSERT_TRUE(script) << script.error().ToString();
    auto started = standin::StandIn::Start(*script);
    ASSERT_TRUE(started) << started.error().ToString();
    standin_ = std::move(*started);
  }
  HttpModel Model(const std::string& key = kKey) {
    HttpModelConfig config;
    config.provider = "stand-in";
    config.protocol = GetParam().protocol;
    config.wire.base_url = standin_->url() + GetParam().path;
    config.wire.model = "m";
    config.wire.stream = GetParam().stream;
    config.wire.sampling = sampling_;
    config.key = Secret(key);
    config.price = Price{1, 2, 0.5, std::nullopt};
    config.max_reply_bytes = 100'000;
    config.idle_timeout = idle_timeout_;
    return HttpModel(std::move(config), nullptr, std::make_unique<FakeWaiter>(waits_));
  }
  Request Ask(const std::string& text) {
    Request request;
    request.system = "be brief";
    request.messages = {UserMessage(text)};
    request.tools = {{"write_file", "writes",
                      Json::Of({{"type", "object"},
                                {"properties", Json::MakeObject()},
                                {"additionalProperties", false}})}};
    return request;
  }
  CallHooks Hooks() {
    return {[this](const Retry& retry) { retries_.push_back(retry.reason); }, stop_.get_token()};
  }

  std::unique_ptr<standin::StandIn> standin_;
  Sampling sampling_;
  milliseconds idle_timeout_{10'000};
  std::vector<milliseconds> waits_;
  std::vector<std::string> retries_;
  std::stop_source stop_;
};

TEST_P(ProviderTest, AConversationWithCallsAndSealedReasoning) {
  Start(R"([{"turns": [
    {"text": "I write. \u00e4\u4e2d", "reasoning": "thinking hard", "calls": [
      {"name": "write_file", "arguments": {"path": "a.cpp", "text": "int x = 1;\n\"\u00e4\""}},
      {"name": "write_file", "arguments": {"path": "b.cpp"}}]},
    {"text": "Ready."}]}])");
  HttpModel model = Model();
  Request request = Ask("go");
  const auto first = model.Complete(request, Hooks());
  ASSERT_TRUE(first) << first.error().ToString();
  EXPECT_EQ(first->finish, Finish::kCalls);
  EXPECT_EQ(first->message.text, "I write. ä中");
  ASSERT_EQ(first->message.calls.size(), 2U);
  EXPECT_EQ(*first->message.calls[0].arguments.Find("text")->string(), "int x = 1;\n\"ä\"");
  EXPECT_NE(first->message.calls[0].id, first->message.calls[1].id);
  EXPECT_EQ(first->usage.in, 100);
  EXPECT_EQ(first->usage.cached, 40);
  EXPECT_EQ(first->usage.out, 20);
  if (std::string(GetParam().protocol) != "anthropic") {
    EXPECT_EQ(first->usage.reasoning, 8);
  }
  EXPECT_EQ(first->model_version, "stand-in-1");
  EXPECT_DOUBLE_EQ(*first->cost_usd, (60 + 40 * 0.5 + 20 * 2) / 1e6);

  request.messages.push_back(first->message);
  request.messages.push_back(ToolMessage(first->message.calls[0], true, "written"));
  request.messages.push_back(ToolMessage(first->message.calls[1], false, "text is missing"));
  request.messages.push_back(UserMessage("go on"));
  const auto second = model.Complete(request, Hooks());
  ASSERT_TRUE(second) << second.error().ToString();
  EXPECT_EQ(second->finish, Finish::kStop);
  EXPECT_EQ(second->message.text, "Ready.");
  const std::string sent = standin_->seen().back().body.Dump();
  EXPECT_THAT(sent, HasSubstr("text is missing"));
  EXPECT_THAT(sent, HasSubstr("go on"));
  const std::string protocol = GetParam().protocol;
  const std::map<std::string, std::string> goes_back = {{"openai-responses", "sealed-"},
                                                        {"anthropic", "sealed-"},
                                                        {"google", "thoughtSignature"},
                                                        {"openai-chat", "I write."}};
  EXPECT_THAT(sent, HasSubstr(goes_back.at(GetParam().protocol)));
}

// In text, in tool arguments and in the service's own form; streamed, it comes in pieces.
TEST_P(ProviderTest, AKeyThatAnAnswerRepeatsIsTakenOut) {
  Start(R"([{"turns": [{"text": "the key is sk-test-0123456789abcdef, yes", "calls": [
      {"name": "write_file", "arguments": {"path": "a", "text": "sk-test-0123456789abcdef"}}]}]}])");
  HttpModel model = Model();
  const auto reply = model.Complete(Ask("go"), Hooks());
  ASSERT_TRUE(reply) << reply.error().ToString();
  EXPECT_EQ(reply->message.text, "the key is [key], yes");
  ASSERT_EQ(reply->message.calls.size(), 1U);
  EXPECT_EQ(*reply->message.calls[0].arguments.Find("text")->string(), "[key]");
  EXPECT_EQ(MessageToJson(reply->message).Dump().find(kKey), std::string::npos);
}

TEST_P(ProviderTest, LimitsOverloadAndBrokenAnswersAreAskedAgain) {
  Start(R"([{"turns": [{"text": "at last, a long enough text to be cut", "faults": [
    {"status": 429, "retry_after": "3"}, {"status": 503}, {"cut_after": 150}, {"garbage": true}]}]}])");
  HttpModel model = Model();
  const auto reply = model.Complete(Ask("go"), Hooks());
  ASSERT_TRUE(reply) << reply.error().ToString();
  EXPECT_THAT(reply->message.text, HasSubstr("at last"));
  ASSERT_EQ(waits_.size(), 4U);
  EXPECT_GE(waits_[0], milliseconds(3000));
  EXPECT_THAT(retries_[0], HasSubstr("429"));
  EXPECT_THAT(retries_[1], HasSubstr("503"));
}

TEST_P(ProviderTest, ItGivesUpAfterItsTriesAndAtOnceWhereWaitingIsNoUse) {
  Start(R"([{"turns": [{"text": "x", "faults": [
    {"status": 429, "error_code": "insufficient_quota"},
    {"status": 429, "retry_after": "86400"},
    {"status": 500}, {"status": 500}, {"status": 500}, {"status": 500}, {"status": 500}, {"status": 500}]}]}])");
  HttpModel model = Model();
  for (const size_t waits : {0, 0, 5}) {
    waits_.clear();
    const auto reply = model.Complete(Ask("go"), Hooks());
    ASSERT_FALSE(reply);
    EXPECT_EQ(reply.error().code, ErrorCode::kUnavailable) << reply.error().ToString();
    EXPECT_EQ(waits_.size(), waits);
  }
}

TEST_P(ProviderTest, ARefusedKeyIsToldButNotShown) {
  Start(R"([{"turns": [{"text": "x"}]}])");
  const std::string wrong = "sk-wrong-key-987654321";
  HttpModel model = Model(wrong);
  const auto reply = model.Complete(Ask("go"), Hooks());
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(reply.error().ToString(), HasSubstr("[key]"));
  EXPECT_THAT(reply.error().ToString(), testing::Not(HasSubstr("987654321")));
  EXPECT_THAT(model.Identity().Dump(), testing::Not(HasSubstr("987654321")));
}

TEST_P(ProviderTest, AnswersThatCannotBeUsedSayWhy) {
  Start(R"([{"advance": "requests", "turns": [
    {"calls": [{"name": "write_file", "raw_arguments": "{\"path\": "}]},
    {"text": "I will not.", "finish": "refusal"},
    {"text": "I am cut o", "finish": "length"},
    {"text": "x", "faults": [{"padding": 1000000}]},
    {"text": "x", "faults": [{"status": 400, "error_code": "context_length_exceeded"}]}]}])");
  HttpModel model = Model();
  Request request = Ask("go");
  const auto malformed = model.Complete(request, Hooks());
  ASSERT_TRUE(malformed) << malformed.error().ToString();
  if (std::string(GetParam().protocol) == "google") {
    EXPECT_EQ(malformed->finish, Finish::kMalformed);
  } else {
    EXPECT_EQ(malformed->finish, Finish::kCalls);
    ASSERT_EQ(malformed->message.calls.size(), 1U);
    EXPECT_THAT(malformed->message.calls[0].fault, HasSubstr("JSON"));
    // It can be answered, and what goes back to the service is well-formed.
    request.messages.push_back(malformed->message);
    request.messages.push_back(ToolMessage(malformed->message.calls[0], false, "no JSON"));
  }
  EXPECT_EQ(model.Complete(request, Hooks())->finish, Finish::kRefused);
  EXPECT_EQ(model.Complete(request, Hooks())->finish, Finish::kLength);
  EXPECT_EQ(model.Complete(request, Hooks())->finish, Finish::kOversized);
  EXPECT_EQ(model.Complete(request, Hooks())->finish, Finish::kContextFull);
  EXPECT_TRUE(retries_.empty());
}

TEST_P(ProviderTest, SlowBytesArePatientlyReadAndAStopEndsThem) {
  Start(
      R"([{"advance": "requests", "turns": [{"text": "slow but whole", "faults": [{"delay_ms": 30}]},
    {"text": "too slow to wait for", "faults": [{"delay_ms": 400}]}]}])");
  HttpModel model = Model();
  EXPECT_EQ(model.Complete(Ask("go"), Hooks())->message.text, "slow but whole");
  std::jthread stopper([this] {
    while (standin_->seen().size() < 2) std::this_thread::yield();
    stop_.request_stop();
  });
  const auto stopped = model.Complete(Ask("go"), Hooks());
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code, ErrorCode::kCancelled);
}

TEST_P(ProviderTest, ADeadlineEndsTheWaiting) {
  Start(R"([{"turns": [{"text": "x", "faults": [{"status": 429, "retry_after": "30"}]}]}])");
  CallHooks hooks = Hooks();
  hooks.deadline = std::chrono::steady_clock::now() + milliseconds(5000);
  HttpModel model = Model();
  const auto reply = model.Complete(Ask("go"), hooks);
  ASSERT_TRUE(reply) << reply.error().ToString();
  EXPECT_EQ(reply->finish, Finish::kTooLate);
  EXPECT_TRUE(waits_.empty());
}

TEST_P(ProviderTest, SettingsAreSentOnlyWhereTheyAreMade) {
  Start(R"([{"turns": [{"text": "x"}]}])");
  ASSERT_TRUE(Model().Complete(Ask("go"), Hooks()));
  EXPECT_THAT(standin_->seen().back().body.Dump(), testing::Not(HasSubstr("temperature")));
  sampling_.temperature = 0.25;
  sampling_.max_output_tokens = 777;
  ASSERT_TRUE(Model().Complete(Ask("go"), Hooks()));
  EXPECT_THAT(standin_->seen().back().body.Dump(), HasSubstr("0.25"));
  EXPECT_THAT(standin_->seen().back().body.Dump(), HasSubstr("777"));
}

class SilentServiceTest : public ProviderTest {};

TEST_P(SilentServiceTest, IsGivenUpAndAskedAgain) {
  idle_timeout_ = milliseconds(200);
  Start(R"([{"turns": [{"text": "here", "faults": [{"delay_ms": 1500, "cut_after": 1}]}]}])");
  HttpModel model = Model();
  const auto reply = model.Complete(Ask("go"), Hooks());
  ASSERT_TRUE(reply) << reply.error().ToString();
  ASSERT_EQ(retries_.size(), 1U);
  EXPECT_THAT(retries_[0], HasSubstr("in time"));
}

INSTANTIATE_TEST_SUITE_P(One, SilentServiceTest, testing::Values(Service{"anthropic", "/v1", true}),
                         PrintName);

INSTANTIATE_TEST_SUITE_P(
    All, ProviderTest,
    testing::Values(Service{"openai-responses", "/v1", true},
                    Service{"openai-responses", "/v1", false}, Service{"openai-chat", "/v1", true},
                    Service{"openai-chat", "/v1", false}, Service{"google", "/v1beta", true},
                    Service{"google", "/v1beta", false}, Service{"anthropic", "/v1", true},
                    Service{"anthropic", "/v1", false}),
    PrintName);

}  // namespace
}  // namespace szarena::model

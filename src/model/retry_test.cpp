// SPDX-License-Identifier: Apache-2.0
#include "model/retry.h"

#include <gtest/gtest.h>

namespace szarena::model {
namespace {

using std::chrono::milliseconds;

TEST(RetryTest, ServicesFailuresHaveTheirClass) {
  struct Case {
    ServiceError error;
    FaultClass kind;
  };
  const auto after = milliseconds(5000);
  const Case cases[] = {
      {{429, "rate_limit_exceeded", "slow down"}, FaultClass::kAgain},
      {{429, "insufficient_quota", "You exceeded your current quota"}, FaultClass::kForGood},
      {{429, "RESOURCE_EXHAUSTED", "Quota exceeded for metric", after}, FaultClass::kAgain},
      {{500, "", ""}, FaultClass::kAgain},
      {{529, "overloaded_error", "Overloaded"}, FaultClass::kAgain},
      {{0, "overloaded_error", "Overloaded"}, FaultClass::kAgain},
      {{0, "server_error", "sorry"}, FaultClass::kAgain},
      {{0, "invalid_prompt", "no"}, FaultClass::kForGood},
      {{401, "invalid_api_key", "no"}, FaultClass::kForGood},
      {{404, "model_not_found", "no such model"}, FaultClass::kForGood},
      {{400, "context_length_exceeded", ""}, FaultClass::kContextFull},
      {{400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"},
       FaultClass::kContextFull},
      {{400, "INVALID_ARGUMENT", "The input token count (1) exceeds the maximum number of tokens"},
       FaultClass::kContextFull},
      {{400, "invalid_request_error", "unknown field"}, FaultClass::kForGood},
  };
  for (const Case& item : cases) {
    EXPECT_EQ(ClassifyServiceError(item.error, "x").kind, item.kind)
        << item.error.status << " " << item.error.code << " " << item.error.message;
  }
}

TEST(RetryTest, WaitsGrowAreRandomAndNeverShorterThanAsked) {
  const RetryPolicy policy;
  std::mt19937_64 random(1);
  for (int attempt = 1; attempt < policy.attempts; ++attempt) {
    const auto full = std::min(policy.first * (1 << (attempt - 1)), policy.longest);
    milliseconds least = policy.longest;
    milliseconds most{0};
    for (int i = 0; i < 200; ++i) {
      const auto wait = WaitBefore(policy, attempt, std::nullopt, random);
      ASSERT_TRUE(wait);
      least = std::min(least, *wait);
      most = std::max(most, *wait);
      EXPECT_GE(*WaitBefore(policy, attempt, milliseconds(7000), random), milliseconds(7000));
    }
    EXPECT_GE(least, full / 2);
    EXPECT_LE(most, full);
    EXPECT_GT(most, least);
  }
  EXPECT_FALSE(WaitBefore(policy, policy.attempts, std::nullopt, random));
  EXPECT_FALSE(WaitBefore(policy, 1, std::chrono::hours(2), random));
}

TEST(RetryTest, RetryAfterIsReadInEachForm) {
  const auto now = *net::ParseHttpDate("Wed, 21 Oct 2026 07:28:00 GMT");
  const auto read = [&](std::string name, std::string value) {
    net::HttpResponse response;
    response.headers = {{std::move(name), std::move(value)}};
    return RetryAfter(response, now);
  };
  EXPECT_EQ(read("Retry-After", "12"), milliseconds(12'000));
  EXPECT_EQ(read("retry-after", "0.25"), milliseconds(250));
  EXPECT_EQ(read("retry-after-ms", "350"), milliseconds(350));
  EXPECT_EQ(read("Retry-After", "Wed, 21 Oct 2026 07:28:30 GMT"), milliseconds(30'000));
  EXPECT_EQ(read("Retry-After", "Wed, 21 Oct 2026 07:00:00 GMT"), milliseconds(0));
  EXPECT_FALSE(read("Retry-After", "soon"));
  EXPECT_FALSE(read("Retry-After", "-3"));
  EXPECT_FALSE(read("Other", "3"));
  // Beyond every integer: a long wait, not a negative one.
  for (const char* name : {"Retry-After", "retry-after-ms"}) {
    for (const char* value : {"1e300", "99999999999999999999", "inf"}) {
      const auto wait = read(name, value);
      ASSERT_TRUE(wait) << name << value;
      EXPECT_GT(*wait, std::chrono::hours(24)) << name << value;
    }
  }
}

TEST(RetryTest, AStopEndsAWait) {
  std::stop_source stop;
  stop.request_stop();
  EXPECT_FALSE(Waiter().Wait(std::chrono::hours(1), stop.get_token()));
}

}  // namespace
}  // namespace szarena::model

// SPDX-License-Identifier: Apache-2.0
// Transcripts: damage is named, going on is exact or refused, time is summed.
#include "agent/transcript.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <iterator>

namespace szarena::agent {
namespace {

using data::Json;
using testing::HasSubstr;

constexpr const char* kHead =
    "{\"seq\": 0, \"at\": \"2026-04-22T10:00:00.000Z\", \"kind\": \"session\", \"version\": 3}\n";

class TranscriptTest : public testing::Test {
 protected:
  TranscriptTest()
      : path_(testing::TempDir() + "/transcript_" + std::to_string(getpid()) + ".jsonl") {}
  ~TranscriptTest() override { std::remove(path_.c_str()); }
  void Write(const std::string& text) { std::ofstream(path_, std::ios::binary) << text; }
  std::string Text() {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static std::string Line(int seq, const std::string& time, const std::string& rest) {
    return "{\"seq\": " + std::to_string(seq) + ", \"at\": \"2026-04-22T" + time +
           "Z\", \"kind\": " + rest + "}\n";
  }

  std::string path_;
};

TEST_F(TranscriptTest, DamagedLinesAreLeftOutAndNamedAndNothingGoesOnFromThem) {
  const std::string damaged = kHead + std::string("{garbage\n") +
                              Line(2, "10:00:01.000", "\"note\", \"what\": \"x\"") + "{\"seq\": 3";
  Write(damaged);
  const auto read = ReadTranscript(path_);
  ASSERT_TRUE(read) << read.error().ToString();
  EXPECT_EQ(read->records.size(), 2U);
  EXPECT_TRUE(read->torn_tail);
  const auto left_out = read->LeftOut(path_);
  ASSERT_EQ(left_out.size(), 2U);
  EXPECT_THAT(left_out[0], HasSubstr(".jsonl:2'"));
  EXPECT_THAT(left_out[1], HasSubstr("is torn"));
  const auto refused = [&](const std::string& text, const std::string& why) {
    Write(text);
    const auto transcript = Transcript::Continue(path_);
    ASSERT_FALSE(transcript) << why;
    EXPECT_EQ(transcript.error().code, ErrorCode::kInvalidArgument);
    EXPECT_THAT(transcript.error().message, HasSubstr(why));
    EXPECT_THAT(transcript.error().message, HasSubstr("without --resume"));
    EXPECT_EQ(Text(), text);  // as it was
  };
  refused(damaged, ".jsonl:2'");
  refused(kHead + Line(2, "10:00:01.000", "\"note\""), "record 1 is missing");
  refused(Line(0, "10:00:00.000", "\"session\", \"version\": 2"), "an older program");
}

TEST_F(TranscriptTest, RecordsThatAreNotInTheirPlaceAreNamed) {
  const auto named = [&](const std::vector<int>& order) {
    std::string text = kHead;
    for (const int seq : order) text += Line(seq, "10:00:01.000", "\"note\"");
    Write(text);
    return ReadTranscript(path_)->LeftOut(path_);
  };
  EXPECT_TRUE(named({1, 2, 3}).empty());
  const auto twice = named({1, 1, 2});
  ASSERT_EQ(twice.size(), 1U);
  EXPECT_THAT(twice[0], HasSubstr("record 3 of"));
  EXPECT_THAT(twice[0], HasSubstr("seq 1) is not in its place"));
  const auto exchanged = named({2, 1, 3});
  ASSERT_EQ(exchanged.size(), 2U);
  EXPECT_THAT(exchanged[0], HasSubstr("seq 1 to 1"));
  EXPECT_THAT(exchanged[1], HasSubstr("record 3 of"));
  EXPECT_EQ(named({1, 70, 2}).size(), 2U);  // one of another transcript
  EXPECT_EQ(named(std::vector<int>(100, 0)).size(), 21U);
}

TEST_F(TranscriptTest, ATornLineIsCutOffWhereItGoesOn) {
  for (const std::string& tail :
       {std::string(), std::string("{"), Line(1, "10:00:01.000", "\"note\"").substr(0, 40),
        std::string(100, '\0')}) {
    Write(kHead + tail);
    {
      auto transcript = Transcript::Continue(path_);
      ASSERT_TRUE(transcript) << transcript.error().ToString();
      ASSERT_TRUE(transcript->Add("note", Json::Of({{"what", "new"}})));
    }
    const auto read = ReadTranscript(path_);
    ASSERT_TRUE(read);
    EXPECT_TRUE(read->LeftOut(path_).empty());
    ASSERT_EQ(read->records.size(), 2U);
    EXPECT_EQ(read->records[1].Find("seq")->integer(), 1);
  }
}

TEST_F(TranscriptTest, StepsAreGivenBackInTheirOrderAndNoOther) {
  Write(kHead + Line(1, "10:00:01.000", "\"note\", \"what\": \"one\"") +
        Line(2, "10:00:02.000", "\"retry\"") +
        Line(3, "10:00:03.000", "\"attempt\", \"number\": 1, \"label\": \"lost\"") +
        Line(4, "10:00:04.000", "\"attempt\", \"number\": 1, \"label\": \"stored\"") +
        Line(5, "10:00:05.000", "\"tool-call\", \"tool\": \"build\", \"arguments\": {}"));
  auto transcript = Transcript::Continue(path_);
  ASSERT_TRUE(transcript) << transcript.error().ToString();
  EXPECT_TRUE(transcript->Replaying());
  EXPECT_EQ(*transcript->earlier_attempts().at(1).Find("label")->string(), "stored");
  const auto other = transcript->Again("note", Json::Of({{"what", "two"}}));
  ASSERT_FALSE(other);
  EXPECT_THAT(other.error().message, HasSubstr("its record 1 is a 'note'"));
  EXPECT_TRUE((*transcript->Again("note", Json::Of({{"what", "one"}}))).has_value());
  EXPECT_FALSE(transcript->Again("note", Json::MakeObject()));
  const auto call = transcript->Again("tool-call", Json::Of({{"tool", "build"}}));
  ASSERT_TRUE(call && *call);
  EXPECT_FALSE(transcript->Replaying());
  EXPECT_FALSE((*transcript->Again("tool-result", Json::MakeObject())).has_value());
}

TEST_F(TranscriptTest, TheTimeOfAllRunsIsSummedAndNotTheTimeBetween) {
  Write(kHead + Line(1, "10:00:07.500", "\"usage\"") + Line(2, "10:00:10.000", "\"alive\"") +
        Line(3, "15:30:00.000", "\"resume\"") + Line(4, "15:30:02.250", "\"note\"") +
        Line(5, "17:00:00.000", "\"resume\""));
  EXPECT_DOUBLE_EQ(ReadTranscript(path_)->WallSeconds(), 12.25);
}

TEST_F(TranscriptTest, AQuietSessionShowsThatItRuns) {
  auto transcript = Transcript::Create(path_);
  ASSERT_TRUE(transcript);
  ASSERT_TRUE(transcript->Beat(std::chrono::hours(1)));
  EXPECT_EQ(Text(), "");
  ASSERT_TRUE(transcript->Beat(std::chrono::seconds(0)));
  EXPECT_THAT(Text(), HasSubstr("\"alive\""));
}

}  // namespace
}  // namespace szarena::agent

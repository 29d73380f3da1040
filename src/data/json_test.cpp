// SPDX-License-Identifier: Apache-2.0
// JSON values: exactness, order, hostile text, torn files.
#include "data/json.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <fstream>
#include <limits>

#include "data/json_reader.h"
#include "data/sha256.h"

namespace szarena::data {
namespace {

TEST(Json, KeepsOrderAndIntegersExactly) {
  const std::string text =
      R"({"z": 1, "a": 18446744073709551615, "m": -9223372036854775808, "d": 0.1, "e": 2.0})";
  const auto json = ParseJson(text, "text");
  ASSERT_TRUE(json) << json.error().ToString();
  EXPECT_EQ(json->Dump(), text);
  EXPECT_EQ(json->Find("a")->unsigned_integer(), std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(json->Find("a")->integer(), std::nullopt);
  EXPECT_EQ(json->Find("m")->integer(), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(json->Find("z")->unsigned_integer(), 1U);
  EXPECT_EQ(json->Find("d")->number(), 0.1);
  EXPECT_FALSE(json->Find("e")->is_int());
}

TEST(Json, FiguresThatHaveNoMeaningAreNull) {
  const Json json =
      Json::Of({{"nan", std::nan("")}, {"none", std::optional<double>()}, {"x", 1.5}});
  EXPECT_EQ(json.Dump(), R"({"nan": null, "none": null, "x": 1.5})");
}

TEST(Json, EscapesAndReplacesBadUtf8) {
  const Json json(std::string("a\"\\\n\x01\xFFz\xC3\xA9\xED\xA0\x80", 12));
  const std::string text = json.Dump();
  EXPECT_EQ(text,
            "\"a\\\"\\\\\\n\\u0001\xEF\xBF\xBDz\xC3\xA9\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\"");
  EXPECT_TRUE(ParseJson(text, "text"));
}

TEST(Json, PrettyReadsBackEqual) {
  Json json = Json::Of({{"list", Json::MakeArray()}, {"empty", Json::MakeObject()}});
  json.Set("list", Json().Append(1).Append("two").Append(nullptr).Append(true));
  const auto back = ParseJson(json.Dump(2), "text");
  ASSERT_TRUE(back);
  EXPECT_EQ(*back, json);
  EXPECT_NE(json.Dump(2).find("\n  \"list\": [\n    1,"), std::string::npos);
}

TEST(Json, WhatSteersATerminalIsEscaped) {
  const std::string text =
      "a\x1b[2J\x7f\xc2\x9b\xd8\x9c\xe2\x80\x8e\xe2\x80\xae\xe2\x81\xa6 \xc3\xa9 \xe2\x82\xac "
      "\xf0\x9f\x98\x80";
  const std::string written = Json(text).Dump();
  EXPECT_EQ(written,
            "\"a\\u001b[2J\\u007f\\u009b\\u061c\\u200e\\u202e\\u2066 \xc3\xa9 \xe2\x82\xac "
            "\xf0\x9f\x98\x80\"");
  EXPECT_EQ(*ParseJson(written, "text"), Json(text));
}

TEST(Json, ANumberBeyondDoublePrecisionIsSaidToBeOne) {
  const auto json = ParseJson("[" + std::string(309, '9') + "]", "a.json");
  ASSERT_FALSE(json);
  EXPECT_NE(json.error().message.find("a number beyond double precision, of 309 characters"),
            std::string::npos)
      << json.error().message;
  EXPECT_LT(json.error().message.size(), 150U);
}

TEST(Json, RefusesHostileText) {
  for (const std::string& text :
       {std::string(""), std::string("{"), std::string("[1,]"), std::string("{\"a\":1,\"a\":2}"),
        std::string("1e999"), std::string("\"\xFF\""), std::string("[1] x"),
        std::string(100000, '[')}) {
    const auto json = ParseJson(text, "hostile.json");
    ASSERT_FALSE(json) << text.substr(0, 20);
    EXPECT_EQ(json.error().code, ErrorCode::kCorrupt);
    EXPECT_NE(json.error().message.find("hostile.json"), std::string::npos);
  }
}

TEST(Json, LinesWithATornTail) {
  const std::string path = testing::TempDir() + "/lines_" + std::to_string(getpid()) + ".jsonl";
  std::ofstream(path) << "{\"a\": 1}\n{\"a\": 2}\n{\"a\": ";
  const auto lines = ReadJsonLines(path);
  ASSERT_TRUE(lines) << lines.error().ToString();
  EXPECT_EQ(lines->values.size(), 2U);
  EXPECT_TRUE(lines->torn_tail);
  std::ofstream(path) << "{\"a\": 1}\n{oops}\n";
  const auto bad = ReadJsonLines(path);
  ASSERT_FALSE(bad);
  EXPECT_NE(bad.error().message.find(":2'"), std::string::npos) << bad.error().message;
  std::ofstream(path) << "{\"a\": 1}\n{oops}\n{\"a\": 2}\n";
  const auto rest = ReadJsonLines(path, BadLines::kSkip);
  ASSERT_TRUE(rest) << rest.error().ToString();
  EXPECT_EQ(rest->values.size(), 2U);
  ASSERT_EQ(rest->faults.size(), 1U);
  EXPECT_NE(rest->faults[0].message.find(":2'"), std::string::npos) << rest->faults[0].message;
  std::remove(path.c_str());
  EXPECT_EQ(ReadJsonLines(path).error().code, ErrorCode::kNotFound);
  for (const auto& error :
       {ReadJsonLines(testing::TempDir()).error(), ReadJsonFile(testing::TempDir()).error()}) {
    EXPECT_EQ(error.code, ErrorCode::kInvalidArgument);
    EXPECT_NE(error.message.find("is a folder"), std::string::npos) << error.message;
  }
}

TEST(Sha256, KnownDigests) {  // FIPS 180-2, appendix B
  EXPECT_EQ(Sha256Hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(Sha256Hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

TEST(JsonReader, ErrorsNameObjectAndKey) {
  const auto json = ParseJson(R"({"n": 3, "s": "x", "o": {"t": true}, "null": null})", "f");
  const JsonReader reader(*json, "f.json");
  EXPECT_EQ(*reader.GetInt("n"), 3);
  EXPECT_EQ(*reader.GetNumber("n"), 3.0);
  EXPECT_EQ(*reader.GetObject("o")->GetBool("t"), true);
  EXPECT_EQ(*reader.OptionalNumber("null"), std::nullopt);
  EXPECT_EQ(reader.GetString("n").error().message, "f.json: 'n' is not a string");
  EXPECT_EQ(reader.GetString("q").error().message, "f.json: 'q' is missing");
  EXPECT_EQ(reader.GetObject("o")->GetInt("t").error().message,
            "f.json: o: 't' is not a whole number");
  EXPECT_FALSE(reader.OptionalNumber("s"));
  EXPECT_FALSE(reader.RefuseOtherKeys({"n", "s", "o"}));
  EXPECT_TRUE(reader.RefuseOtherKeys({"n", "s", "o", "null"}));
}

}  // namespace
}  // namespace szarena::data

// SPDX-License-Identifier: Apache-2.0
// TOML into Json: order, kinds, positions in errors.
#include "data/toml.h"

#include <gtest/gtest.h>

namespace szarena::data {
namespace {

TEST(Toml, KeepsOrderAndKinds) {
  const auto json = ParseToml(
      "name = 'szp'\nbounds = [1e-3, 1e-4]\nn = 7\n[targets.cuda]\nok = true\n[targets.cpu]\n"
      "day = 2026-04-22\n",
      "task.toml");
  ASSERT_TRUE(json) << json.error().ToString();
  EXPECT_EQ(json->Dump(), R"({"name": "szp", "bounds": [0.001, 1e-04], "n": 7, )"
                          R"("targets": {"cuda": {"ok": true}, "cpu": {"day": "2026-04-22"}}})");
}

TEST(Toml, ErrorsSayWhere) {
  const auto bad = ParseToml("a = 1\nb = = 2\n", "x.toml");
  ASSERT_FALSE(bad);
  EXPECT_NE(bad.error().message.find("'x.toml' line 2"), std::string::npos) << bad.error().message;
  EXPECT_FALSE(ParseToml("a = nan\n", "x.toml"));
  EXPECT_EQ(ReadTomlFile("/nonexistent/x.toml").error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace szarena::data

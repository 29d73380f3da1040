// SPDX-License-Identifier: Apache-2.0
// docs/verdict.schema.json and VerdictToJson say the same: every verdict made here is valid, and tampered ones are not.
#include <gtest/gtest.h>

#include <algorithm>

#include "data/json.h"
#include "judge/verdict.h"

namespace szarena::judge {
namespace {

using data::Json;

// The part of draft-07 that the schema uses. Returns the path of the first fault, or "".
class Validator {
 public:
  explicit Validator(const Json& root) : root_(root) {}

  std::string Check(const Json& schema, const Json& value, const std::string& path) const {
    if (const Json* ref = schema.Find("$ref")) {
      const std::string name = ref->string()->substr(std::string("#/definitions/").size());
      return Check(*root_.FindPath({"definitions", name}), value, path);
    }
    if (const Json* any = schema.Find("anyOf")) {
      for (const Json& choice : any->items()) {
        if (Check(choice, value, path).empty()) return "";
      }
      return path + ": no choice fits";
    }
    if (const Json* choices = schema.Find("enum")) {
      const auto& items = choices->items();
      if (std::find(items.begin(), items.end(), value) == items.end()) return path + ": not in the list";
    }
    if (const Json* type = schema.Find("type")) {
      const bool fits = type->is_array()
                            ? std::any_of(type->items().begin(), type->items().end(),
                                          [&](const Json& one) { return HasType(value, *one.string()); })
                            : HasType(value, *type->string());
      if (!fits) return path + ": wrong type";
    }
    if (value.is_object()) return CheckObject(schema, value, path);
    if (value.is_array()) {
      if (const Json* least = schema.Find("minItems"); least && value.items().size() < *least->unsigned_integer()) return path + ": too short";
      for (const Json& item : value.items()) {
        if (const Json* items = schema.Find("items")) {
          if (std::string fault = Check(*items, item, path + "[]"); !fault.empty()) return fault;
        }
      }
    }
    return "";
  }

 private:
  static bool HasType(const Json& value, const std::string& type) {
    if (type == "null") return value.is_null();
    if (type == "string") return value.is_string();
    if (type == "boolean") return value.is_bool();
    if (type == "integer") return value.is_int();
    if (type == "number") return value.is_number();
    return type == "array" ? value.is_array() : type == "object" && value.is_object();
  }

  std::string CheckObject(const Json& schema, const Json& value, const std::string& path) const {
    if (const Json* required = schema.Find("required")) {
      for (const Json& key : required->items()) {
        if (value.Find(*key.string()) == nullptr) return path + "." + *key.string() + ": missing";
      }
    }
    const Json* properties = schema.Find("properties");
    const Json* additional = schema.Find("additionalProperties");
    for (const data::JsonMember& member : value.members()) {
      const std::string at = path + "." + member.key;
      const Json* own = properties == nullptr ? nullptr : properties->Find(member.key);
      if (own == nullptr && additional != nullptr) {
        if (additional->is_bool()) return at + ": not allowed";
        own = additional;
      }
      if (own == nullptr) continue;
      if (std::string fault = Check(*own, member.value, at); !fault.empty()) return fault;
    }
    return "";
  }

  const Json& root_;
};

Verdict Full() {
  Verdict verdict;
  verdict.task = "szp";
  verdict.target = "cpu";
  verdict.candidate_sha256 = std::string(64, 'a');
  for (StageResult& stage : verdict.stages) stage = {StageStatus::kOk, 0.5, "fine"};
  verdict.ratio = verdict.reference_ratio = verdict.max_error_over_bound = verdict.psnr = verdict.nrmse = 1.5;
  verdict.peak_memory_bytes = 1;
  for (DirectionResult& direction : verdict.directions) {
    direction.candidate = direction.baseline = Throughput{std::nullopt, std::nullopt, Figure{1, 1, 1, 10}, Basis::kMeasured};
    direction.speedup = Figure{1, 1, 1, 10};
    direction.floor_fraction = 0.5;
  }
  verdict.flags.push_back({"work-left-running", FlagKind::kCheat, "it ran"});
  verdict.cases.push_back({.name = "smooth", .n = 3, .abs_bound = 0.1, .ratio = 2});
  return verdict;
}

TEST(VerdictSchema, DescribesEveryVerdict) {
  const auto schema = data::ReadJsonFile(SZARENA_SOURCE_DIR "/docs/verdict.schema.json");
  ASSERT_TRUE(schema) << schema.error().ToString();
  const Validator validator(*schema);
  Verdict empty;
  empty.task = "scan";
  empty.target = "cpu";
  EXPECT_EQ(validator.Check(*schema, VerdictToJson(empty), ""), "");
  EXPECT_EQ(validator.Check(*schema, VerdictToJson(Full()), ""), "");
}

TEST(VerdictSchema, RefusesWhatIsNoVerdict) {
  const auto schema = data::ReadJsonFile(SZARENA_SOURCE_DIR "/docs/verdict.schema.json");
  ASSERT_TRUE(schema);
  const Validator validator(*schema);
  Json extra = VerdictToJson(Full());
  extra.Set("score", 17);
  EXPECT_EQ(validator.Check(*schema, extra, ""), ".score: not allowed");
  Json stage = VerdictToJson(Full());
  stage.Set("stage", "polished");
  EXPECT_EQ(validator.Check(*schema, stage, ""), ".stage: no choice fits");
  Json ratio = VerdictToJson(Full());
  ratio.Set("ratio", "good");
  EXPECT_EQ(validator.Check(*schema, ratio, ""), ".ratio: wrong type");
}

}  // namespace
}  // namespace szarena::judge

// SPDX-License-Identifier: Apache-2.0
// What the validator accepts and what it says.
#include "data/schema.h"

#include <gtest/gtest.h>

namespace szarena::data {
namespace {

std::string Fault(std::string_view schema, std::string_view value) {
  return SchemaFault(*ParseJson(schema, "schema"), *ParseJson(value, "value"));
}

TEST(Schema, NamesTheFirstFault) {
  constexpr std::string_view kSchema =
      R"({"type": "object", "properties": {"path": {"type": "string", "maxLength": 3},
          "offset": {"type": ["integer", "null"], "minimum": 0, "maximum": 9},
          "mode": {"enum": ["a", "b"]}, "list": {"type": "array", "minItems": 1, "items": {"type": "number"}}},
          "required": ["path"], "additionalProperties": false})";
  EXPECT_EQ(Fault(kSchema, R"({"path": "x", "offset": null, "mode": "b", "list": [1, 2.5]})"), "");
  EXPECT_EQ(Fault(kSchema, "[]"), "$: must be object");
  EXPECT_EQ(Fault(kSchema, "{}"), "$.path: is missing");
  EXPECT_EQ(Fault(kSchema, R"({"path": 3})"), "$.path: must be string");
  EXPECT_EQ(Fault(kSchema, R"({"path": "long"})"), "$.path: must have at most 3 bytes");
  EXPECT_EQ(Fault(kSchema, R"({"path": "x", "offset": 1.5})"), "$.offset: must be integer or null");
  EXPECT_EQ(Fault(kSchema, R"({"path": "x", "offset": -1})"), "$.offset: must be at least 0");
  EXPECT_EQ(Fault(kSchema, R"({"path": "x", "offset": 10})"), "$.offset: must be at most 9");
  EXPECT_EQ(Fault(kSchema, R"({"path": "x", "mode": "c"})"),
            R"($.mode: must be one of ["a", "b"])");
  EXPECT_EQ(Fault(kSchema, R"({"path": "x", "list": []})"), "$.list: must have at least 1 items");
  EXPECT_EQ(Fault(kSchema, R"({"path": "x", "list": [1, "2"]})"), "$.list[1]: must be number");
  EXPECT_EQ(Fault(kSchema, R"({"path": "x", "pth": 1})"), "$.pth: is not known here");
}

TEST(Schema, FollowsReferencesAndChoices) {
  constexpr std::string_view kSchema =
      R"({"definitions": {"node": {"type": "object", "properties": {"next": {"anyOf": [{"type": "null"},
          {"$ref": "#/definitions/node"}]}}, "required": ["next"]}}, "$ref": "#/definitions/node"})";
  EXPECT_EQ(Fault(kSchema, R"({"next": {"next": null}})"), "");
  EXPECT_EQ(Fault(kSchema, R"({"next": {}})"), "$.next: fits none of the forms allowed");
  EXPECT_NE(
      Fault(R"({"definitions": {"a": {"$ref": "#/definitions/a"}}, "$ref": "#/definitions/a"})",
            "1"),
      "");
}

}  // namespace
}  // namespace szarena::data

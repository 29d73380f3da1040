// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "csl/driver/driver.h"
#include "csl/driver/options.h"

namespace szarena::csl {
namespace {

Options Good(std::vector<std::string> args) {
  auto options = ParseOptions(args);
  EXPECT_TRUE(options) << options.error().message;
  return options.value_or(Options{});
}

std::string Bad(std::vector<std::string> args) {
  auto options = ParseOptions(args);
  EXPECT_FALSE(options);
  return options ? "" : options.error().message;
}

TEST(Options, EveryFlagInBothForms) {
  Options o = Good({"--arch",
                    "wse3",
                    "./layout.csl",
                    "--fabric-dims=11,5",
                    "--fabric-offsets",
                    "4,1",
                    "--params=M:4,N:-6",
                    "--params=K:0x10",
                    "--colors=c:3",
                    "-o=out_code",
                    "--memcpy",
                    "--channels",
                    "1",
                    "--width-west-buf=2",
                    "--width-east-buf=3",
                    "--import-path",
                    "a",
                    "--import-path=b",
                    "--fp16-format=cb16",
                    "--max-inlined-iterations=9",
                    "--link-section-start-address-bytes=.text:1000",
                    "--verbose",
                    "--json"});
  EXPECT_EQ(o.input, "./layout.csl");
  EXPECT_EQ(o.output, "out_code");
  EXPECT_EQ(o.arch, bytecode::Arch::kWse3);
  EXPECT_EQ(o.fabric_width, 11);
  EXPECT_EQ(o.fabric_height, 5);
  EXPECT_EQ(o.offset_x, 4);
  EXPECT_EQ(o.offset_y, 1);
  EXPECT_EQ(o.params,
            (std::vector<std::pair<std::string, int64_t>>{{"M", 4}, {"N", -6}, {"K", 16}}));
  EXPECT_EQ(o.colors, (std::vector<std::pair<std::string, int64_t>>{{"c", 3}}));
  EXPECT_TRUE(o.memcpy && o.verbose && o.json);
  EXPECT_EQ(o.channels, 1);
  EXPECT_EQ(o.west_buffer, 2);
  EXPECT_EQ(o.east_buffer, 3);
  EXPECT_EQ(o.import_paths, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(o.fp16, bytecode::FloatFormat::kCb16);
  EXPECT_EQ(o.max_inlined_iterations, 9u);
  EXPECT_EQ(o.section_addresses.size(), 1u);
  EXPECT_EQ(Good({"a.csl"}).output, "out");
}

TEST(Options, FlagsWithoutMeaning) {
  EXPECT_EQ(Good({"a.csl", "--dump-dsr-alloc-graph"}).warnings.size(),
            1u);  // asks for something that is not made: said
  Options o = Good({"--max-parallelism", "4", "-g0", "a.csl"});  // changes how, not what: silent
  EXPECT_EQ(o.input, "a.csl");
  EXPECT_TRUE(o.warnings.empty());
  EXPECT_NE(Bad({"a.csl", "--max-parallelism=many"}).find("integer"), std::string::npos);
}

TEST(Options, UnknownFlagsAreErrorsWithASuggestion) {
  EXPECT_NE(Bad({"a.csl", "--unheard-of=1"}).find("unknown flag '--unheard-of'"),
            std::string::npos);
  EXPECT_NE(Bad({"a.csl", "--memcpi"}).find("did you mean '--memcpy'"), std::string::npos);
  EXPECT_NE(Bad({"a.csl", "--fabric-dim=8,3"}).find("did you mean '--fabric-dims'"),
            std::string::npos);
}

TEST(Options, OutputFlags) {
  Options o = Good({"a.csl", "--output-json", "--out-routes", "--warnings-as-errors",
                    "--comptime-func-depth-limit=7"});
  EXPECT_EQ(o.input, "a.csl");  // the path stands behind '=' only
  EXPECT_TRUE(o.output_json && o.out_routes && o.warnings_as_errors);
  EXPECT_EQ(o.output_json_path, "");
  EXPECT_EQ(o.comptime_depth, 7u);
  EXPECT_EQ(Good({"a.csl", "--output-json=b.json"}).output_json_path, "b.json");
  EXPECT_NE(Bad({"a.csl", "--output-json="}).find("name of a file"), std::string::npos);
  EXPECT_NE(Bad({"a.csl", "--out-routes=1"}).find("takes no value"), std::string::npos);
  EXPECT_NE(Bad({"a.csl", "--comptime-func-depth-limit=0"}).find("from 1"), std::string::npos);
}

TEST(Options, MistakesNameTheFlagAndTheRemedy) {
  EXPECT_NE(Bad({}).find("usage"), std::string::npos);
  EXPECT_NE(Bad({"a.csl", "b.csl"}).find("'b.csl'"), std::string::npos);
  EXPECT_NE(Bad({"a.csl", "--arch=wse9"}).find("wse2, wse3"), std::string::npos);
  EXPECT_NE(Bad({"a.csl", "--fabric-dims=8"}).find("--fabric-dims=8,3"), std::string::npos);
  EXPECT_NE(Bad({"a.csl", "--fabric-dims=8,99999"}).find("two numbers"), std::string::npos);
  EXPECT_NE(Bad({"a.csl", "--params=M"}).find("NAME:INTEGER"), std::string::npos);
  EXPECT_NE(Bad({"a.csl", "--params=M:1,M:2"}).find("twice"), std::string::npos);
  EXPECT_NE(Bad({"a.csl", "--channels=17"}).find("0 to 16"), std::string::npos);
  EXPECT_NE(Bad({"a.csl", "--memcpy=1"}).find("takes no value"), std::string::npos);
  EXPECT_NE(Bad({"a.csl", "-o"}).find("needs a value"), std::string::npos);
  EXPECT_NE(Bad({"a.csl", "--nonsense"}).find("unknown flag"), std::string::npos);
}

TEST(Options, HelpListsEveryFlag) {
  EXPECT_TRUE(Good({"--help"}).help);
  EXPECT_TRUE(Good({"--print-cost-model"}).print_cost_model);
  EXPECT_NE(OptionsHelp().find("--fp16-format=FORMAT"), std::string::npos);
}

TEST(PathList, EmptyPartsAreNoDirectories) {
  EXPECT_EQ(SplitPathList("a:b::c:"), (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_TRUE(SplitPathList("").empty());
}

}  // namespace
}  // namespace szarena::csl

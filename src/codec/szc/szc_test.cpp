// SPDX-License-Identifier: Apache-2.0
// The program as a user meets it: whole commands, their statuses and messages, and what is left on
// disk.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include "codec/szc/commands.h"
#include "data/json.h"

namespace szarena::codec::szc {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

struct Outcome {
  int status;
  std::string out, err;
};

class Szc : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = fs::temp_directory_path() / "szc-test-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string Path(const std::string& name) const { return folder_ / name; }

  template <typename T>
  std::string Write(const std::string& name, const std::vector<T>& values) {
    std::ofstream file(Path(name), std::ios::binary);
    file.write(reinterpret_cast<const char*>(values.data()),
               static_cast<std::streamsize>(values.size() * sizeof(T)));
    return Path(name);
  }
  template <typename T>
  std::vector<T> Read(const std::string& name) const {
    std::vector<T> values(fs::file_size(Path(name)) / sizeof(T));
    std::ifstream file(Path(name), std::ios::binary);
    file.read(reinterpret_cast<char*>(values.data()),
              static_cast<std::streamsize>(values.size() * sizeof(T)));
    return values;
  }
  std::size_t FilesInFolder() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }

  static Outcome Run(std::vector<std::string> words) {
    std::vector<const char*> argv = {"szc"};
    for (const auto& word : words) argv.push_back(word.c_str());
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    const int status = RunSzc(static_cast<int>(argv.size()), argv.data());
    std::fflush(stdout);
    return {status, testing::internal::GetCapturedStdout(), testing::internal::GetCapturedStderr()};
  }
  static data::Json ParseJson(const Outcome& outcome) {
    auto json = data::ParseJson(outcome.out, "stdout");
    EXPECT_TRUE(json) << outcome.out << outcome.err;
    return json ? *json : data::Json();
  }

  template <typename T>
  static std::vector<T> Waves(std::size_t n) {
    std::vector<T> values(n);
    for (std::size_t i = 0; i < n; ++i)
      values[i] = static_cast<T>(std::sin(static_cast<double>(i) / 50) * 100);
    return values;
  }

 private:
  fs::path folder_;
};

TEST_F(Szc, RoundTripOfEveryCodecModeAndType) {
  const auto f32 = Write("a.f32", Waves<float>(30 * 41));
  const auto f64 = Write("a.f64", Waves<double>(30 * 41));
  const std::vector<std::pair<std::string, std::string>> modes = {{"szp", "fixed"},
                                                                  {"szp", "plain"},
                                                                  {"szp", "outlier"},
                                                                  {"szx", "random-access"},
                                                                  {"szx", "sequential"}};
  for (const auto& [codec, mode] : modes) {
    for (const std::string dtype : {"f32", "f64"}) {
      const std::string input = dtype == "f32" ? f32 : f64;
      const auto made = Run({"compress", input, "-o", Path("a.szc"), "--codec", codec, "--mode",
                             mode, "--abs", "0.01", "--dtype", dtype, "--dims", "30,41", "--json"});
      ASSERT_EQ(made.status, 0) << made.err;
      EXPECT_GT(*ParseJson(made).Find("ratio")->number(), 1);
      const auto seen = ParseJson(Run({"inspect", Path("a.szc"), "--json"}));
      EXPECT_EQ(*seen.Find("codec")->string(), codec);
      EXPECT_EQ(*seen.Find("mode")->string(), mode);
      EXPECT_EQ(*seen.Find("dims")->string(), "30x41");
      const auto back =
          Run({"decompress", Path("a.szc"), "-o", Path("b." + dtype), "--threads", "2"});
      ASSERT_EQ(back.status, 0) << back.err;
      const auto compared =
          Run({"compare", input, Path("b." + dtype), "--dtype", dtype, "--abs", "0.01", "--json"});
      ASSERT_EQ(compared.status, 0) << compared.out << compared.err;
      const auto json = ParseJson(compared);
      EXPECT_EQ(json.Find("n")->integer(), 30 * 41);
      EXPECT_EQ(json.Find("violations")->integer(), 0);
      EXPECT_LE(*json.Find("max_abs_error")->number(), 0.01);
      EXPECT_GT(*json.Find("psnr")->number(), 60);
      EXPECT_GT(*json.Find("nrmse")->number(), 0);
    }
  }
}

TEST_F(Szc, RelativeBoundFillAndNpy) {
  auto values = Waves<float>(1000);
  for (std::size_t i = 0; i < values.size(); i += 10) values[i] = -1e34F;
  const auto input = Write("a.bin", values);
  const auto made = Run({"compress", input, "-o", Path("a.szc"), "--codec", "szx", "--rel", "1e-3",
                         "--dtype", "f32", "--fill", "-1e34", "--json"});
  ASSERT_EQ(made.status, 0) << made.err;
  EXPECT_NEAR(*ParseJson(made).Find("abs_bound")->number(), 0.2, 0.001);  // not 1e31
  ASSERT_EQ(Run({"decompress", Path("a.szc"), "-o", Path("b.npy")}).status, 0);
  const auto compared = Run({"compare", input + ":dtype=f32", Path("b.npy"), "--fill", "-1e34",
                             "--abs", "0.2", "--json"});
  EXPECT_EQ(compared.status, 0) << compared.out << compared.err;
  EXPECT_EQ(ParseJson(compared).Find("fill_values")->integer(), 100);
}

TEST_F(Szc, RefusesBoundsWithoutMeaning) {
  const auto input = Write("a.f32", Waves<float>(10));
  for (const std::string bound : {"0", "-1", "-0.0", "nan", "inf", "abc", ""}) {
    for (const std::string kind : {"--abs", "--rel"}) {
      const auto made =
          Run({"compress", input, "-o", Path("a.szc"), "--codec", "szp", kind, bound});
      EXPECT_EQ(made.status, 2) << bound;
      EXPECT_THAT(made.err, HasSubstr(kind)) << bound;
    }
  }
  EXPECT_EQ(Run({"compress", input, "-o", Path("a.szc"), "--codec", "szp"}).status, 2);
  EXPECT_EQ(
      Run({"compress", input, "-o", Path("a.szc"), "--codec", "szp", "--abs", "1", "--rel", "1"})
          .status,
      2);
  EXPECT_EQ(FilesInFolder(), 1U);
}

TEST_F(Szc, BadInputNamesFileAndRemedy) {
  const auto odd = Write("odd.f32", std::vector<char>(10));
  const auto bin = Write("a.bin", Waves<float>(10));
  const auto named = Write("named.f32", Waves<float>(10));
  const auto empty = Write("empty.szc", std::vector<char>());
  const auto foreign = Write("foreign.szc", std::vector<char>(1000, 'x'));
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{"compress", Path("none.f32"), "-o", Path("o"), "--codec", "szp", "--abs", "1"}, "none.f32"},
      {{"compress", odd, "-o", Path("o"), "--codec", "szp", "--abs", "1"}, "odd.f32"},
      {{"compress", bin, "-o", Path("o"), "--codec", "szp", "--abs", "1"}, "--dtype"},
      {{"compress", bin, "-o", Path("o"), "--codec", "szp", "--abs", "1", "--dtype", "f32",
        "--dims", "3,4"},
       "a.bin"},
      {{"compress", bin, "-o", Path("o"), "--codec", "szp", "--abs", "1", "--dtype", "i16"}, "i16"},
      {{"compress", named, "-o", Path("o"), "--codec", "szp", "--abs", "1", "--dtype", "f64"},
       "named as f32"},
      {{"compress", bin, "-o", Path("o"), "--codec", "zip", "--abs", "1", "--dtype", "f32"}, "zip"},
      {{"compress", bin, "-o", Path("o"), "--codec", "szx", "--mode", "plain", "--abs", "1",
        "--dtype", "f32"},
       "plain"},
      {{"decompress", Path("none.szc"), "-o", Path("o")}, "none.szc"},
      {{"decompress", empty, "-o", Path("o")}, "empty.szc"},
      {{"decompress", foreign, "-o", Path("o")}, "foreign.szc"},
      {{"inspect", foreign}, "foreign.szc"},
      {{"compare", bin, odd, "--dtype", "f32"}, "odd.f32"},
      {{"frobnicate"}, "subcommand"},
      {{}, "subcommand"},
  };
  for (const auto& [words, expected] : cases) {
    const auto outcome = Run(words);
    EXPECT_EQ(outcome.status, 2) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr(expected));
    EXPECT_EQ(outcome.out, "");
  }
  EXPECT_EQ(FilesInFolder(), 5U);
}

TEST_F(Szc, DamagedFilesAreRefusedAndLeaveTheOutputAlone) {
  const auto input = Write("a.f32", Waves<float>(5000));
  ASSERT_EQ(Run({"compress", input, "-o", Path("a.szc"), "--codec", "szx", "--abs", "0.1"}).status,
            0);
  const auto good = Read<char>("a.szc");
  Write("out.f32", std::vector<char>{'o', 'l', 'd', '!'});
  for (std::size_t at = 0; at < good.size(); at += 37) {
    auto bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 0x10);
    Write("bad.szc", bad);
    const auto outcome = Run({"decompress", Path("bad.szc"), "-o", Path("out.f32")});
    ASSERT_EQ(outcome.status, 2) << "byte " << at;
    ASSERT_THAT(outcome.err, HasSubstr("bad.szc"));
    bad.resize(at);
    Write("bad.szc", bad);
    ASSERT_EQ(Run({"decompress", Path("bad.szc"), "-o", Path("out.f32")}).status, 2)
        << "cut at " << at;
  }
  EXPECT_EQ(Read<char>("out.f32"), (std::vector<char>{'o', 'l', 'd', '!'}));
  EXPECT_EQ(FilesInFolder(), 4U);
}

TEST_F(Szc, CompareFindsViolations) {
  const auto a =
      Write("a.f64", std::vector<double>{1, 2, std::numeric_limits<double>::quiet_NaN()});
  const auto b = Write("b.f64", std::vector<double>{1, 2.5, 3});
  const auto found = Run({"compare", a, b, "--dtype", "f64", "--abs", "0.25", "--json"});
  EXPECT_EQ(found.status, 1);
  const auto json = ParseJson(found);
  EXPECT_EQ(json.Find("violations")->integer(), 2);
  EXPECT_EQ(json.Find("first_violation")->integer(), 1);
  EXPECT_EQ(json.Find("max_abs_error")->number(), 0.5);
  EXPECT_EQ(Run({"compare", a, a, "--abs", "0.25"}).status, 0);
  EXPECT_EQ(Run({"compare", a, b, "--abs", "-1"}).status, 2);
}

TEST_F(Szc, EnvironmentLacks) {
  const auto input = Write("a.f32", Waves<float>(10));
  const auto cuda =
      Run({"compress", input, "-o", Path("o"), "--codec", "szp", "--abs", "1", "--device", "cuda"});
  if (cuda.status == 0) {
    // There is a device: the file is the processor's.
    ASSERT_EQ(Run({"compress", input, "-o", Path("c"), "--codec", "szp", "--abs", "1"}).status, 0);
    EXPECT_EQ(Read<char>("o"), Read<char>("c"));
  } else {
    EXPECT_EQ(cuda.status, 3);
    const size_t remedy = cuda.err.find("--device cpu");
    ASSERT_NE(remedy, std::string::npos) << cuda.err;
    EXPECT_EQ(cuda.err.find("--device cpu", remedy + 1), std::string::npos) << cuda.err;
    EXPECT_EQ(cuda.err.find("(--device"), std::string::npos) << cuda.err;
  }
  const auto folder =
      Run({"compress", input, "-o", Path("no/such/o"), "--codec", "szp", "--abs", "1"});
  EXPECT_NE(folder.status, 0);
  EXPECT_THAT(folder.err, HasSubstr("no/such/o"));
}

// A full disk, as a limit on file size: nothing half-written stays.
TEST_F(Szc, NoSpace) {
  const auto input =
      Write("a.f32", std::vector<float>(200'000, std::numeric_limits<float>::quiet_NaN()));
  ASSERT_EQ(Run({"compress", input, "-o", Path("a.szc"), "--codec", "szx", "--abs", "1"}).status,
            0);
  const std::string limited = "ulimit -f 100; " SZARENA_BIN_DIR "/szc ";
  for (const std::string& command :
       {limited + "compress " + input + " -o " + Path("o") + " --codec szx --abs 1 2>" +
            Path("err"),
        limited + "decompress " + Path("a.szc") + " -o " + Path("o.f32") + " 2>" + Path("err")}) {
    const int status = std::system(command.c_str());
    ASSERT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 3);
    const auto message = Read<char>("err");
    EXPECT_THAT(std::string(message.begin(), message.end()), HasSubstr("szc: "));
    EXPECT_FALSE(fs::exists(Path("o")) || fs::exists(Path("o.f32")));
    EXPECT_EQ(FilesInFolder(), 3U);  // a.f32, a.szc, err
  }
}

TEST_F(Szc, EmptyAndConstantFields) {
  const auto empty = Write("e.f32", std::vector<float>());
  const auto constant = Write("c.f32", std::vector<float>(1000, 4.5F));
  for (const std::string codec : {"szp", "szx"}) {
    for (const std::string bound : {"--abs", "--rel"}) {
      for (const auto& input : {empty, constant}) {
        ASSERT_EQ(
            Run({"compress", input, "-o", Path("a.szc"), "--codec", codec, bound, "0.1"}).status,
            0);
        ASSERT_EQ(Run({"decompress", Path("a.szc"), "-o", Path("b.f32")}).status, 0);
        EXPECT_EQ(fs::file_size(Path("b.f32")), fs::file_size(input));
        EXPECT_EQ(Run({"compare", input, Path("b.f32"), "--abs", "0.1"}).status, 0);
      }
    }
  }
}

}  // namespace
}  // namespace szarena::codec::szc

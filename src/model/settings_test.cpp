// SPDX-License-Identifier: Apache-2.0
// Files of models and keys: what is taken, what is refused.
#include "model/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace szarena::model {
namespace {

using testing::HasSubstr;

class SettingsTest : public testing::Test {
 protected:
  SettingsTest() : folder_(testing::TempDir() + "/settings_" + std::to_string(getpid())) {
    std::filesystem::create_directories(folder_);
    variables_["HOME"] = folder_;
    variables_["SZARENA_KEYS"] = folder_ + "/keys.toml";
  }
  ~SettingsTest() override { std::filesystem::remove_all(folder_); }

  Environment environment() {
    return [this](const std::string& name) -> const char* {
      const auto found = variables_.find(name);
      return found == variables_.end() ? nullptr : found->second.c_str();
    };
  }
  std::string Write(const std::string& name, const std::string& text, mode_t mode = 0600) {
    const std::string path = folder_ + "/" + name;
    std::ofstream(path) << text;
    chmod(path.c_str(), mode);
    return path;
  }
  Result<Settings> Read(const std::string& text) {
    return ReadSettings(Write("models.toml", text), environment());
  }

  std::string folder_;
  std::map<std::string, std::string> variables_;
};

TEST_F(SettingsTest, TheFilesOwnWordsMakeAModel) {
  variables_["GATEWAY_TOKEN"] = "token-of-the-gateway";
  const auto settings = Read(R"(
[providers.local]
protocol = "openai-chat"
base_url = "http://127.0.0.1:8080/v1/"
stream = false
headers = { "X-Team" = "codecs" }
header_env = { "X-Gateway" = "GATEWAY_TOKEN" }
[agents.careful]
model = "local:tiny"
temperature = 0.2
[prices.tiny]
input = 1
output = 2.5
cached_input = 0.5
)");
  ASSERT_TRUE(settings) << settings.error().ToString();
  EXPECT_TRUE(NamesModel(*settings, "careful"));
  EXPECT_TRUE(NamesModel(*settings, "openai:x"));
  EXPECT_FALSE(NamesModel(*settings, "ladder"));
  const auto config = ConfigFor(*settings, "careful", environment());
  ASSERT_TRUE(config) << config.error().ToString();
  EXPECT_EQ(config->wire.base_url, "http://127.0.0.1:8080/v1");
  EXPECT_EQ(config->wire.model, "tiny");
  EXPECT_EQ(config->wire.sampling.temperature, 0.2);
  EXPECT_TRUE(config->key.empty());
  EXPECT_EQ(config->secret_headers.at(0).second.Reveal(), "token-of-the-gateway");
  Usage usage;
  usage.in = 1'000'000;
  usage.cached = 400'000;
  EXPECT_FALSE(CostUsd(*config->price, usage));  // output unknown
  usage.out = 100'000;
  EXPECT_DOUBLE_EQ(*CostUsd(*config->price, usage), 0.6 + 0.2 + 0.25);
  const HttpModel model(*config);
  EXPECT_THAT(model.Identity().Dump(), testing::Not(HasSubstr("token-of")));
}

TEST_F(SettingsTest, MistakesAreNamed) {
  const std::pair<const char*, const char*> cases[] = {
      {"[provider.x]\n", "provider"},
      {"[providers.x]\nprotocol = 'smtp'\nbase_url = 'http://h'\n", "protocol"},
      {"[providers.x]\nprotocol = 'openai-chat'\n", "base_url"},
      {"[providers.openai]\nbase_urls = 'http://h'\n", "base_urls"},
      {"[providers.openai]\nbase_url = 'https://user:secret@gateway/v1'\n", "header_env"},
      {"[providers.openai]\ntries = 0\n", "tries"},
      {"[providers.openai]\nheaders = { A = \"b\\r\\nEvil: 1\" }\n", "line end"},
      {"[prices.x]\ninput = -1\noutput = 1\n", "negative"},
      {"[agents.x]\nmodel = 'openai:y'\ntemprature = 1\n", "temprature"},
  };
  for (const auto& [text, word] : cases) {
    const auto settings = Read(text);
    ASSERT_FALSE(settings) << text;
    EXPECT_THAT(settings.error().ToString(), HasSubstr(word));
    EXPECT_THAT(settings.error().ToString(), HasSubstr("models.toml"));
  }
  EXPECT_FALSE(ReadSettings(folder_ + "/absent.toml", environment()));
  EXPECT_TRUE(ReadSettings("", environment()));  // the usual file need not exist
}

TEST_F(SettingsTest, KeysComeFromTheEnvironmentOrAPrivateFile) {
  const auto settings = ReadSettings("", environment());
  auto config = ConfigFor(*settings, "openai:m", environment());
  ASSERT_FALSE(config);
  EXPECT_EQ(config.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(config.error().message, HasSubstr("OPENAI_API_KEY"));
  Write("keys.toml", "openai = \"key-in-file\"\n");
  EXPECT_EQ(ConfigFor(*settings, "openai:m", environment())->key.Reveal(), "key-in-file");
  variables_["OPENAI_API_KEY"] = "key-in-environment\n";
  EXPECT_EQ(ConfigFor(*settings, "openai:m", environment())->key.Reveal(), "key-in-environment");
}

TEST_F(SettingsTest, AKeyringThatOthersCanReadIsRefused) {
  for (const mode_t mode : {0644, 0640, 0604, 0602, 0620}) {
    Write("keys.toml", "google = \"secret-value\"\n", mode);
    const auto key = FindKey("google", "", environment());
    ASSERT_FALSE(key) << mode;
    EXPECT_THAT(key.error().message, HasSubstr("chmod 600"));
    EXPECT_THAT(key.error().ToString(), testing::Not(HasSubstr("secret-value")));
  }
  Write("keys.toml", "google = secret-value-unquoted\n");
  const auto unreadable = FindKey("google", "", environment());
  ASSERT_FALSE(unreadable);
  EXPECT_THAT(unreadable.error().ToString(), testing::Not(HasSubstr("secret-value")));
  std::filesystem::remove(folder_ + "/keys.toml");
  Write("real.toml", "google = \"k\"\n");
  std::filesystem::create_symlink(folder_ + "/real.toml", folder_ + "/keys.toml");
  EXPECT_FALSE(FindKey("google", "", environment()));
}

// A key that would begin another header, or that cannot be kept out of texts.
TEST_F(SettingsTest, KeysThatAreNoneAreRefused) {
  for (const char* bad : {"key\r\nX-Other: 1", "key-\nmore-of-it", "key-\tvalue", "key-\x7f-value",
                          "short", "x", "x     \n"}) {
    variables_["SOME_KEY"] = bad;
    const auto key = FindKey("some", "SOME_KEY", environment());
    ASSERT_FALSE(key) << bad;
    EXPECT_EQ(key.error().code, ErrorCode::kInvalidArgument);
    EXPECT_THAT(key.error().message, HasSubstr("SOME_KEY"));
    EXPECT_THAT(key.error().message, testing::Not(HasSubstr("X-Other")));
  }
  variables_.erase("SOME_KEY");
  Write("keys.toml", "some = \"key\\r\\nX-Other: 1\"\n");
  const auto key = FindKey("some", "SOME_KEY", environment());
  ASSERT_FALSE(key);
  EXPECT_THAT(key.error().message, HasSubstr("control character"));
  variables_["SOME_KEY"] = "sixsix\r\n";  // a file's line end
  EXPECT_EQ((*FindKey("some", "SOME_KEY", environment()))->Reveal(), "sixsix");
}

TEST_F(SettingsTest, AKeyGoesUnencryptedToThisMachineOnly) {
  variables_["OPENAI_API_KEY"] = "key-of-somebody";
  auto settings = Read("[providers.openai]\nbase_url = 'http://gateway.example/v1'\n");
  EXPECT_THAT(ConfigFor(*settings, "openai:m", environment()).error().message,
              HasSubstr("unencrypted"));
  settings = Read("[providers.openai]\nbase_url = 'http://localhost:1/v1'\n");
  EXPECT_TRUE(ConfigFor(*settings, "openai:m", environment()));
  settings =
      Read("[providers.openai]\nbase_url = 'http://gateway.example/v1'\nplain_http = true\n");
  EXPECT_TRUE(ConfigFor(*settings, "openai:m", environment()));
}

TEST_F(SettingsTest, SecretsAreTakenOutOfTexts) {
  const Secret secret("sk-123456");
  EXPECT_EQ(secret.Redact("key sk-123456 and sk-123456."), "key [key] and [key].");
  EXPECT_EQ(Secret("").Redact("text"), "text");
}

}  // namespace
}  // namespace szarena::model

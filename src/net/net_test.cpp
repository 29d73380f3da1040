// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "net/http_client.h"
#include "net/sse.h"

namespace szarena::net {
namespace {

std::vector<std::string> Read(std::string_view bytes, size_t piece) {
  std::vector<std::string> events;
  SseReader reader([&](const SseEvent& event) { events.push_back(event.name + "=" + event.data); });
  for (size_t at = 0; at < bytes.size(); at += piece) reader.Feed(bytes.substr(at, piece));
  return events;
}

TEST(SseTest, EventsComeOutWhateverThePiecesAndLineEnds) {
  const std::vector<std::string> wanted = {"a=one\ntwo", "=x: y", "b="};
  for (const std::string& end : {std::string("\n"), std::string("\r\n"), std::string("\r")}) {
    std::string text;
    for (const char* line :
         {": hello", "event: a", "data: one", "data:two", "id: 7", "", "data: x: y", "",
          "event: ignored", "", "event: b", "data", "", "data: unfinished"}) {
      text += line + end;
    }
    for (size_t piece = 1; piece < 9; ++piece) EXPECT_EQ(Read(text, piece), wanted);
  }
}

TEST(HttpClientTest, HostsAreFoundInAddresses) {
  EXPECT_EQ(UrlHost("https://API.example.com:8443/v1?x"), "api.example.com");
  EXPECT_EQ(UrlHost("http://user@[::1]:80/"), "::1");
  EXPECT_EQ(UrlHost("no address"), "");
  EXPECT_TRUE(IsLoopback("127.0.0.1"));
  EXPECT_TRUE(IsLoopback("localhost"));
  EXPECT_FALSE(IsLoopback("localhost.example.com"));
}

TEST(HttpClientTest, FaultsHaveTheirCodes) {
  CurlClient client;
  HttpRequest request;
  request.url = "http://127.0.0.1:1/";  // nobody listens on port 1
  EXPECT_EQ(client.Send(request, {}).error().code, ErrorCode::kUnavailable);
  request.url = "file:///etc/passwd";
  EXPECT_EQ(client.Send(request, {}).error().code, ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace szarena::net

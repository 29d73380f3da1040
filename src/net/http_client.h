// SPDX-License-Identifier: Apache-2.0
// An HTTP client: one request, answer streamed as it comes, with limits on time and size.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace szarena::net {

struct Header {
  std::string name;
  std::string value;
};

struct HttpRequest {
  std::string method = "POST";
  std::string url;  // http or https
  std::vector<Header> headers;
  std::string body;
  std::chrono::milliseconds connect_timeout{30'000};
  std::chrono::milliseconds idle_timeout{300'000};  // without a byte in either direction
  std::chrono::milliseconds total_timeout{3'600'000};
  size_t max_body_bytes = 16 << 20;  // of the answer
  std::stop_token stop = {};
};

struct HttpResponse {
  int status = 0;
  std::vector<Header> headers;
  std::string body;

  // The first header of that name (case does not matter), or nullptr.
  const std::string* Find(std::string_view name) const;
};

// Told the bytes of the body as they come, with the status; false ends the transfer (kCancelled).
using OnBody = std::function<bool(int status, std::string_view bytes)>;

// Errors: kUnavailable no connection, kTimeout, kIo the connection broke, kCapacity a body over the
// limit, kCancelled, kInvalidArgument an unusable URL. A status like 500 is an answer, no error.
// Error texts hold no header and no body. Redirects are not followed: a key must not travel on.
class HttpClient {
 public:
  HttpClient() = default;
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;
  virtual ~HttpClient() = default;
  virtual Result<HttpResponse> Send(const HttpRequest& request, const OnBody& on_body) = 0;
};

// By libcurl: proxies as the environment says (never for loopback), certificates checked. Keeps its
// connection; used by one thread at a time.
class CurlClient : public HttpClient {
 public:
  CurlClient();
  ~CurlClient() override;
  Result<HttpResponse> Send(const HttpRequest& request, const OnBody& on_body) override;

 private:
  void* handle_;  // CURL*
};

// The host of an http(s) URL, lower case; empty where it has none.
std::string UrlHost(std::string_view url);
bool IsLoopback(std::string_view host);
// "Wed, 21 Oct 2026 07:28:00 GMT".
std::optional<std::chrono::system_clock::time_point> ParseHttpDate(const std::string& text);

}  // namespace szarena::net

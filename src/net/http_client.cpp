// SPDX-License-Identifier: Apache-2.0
// libcurl, wrapped.
#include "net/http_client.h"

#include <curl/curl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <memory>
#include <mutex>

#include "base/check.h"

namespace szarena::net {
namespace {

using Clock = std::chrono::steady_clock;

bool EqualIgnoringCase(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
    return std::tolower(static_cast<unsigned char>(x)) ==
           std::tolower(static_cast<unsigned char>(y));
  });
}

std::string_view Trim(std::string_view text) {
  const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

// One transfer, as libcurl's callbacks see it.
struct Transfer {
  CURL* curl = nullptr;
  const HttpRequest* request = nullptr;
  const OnBody* on_body = nullptr;
  HttpResponse response;
  Clock::time_point begin = Clock::now();
  Clock::time_point last_byte = begin;
  curl_off_t bytes = 0;
  bool stopped = false;
  bool idle = false;
  bool too_large = false;

  static size_t OnHeader(char* data, size_t size, size_t count, void* self) {
    auto& it = *static_cast<Transfer*>(self);
    const std::string_view line(data, size * count);
    if (line.starts_with("HTTP/")) {
      it.response.headers.clear();  // what came before was interim: 100, a proxy's answer
    } else if (const size_t colon = line.find(':'); colon != std::string_view::npos) {
      it.response.headers.push_back(
          {std::string(Trim(line.substr(0, colon))), std::string(Trim(line.substr(colon + 1)))});
    }
    return size * count;
  }

  static size_t OnData(char* data, size_t size, size_t count, void* self) {
    auto& it = *static_cast<Transfer*>(self);
    const std::string_view bytes(data, size * count);
    if (it.response.body.size() + bytes.size() > it.request->max_body_bytes) {
      it.too_large = true;
      return 0;
    }
    it.response.body += bytes;
    if (*it.on_body) {
      long status = 0;
      curl_easy_getinfo(it.curl, CURLINFO_RESPONSE_CODE, &status);
      if (!(*it.on_body)(static_cast<int>(status), bytes)) {
        it.stopped = true;
        return 0;
      }
    }
    return bytes.size();
  }

  static int OnProgress(void* self, curl_off_t, curl_off_t down, curl_off_t, curl_off_t up) {
    auto& it = *static_cast<Transfer*>(self);
    const auto now = Clock::now();
    if (down + up != it.bytes) {
      it.bytes = down + up;
      it.last_byte = now;
    }
    it.stopped |= it.request->stop.stop_requested();
    it.idle |= now - it.last_byte > it.request->idle_timeout;
    return it.stopped || it.idle ? 1 : 0;
  }

  Error Fault(CURLcode code) const {
    const std::string host = UrlHost(request->url);
    if (stopped) return {ErrorCode::kCancelled, "stopped on request", {}};
    if (too_large) {
      return {ErrorCode::kCapacity,
              fmt::format("'{}' answered with more than {} bytes", host, request->max_body_bytes),
              {}};
    }
    if (idle || code == CURLE_OPERATION_TIMEDOUT) {
      return {ErrorCode::kTimeout, fmt::format("'{}' did not answer in time", host), {}};
    }
    switch (code) {
      case CURLE_URL_MALFORMAT:
      case CURLE_UNSUPPORTED_PROTOCOL:
        return {ErrorCode::kInvalidArgument,
                fmt::format("'{}' is no usable http or https address", request->url),
                {}};
      case CURLE_COULDNT_RESOLVE_HOST:
      case CURLE_COULDNT_RESOLVE_PROXY:
      case CURLE_COULDNT_CONNECT:
      case CURLE_PEER_FAILED_VERIFICATION:
        return {ErrorCode::kUnavailable,
                fmt::format("no connection to '{}': {}", host, curl_easy_strerror(code)),
                {}};
      default:
        return {ErrorCode::kIo,
                fmt::format("the connection to '{}' broke: {}", host, curl_easy_strerror(code)),
                {}};
    }
  }
};

template <typename T>
void Set(CURL* curl, CURLoption option, T value) {
  SZARENA_CHECK(curl_easy_setopt(curl, option, value) == CURLE_OK, "libcurl knows the option");
}

}  // namespace

const std::string* HttpResponse::Find(std::string_view name) const {
  for (const Header& header : headers) {
    if (EqualIgnoringCase(header.name, name)) return &header.value;
  }
  return nullptr;
}

std::string UrlHost(std::string_view url) {
  const size_t scheme = url.find("://");
  if (scheme == std::string_view::npos) return "";
  std::string_view rest = url.substr(scheme + 3);
  rest = rest.substr(0, rest.find_first_of("/?#"));
  if (const size_t at = rest.rfind('@'); at != std::string_view::npos) rest.remove_prefix(at + 1);
  if (rest.starts_with('[')) {
    rest = rest.substr(1, rest.find(']') - 1);
  } else {
    rest = rest.substr(0, rest.find(':'));
  }
  std::string host(rest);
  for (char& c : host) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return host;
}

bool IsLoopback(std::string_view host) {
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

std::optional<std::chrono::system_clock::time_point> ParseHttpDate(const std::string& text) {
  const time_t date = curl_getdate(text.c_str(), nullptr);
  if (date < 0) return std::nullopt;
  return std::chrono::system_clock::from_time_t(date);
}

CurlClient::CurlClient() {
  static std::once_flag once;
  std::call_once(once, [] { curl_global_init(CURL_GLOBAL_DEFAULT); });
  handle_ = curl_easy_init();
  SZARENA_CHECK(handle_, "libcurl gives a handle");
}

CurlClient::~CurlClient() { curl_easy_cleanup(static_cast<CURL*>(handle_)); }

Result<HttpResponse> CurlClient::Send(const HttpRequest& request, const OnBody& on_body) {
  CURL* curl = static_cast<CURL*>(handle_);
  curl_easy_reset(curl);
  Transfer transfer{.curl = curl, .request = &request, .on_body = &on_body, .response = {}};
  std::unique_ptr<curl_slist, void (*)(curl_slist*)> list(nullptr, curl_slist_free_all);
  const auto append = [&](const std::string& line) {
    list.reset(curl_slist_append(list.release(), line.c_str()));
  };
  append("Expect:");  // no round trip before a long body
  for (const Header& header : request.headers) append(header.name + ": " + header.value);
  Set(curl, CURLOPT_URL, request.url.c_str());
  Set(curl, CURLOPT_HTTPHEADER, list.get());
  Set(curl, CURLOPT_CUSTOMREQUEST, request.method.c_str());
  if (request.method != "GET") {
    Set(curl, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
    Set(curl, CURLOPT_POSTFIELDS, request.body.data());
  }
  Set(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  Set(curl, CURLOPT_FOLLOWLOCATION, 0L);
  Set(curl, CURLOPT_NOSIGNAL, 1L);
  Set(curl, CURLOPT_ACCEPT_ENCODING, "");  // whatever libcurl can unpack
  if (IsLoopback(UrlHost(request.url))) Set(curl, CURLOPT_PROXY, "");
  Set(curl, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(request.connect_timeout.count()));
  Set(curl, CURLOPT_TIMEOUT_MS, static_cast<long>(request.total_timeout.count()));
  Set(curl, CURLOPT_HEADERFUNCTION, &Transfer::OnHeader);
  Set(curl, CURLOPT_HEADERDATA, &transfer);
  Set(curl, CURLOPT_WRITEFUNCTION, &Transfer::OnData);
  Set(curl, CURLOPT_WRITEDATA, &transfer);
  Set(curl, CURLOPT_XFERINFOFUNCTION, &Transfer::OnProgress);
  Set(curl, CURLOPT_XFERINFODATA, &transfer);
  Set(curl, CURLOPT_NOPROGRESS, 0L);
  const CURLcode code = curl_easy_perform(curl);
  if (code != CURLE_OK) return tl::unexpected(transfer.Fault(code));
  long status = 0;
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
  transfer.response.status = static_cast<int>(status);
  return std::move(transfer.response);
}

}  // namespace szarena::net

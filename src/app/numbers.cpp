// SPDX-License-Identifier: Apache-2.0
#include "app/numbers.h"

#include <fmt/format.h>

#include <charconv>
#include <system_error>

namespace szarena::app {
namespace {

std::string Named(const std::string& text) {
  constexpr size_t kShown = 40;
  if (text.size() <= kShown) return "'" + text + "'";
  return fmt::format("'{}...' ({} characters)", text.substr(0, kShown), text.size());
}

template <typename T>
CLI::Validator Between(std::string_view what, T least, T most) {
  return {[=](std::string& text) -> std::string {
            T value{};
            const auto [end, fault] =
                std::from_chars(text.data(), text.data() + text.size(), value);
            const bool whole = fault == std::errc() && end == text.data() + text.size();
            if (whole && value >= least && value <= most) return {};
            return fmt::format("expected {} from {} to {}, not {}", what, least, most, Named(text));
          },
          fmt::format("{} - {}", least, most)};
}

}  // namespace

CLI::Validator Within(double least, double most) { return Between("a number", least, most); }

CLI::Validator Whole(uint64_t least, uint64_t most) {
  return Between("a whole number", least, most);
}

}  // namespace szarena::app

// SPDX-License-Identifier: Apache-2.0
// Formats the wall clock.
#include "base/utc.h"

#include <fmt/format.h>

#include <charconv>
#include <chrono>

namespace szarena {

std::string UtcNow() {
  namespace chrono = std::chrono;
  const auto now = chrono::floor<chrono::milliseconds>(chrono::system_clock::now());
  const auto day = chrono::floor<chrono::days>(now);
  const chrono::year_month_day date(day);
  const chrono::hh_mm_ss time(now - day);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     time.hours().count(), time.minutes().count(), time.seconds().count(),
                     time.subseconds().count());
}

std::optional<double> UtcSeconds(std::string_view text) {
  constexpr std::string_view kForm = "0000-00-00T00:00:00.000Z";
  if (text.size() != kForm.size()) return std::nullopt;
  for (size_t i = 0; i < kForm.size(); ++i) {
    const bool digit = text[i] >= '0' && text[i] <= '9';
    if (kForm[i] == '0' ? !digit : text[i] != kForm[i]) return std::nullopt;
  }
  const auto number = [text](size_t from, size_t digits) {
    int value = 0;
    std::from_chars(text.data() + from, text.data() + from + digits, value);
    return value;
  };
  namespace chrono = std::chrono;
  const chrono::year_month_day date(chrono::year(number(0, 4)),
                                    chrono::month(static_cast<unsigned>(number(5, 2))),
                                    chrono::day(static_cast<unsigned>(number(8, 2))));
  if (!date.ok()) return std::nullopt;
  const auto time = chrono::sys_days(date) + chrono::hours(number(11, 2)) +
                    chrono::minutes(number(14, 2)) + chrono::seconds(number(17, 2)) +
                    chrono::milliseconds(number(20, 3));
  return chrono::duration<double>(time.time_since_epoch()).count();
}

}  // namespace szarena

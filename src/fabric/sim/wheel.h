// SPDX-License-Identifier: Apache-2.0
// Events by cycle: a ring of buckets for the near future, a heap for the far one.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <queue>
#include <vector>

namespace szarena::fabric {

class Wheel {
 public:
  enum Kind : uint8_t { kRouter, kPe };
  // at > the cycle that is being processed.
  void Add(uint64_t at, Kind kind, uint32_t id) {
    if (at - now_ < kSize) {
      const size_t b = at % kSize;
      buckets_[kind][b].push_back(id);
      used_[b / 64] |= uint64_t{1} << (b % 64);
    } else {
      far_.push({at, kind, id});
    }
  }
  // The next cycle with an event; ~0 where there is none.
  uint64_t Next() const {
    uint64_t next = far_.empty() ? ~uint64_t{0} : far_.top().at;
    for (uint64_t k = 0; k <= kSize / 64; ++k) {
      const uint64_t first = now_ + 1 + k * 64;
      // 64 buckets from `first` on, as one word.
      const size_t b = first % kSize;
      const uint64_t low = used_[b / 64] >> (b % 64);
      const uint64_t high = b % 64 == 0 ? 0 : used_[(b / 64 + 1) % (kSize / 64)] << (64 - b % 64);
      if (const uint64_t word = low | high; word != 0) {
        const uint64_t at = first + static_cast<uint64_t>(std::countr_zero(word));
        return at < next ? at : next;
      }
    }
    return next;
  }
  // Makes t the present: its events go into the vectors (which are cleared).
  void Take(uint64_t t, std::vector<uint32_t>& routers, std::vector<uint32_t>& pes) {
    now_ = t;
    routers.clear();
    pes.clear();
    while (!far_.empty() && far_.top().at <= t) {
      (far_.top().kind == kRouter ? routers : pes).push_back(far_.top().id);
      far_.pop();
    }
    const size_t b = t % kSize;
    if (routers.empty())
      routers.swap(buckets_[kRouter][b]);
    else
      routers.insert(routers.end(), buckets_[kRouter][b].begin(), buckets_[kRouter][b].end()),
          buckets_[kRouter][b].clear();
    if (pes.empty())
      pes.swap(buckets_[kPe][b]);
    else
      pes.insert(pes.end(), buckets_[kPe][b].begin(), buckets_[kPe][b].end()),
          buckets_[kPe][b].clear();
    used_[b / 64] &= ~(uint64_t{1} << (b % 64));
  }

 private:
  static constexpr uint64_t kSize = 1024;
  struct Far {
    uint64_t at;
    Kind kind;
    uint32_t id;
    bool operator<(const Far& o) const { return at > o.at; }
  };
  std::array<std::vector<uint32_t>, kSize> buckets_[2];
  std::array<uint64_t, kSize / 64> used_ = {};
  std::priority_queue<Far> far_;
  uint64_t now_ = 0;
};

}  // namespace szarena::fabric

// SPDX-License-Identifier: Apache-2.0
// A PE's 64 KiB address space: pages of 1 KiB, shared with the class image until written, and a bit
// for each 16-bit word that says whether it was ever written. Not thread-safe: a PE belongs to one
// thread.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "bytecode/program.h"

namespace szarena::fabric {

inline constexpr uint32_t kPageBytes = 1024;
inline constexpr uint32_t kPageCount = 0x10000 / kPageBytes;

struct Page {
  uint8_t data[kPageBytes];
  uint64_t written[kPageBytes / 2 / 64];  // bit a word
};

// Hands out pages; owns them. One a thread.
class PagePool {
 public:
  Page* New();
  size_t count() const { return count_; }

 private:
  static constexpr size_t kChunk = 256;
  std::vector<std::unique_ptr<Page[]>> chunks_;
  size_t count_ = 0;
};

// The initial memory of a class, shared by all its PEs.
class ClassImage {
 public:
  explicit ClassImage(const bytecode::CodeClass& c);
  const std::array<const Page*, kPageCount>& pages() const { return table_; }

 private:
  std::array<const Page*, kPageCount> table_;
  std::vector<std::unique_ptr<Page>> owned_;
};

class Memory {
 public:
  void Init(const ClassImage& image, PagePool& pool);

  // ---- scalars: little endian, any alignment
  template <typename T>
  T Read(uint32_t address) const {
    const uint32_t offset = address & (kPageBytes - 1);
    T v;
    if (offset + sizeof(T) <= kPageBytes) [[likely]] {
      std::memcpy(&v, read_[address / kPageBytes & (kPageCount - 1)]->data + offset, sizeof(T));
    } else {
      ReadBytes(address, &v, sizeof(T));
    }
    return v;
  }
  template <typename T>
  void Write(uint32_t address, T v) {
    const uint32_t offset = address & (kPageBytes - 1);
    if (offset + sizeof(T) <= kPageBytes) [[likely]] {
      Page* p = write_[address / kPageBytes & (kPageCount - 1)];
      if (p == nullptr) [[unlikely]]
        p = MakePrivate(address / kPageBytes & (kPageCount - 1));
      std::memcpy(p->data + offset, &v, sizeof(T));
      const uint32_t word = offset / 2;
      constexpr uint64_t kMask = sizeof(T) <= 2 ? 1 : sizeof(T) == 4 ? 3 : 15;
      p->written[word / 64] |= kMask << (word & 63);
      if (sizeof(T) > 2 && (word & 63) + sizeof(T) / 2 > 64) [[unlikely]]
        MarkWritten(address, sizeof(T));
    } else {
      WriteBytes(address, &v, sizeof(T));
    }
  }
  // Was every word that [address, address + bytes) touches written?
  bool IsWritten(uint32_t address, uint32_t bytes) const {
    const uint32_t offset = address & (kPageBytes - 1);
    const uint32_t word = offset / 2;
    const uint32_t words = (offset + bytes + 1) / 2 - word;
    if (offset + bytes <= kPageBytes && (word & 63) + words <= 64 && words < 64) [[likely]] {
      const uint64_t mask = ((uint64_t{1} << words) - 1) << (word & 63);
      return (read_[address / kPageBytes & (kPageCount - 1)]->written[word / 64] & mask) == mask;
    }
    return IsWrittenSlow(address, bytes);
  }

  // ---- runs: the longest part of [address, address + bytes) that lies in one page
  std::span<const uint8_t> ReadRun(uint32_t address, uint32_t bytes) const;
  std::span<uint8_t> WriteRun(uint32_t address, uint32_t bytes);  // marks it written

  // ---- blocks; addresses wrap at 64 KiB
  void ReadBytes(uint32_t address, void* to, uint32_t bytes) const;
  void WriteBytes(uint32_t address, const void* from, uint32_t bytes);
  void Copy(uint32_t to, uint32_t from,
            uint32_t bytes);  // may overlap; carries the written bits along
  void Fill(uint32_t address, uint8_t value, uint32_t bytes);
  void MarkUnwritten(uint32_t address, uint32_t bytes);
  uint32_t private_pages() const;

  // For compiled code: pages by number, all readable; writable ones, null where a write must make
  // one first.
  const Page* const* read_table() const { return read_.data(); }
  Page* const* write_table() const { return write_.data(); }

 private:
  Page* MakePrivate(uint32_t page);
  void MarkWritten(uint32_t address, uint32_t bytes);
  bool IsWrittenSlow(uint32_t address, uint32_t bytes) const;

  std::array<const Page*, kPageCount> read_;
  std::array<Page*, kPageCount> write_;
  PagePool* pool_ = nullptr;
};

}  // namespace szarena::fabric

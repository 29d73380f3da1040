// SPDX-License-Identifier: Apache-2.0
// Pages on demand and block operations.
#include "fabric/model/memory.h"

#include <algorithm>

namespace szarena::fabric {
namespace {
const Page& BlankPage() {
  static const Page kBlank = {};
  return kBlank;
}
void SetBits(Page& p, uint32_t offset, uint32_t bytes, bool value) {
  const uint32_t first = offset / 2;
  const uint32_t last = (offset + bytes + 1) / 2;  // exclusive
  for (uint32_t w = first; w < last;) {
    const uint32_t n = std::min(64 - (w & 63), last - w);
    const uint64_t mask = (n == 64 ? ~uint64_t{0} : (uint64_t{1} << n) - 1) << (w & 63);
    if (value)
      p.written[w / 64] |= mask;
    else
      p.written[w / 64] &= ~mask;
    w += n;
  }
}
uint32_t InPage(uint32_t address, uint32_t bytes) {
  return std::min(bytes, kPageBytes - (address & (kPageBytes - 1)));
}
uint32_t PageOf(uint32_t address) { return address / kPageBytes & (kPageCount - 1); }
}  // namespace

Page* PagePool::New() {
  if (count_ % kChunk == 0) chunks_.push_back(std::make_unique_for_overwrite<Page[]>(kChunk));
  return &chunks_.back()[count_++ % kChunk];
}

ClassImage::ClassImage(const bytecode::CodeClass& c) {
  table_.fill(&BlankPage());
  std::array<Page*, kPageCount> mine = {};
  for (const bytecode::Segment& s : c.image) {
    uint32_t address = s.address;
    size_t done = 0;
    while (done < s.bytes.size()) {
      const uint32_t n = InPage(address, static_cast<uint32_t>(s.bytes.size() - done));
      Page*& p = mine[PageOf(address)];
      if (p == nullptr) {
        owned_.push_back(std::make_unique<Page>());
        p = owned_.back().get();
        table_[PageOf(address)] = p;
      }
      std::memcpy(p->data + (address & (kPageBytes - 1)), s.bytes.data() + done, n);
      SetBits(*p, address & (kPageBytes - 1), n, true);
      address += n;
      done += n;
    }
  }
}

void Memory::Init(const ClassImage& image, PagePool& pool) {
  read_ = image.pages();
  write_.fill(nullptr);
  pool_ = &pool;
}

Page* Memory::MakePrivate(uint32_t page) {
  Page* p = pool_->New();
  *p = *read_[page];
  read_[page] = p;
  write_[page] = p;
  return p;
}

std::span<const uint8_t> Memory::ReadRun(uint32_t address, uint32_t bytes) const {
  return {read_[PageOf(address)]->data + (address & (kPageBytes - 1)), InPage(address, bytes)};
}

std::span<uint8_t> Memory::WriteRun(uint32_t address, uint32_t bytes) {
  const uint32_t page = PageOf(address);
  Page* p = write_[page] != nullptr ? write_[page] : MakePrivate(page);
  const uint32_t n = InPage(address, bytes);
  SetBits(*p, address & (kPageBytes - 1), n, true);
  return {p->data + (address & (kPageBytes - 1)), n};
}

void Memory::ReadBytes(uint32_t address, void* to, uint32_t bytes) const {
  auto* out = static_cast<uint8_t*>(to);
  while (bytes > 0) {
    const auto run = ReadRun(address, bytes);
    std::memcpy(out, run.data(), run.size());
    const auto n = static_cast<uint32_t>(run.size());
    out += n;
    address += n;
    bytes -= n;
  }
}

void Memory::WriteBytes(uint32_t address, const void* from, uint32_t bytes) {
  const auto* in = static_cast<const uint8_t*>(from);
  while (bytes > 0) {
    const auto run = WriteRun(address, bytes);
    std::memcpy(run.data(), in, run.size());
    const auto n = static_cast<uint32_t>(run.size());
    in += n;
    address += n;
    bytes -= n;
  }
}

void Memory::Copy(uint32_t to, uint32_t from, uint32_t bytes) {
  if (bytes == 0 || to == from) return;
  std::vector<uint8_t> data(bytes);
  std::vector<bool> written((bytes + 1) / 2);
  ReadBytes(from, data.data(), bytes);
  bool all = true;
  for (uint32_t i = 0; i < bytes; i += 2)
    all &= written[i / 2] = IsWritten(from + i, std::min(2u, bytes - i));
  WriteBytes(to, data.data(), bytes);
  if (all) return;
  for (uint32_t i = 0; i < bytes; i += 2) {
    if (!written[i / 2]) MarkUnwritten(to + i, std::min(2u, bytes - i));
  }
}

void Memory::Fill(uint32_t address, uint8_t value, uint32_t bytes) {
  while (bytes > 0) {
    const auto run = WriteRun(address, bytes);
    std::memset(run.data(), value, run.size());
    address += static_cast<uint32_t>(run.size());
    bytes -= static_cast<uint32_t>(run.size());
  }
}

void Memory::MarkUnwritten(uint32_t address, uint32_t bytes) {
  while (bytes > 0) {
    const uint32_t n = InPage(address, bytes);
    const uint32_t page = PageOf(address);
    // Only a private page, or a shared one with something written in it, needs a change.
    if (write_[page] != nullptr) {
      SetBits(*write_[page], address & (kPageBytes - 1), n, false);
    } else if (read_[page] != &BlankPage()) {
      SetBits(*MakePrivate(page), address & (kPageBytes - 1), n, false);
    }
    address += n;
    bytes -= n;
  }
}

void Memory::MarkWritten(uint32_t address, uint32_t bytes) {
  while (bytes > 0)
    bytes -= static_cast<uint32_t>(WriteRun(address, bytes).size()),
        address += kPageBytes - (address & (kPageBytes - 1));
}

bool Memory::IsWrittenSlow(uint32_t address, uint32_t bytes) const {
  while (bytes > 0) {
    const uint32_t n = InPage(address, bytes);
    const Page& p = *read_[PageOf(address)];
    const uint32_t offset = address & (kPageBytes - 1);
    const uint32_t last = (offset + n + 1) / 2;
    for (uint32_t w = offset / 2; w < last;) {
      const uint32_t k = std::min(64 - (w & 63), last - w);
      const uint64_t mask = (k == 64 ? ~uint64_t{0} : (uint64_t{1} << k) - 1) << (w & 63);
      if ((p.written[w / 64] & mask) != mask) return false;
      w += k;
    }
    address += n;
    bytes -= n;
  }
  return true;
}

uint32_t Memory::private_pages() const {
  return static_cast<uint32_t>(
      std::count_if(write_.begin(), write_.end(), [](const Page* p) { return p != nullptr; }));
}

}  // namespace szarena::fabric

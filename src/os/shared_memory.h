// SPDX-License-Identifier: Apache-2.0
// SharedMemory: anonymous memory of fixed size, mapped here for writing, handed to another process
// by descriptor.
#pragma once

#include <cstddef>
#include <span>

#include "base/error.h"
#include "os/fd.h"

namespace szarena::os {

enum class Sharing {
  kReadOnlyForOthers,  // whoever gets the descriptor can never write to it, map it writable, or
                       // resize it
  kWritable,           // others may write; nobody can resize it (so a mapping can never fault)
};

// Move-only; unmapped and closed by the destructor.
class SharedMemory {
 public:
  // `size` is rounded up to whole pages; the contents are zero.
  static Result<SharedMemory> Create(const char* name, size_t size, Sharing sharing);
  SharedMemory() = default;
  SharedMemory(SharedMemory&& other) noexcept { *this = std::move(other); }
  SharedMemory& operator=(SharedMemory&& other) noexcept;
  ~SharedMemory();

  int fd() const { return fd_.get(); }
  std::byte* data() const { return data_; }
  size_t size() const { return size_; }
  std::span<std::byte> bytes() const { return {data_, size_}; }

 private:
  UniqueFd fd_;
  std::byte* data_ = nullptr;
  size_t size_ = 0;
};

size_t PageSize();

}  // namespace szarena::os

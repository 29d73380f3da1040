// SPDX-License-Identifier: Apache-2.0
#include "os/shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "os/errno.h"

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010  // Linux 5.1
#endif

namespace szarena::os {

size_t PageSize() {
  static const auto size = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return size;
}

Result<SharedMemory> SharedMemory::Create(const char* name, size_t size, Sharing sharing) {
  const size_t page = PageSize();
  if (size > SIZE_MAX - page) return Fail(ErrorCode::kCapacity, "shared memory too large");
  SharedMemory memory;
  memory.size_ = (size + page - 1) / page * page;
  if (memory.size_ == 0) memory.size_ = page;
  memory.fd_ = UniqueFd(memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!memory.fd_) return FailErrno("cannot make shared memory");
  if (ftruncate(memory.fd(), static_cast<off_t>(memory.size_)) < 0) {
    return FailErrno("cannot size shared memory");
  }
  // Our writable mapping comes first: it outlives F_SEAL_FUTURE_WRITE, nobody else can make one.
  void* data = mmap(nullptr, memory.size_, PROT_READ | PROT_WRITE, MAP_SHARED, memory.fd(), 0);
  if (data == MAP_FAILED) return FailErrno("cannot map shared memory");
  memory.data_ = static_cast<std::byte*>(data);
  int seals = F_SEAL_SHRINK | F_SEAL_GROW;
  if (sharing == Sharing::kReadOnlyForOthers) seals |= F_SEAL_FUTURE_WRITE;
  if (fcntl(memory.fd(), F_ADD_SEALS, seals | F_SEAL_SEAL) < 0) {
    return FailErrno("cannot seal shared memory");
  }
  return memory;
}

SharedMemory& SharedMemory::operator=(SharedMemory&& other) noexcept {
  if (this != &other) {
    if (data_ != nullptr) munmap(data_, size_);
    fd_ = std::move(other.fd_);
    data_ = std::exchange(other.data_, nullptr);
    size_ = std::exchange(other.size_, 0);
  }
  return *this;
}

SharedMemory::~SharedMemory() {
  if (data_ != nullptr) munmap(data_, size_);
}

}  // namespace szarena::os

// SPDX-License-Identifier: Apache-2.0
// What the readers through HDF5 and netCDF share.
#pragma once

#include <mutex>

namespace szarena::field {

// Held around every use of either library (ReadIsolated takes it).
inline std::mutex& LibraryLock() {
  static std::mutex lock;
  return lock;
}

// Keeps HDF5 from printing its error stack; our own Error says what failed. Call with the lock
// held.
void SilenceHdf5();

// Processor time that a reader of so many bytes may take, generously.
inline unsigned ReaderCpuSeconds(size_t file_bytes) {
  return 60 + static_cast<unsigned>(file_bytes / 10'000'000);
}

}  // namespace szarena::field

// SPDX-License-Identifier: Apache-2.0
#include "field/field.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <limits>
#include <system_error>
#include <utility>

namespace szarena::field {

std::string_view DTypeName(DType dtype) { return dtype == DType::kF32 ? "f32" : "f64"; }

Result<DType> ParseDType(std::string_view name) {
  if (name == "f32") return DType::kF32;
  if (name == "f64") return DType::kF64;
  return Fail(ErrorCode::kInvalidArgument,
              fmt::format("unknown element type '{}': expected f32 or f64", name));
}

Result<size_t> ElementCount(const Dims& dims) {
  if (dims.empty() || dims.size() > 3) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("a field has 1 to 3 dimensions, got {}", dims.size()));
  }
  if (std::ranges::find(dims, size_t{0}) != dims.end()) return size_t{0};
  constexpr size_t kMaxElements = std::numeric_limits<ptrdiff_t>::max() / sizeof(double);
  size_t count = 1;
  for (size_t dim : dims) {
    if (count > kMaxElements / dim) {
      return Fail(ErrorCode::kCapacity,
                  fmt::format("dimensions '{}' exceed the address space", DimsToString(dims)));
    }
    count *= dim;
  }
  return count;
}

std::string DimsToString(const Dims& dims) { return fmt::format("{}", fmt::join(dims, "x")); }

Result<Dims> ParseDims(std::string_view text) {
  Dims dims;
  const char* at = text.data();
  const char* const end = text.data() + text.size();
  for (;;) {
    size_t value = 0;
    auto [next, code] = std::from_chars(at, end, value);
    bool separator = next != end && (*next == 'x' || *next == ',');
    if (code != std::errc() || (next != end && !separator)) {
      return Fail(
          ErrorCode::kInvalidArgument,
          fmt::format("bad dimensions '{}': expected 1 to 3 sizes such as 20x180x360", text));
    }
    dims.push_back(value);
    if (next == end) break;
    at = next + 1;
  }
  SZARENA_TRY([[maybe_unused]] size_t count, ElementCount(dims));
  return dims;
}

Result<Dims> FoldDims(const std::vector<size_t>& dims) {
  if (dims.empty()) return Dims{1};
  size_t leading = dims.size() > 3 ? dims.size() - 3 : 0;
  Dims folded(dims.begin() + static_cast<ptrdiff_t>(leading), dims.end());
  for (size_t i = 0; i < leading; ++i) {
    if (dims[i] != 0 && folded[0] > std::numeric_limits<size_t>::max() / dims[i]) {
      return Fail(ErrorCode::kCapacity, "the dimensions exceed the address space");
    }
    folded[0] *= dims[i];
  }
  SZARENA_TRY([[maybe_unused]] size_t count, ElementCount(folded));
  return folded;
}

Result<Pages> Pages::Allocate(size_t size_bytes) {
  void* base = mmap(nullptr, std::max<size_t>(size_bytes, 1), PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED) {
    return Fail(ErrorCode::kCapacity, fmt::format("cannot allocate {} bytes", size_bytes));
  }
  return Pages(static_cast<std::byte*>(base), size_bytes);
}

Result<Pages> Pages::MapFile(const std::string& path) {
  auto failed = [&] {
    ErrorCode code = errno == ENOENT ? ErrorCode::kNotFound : ErrorCode::kIo;
    return Fail(code,
                fmt::format("cannot read '{}': {}", path, std::generic_category().message(errno)));
  };
  int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return failed();
  struct stat status;
  if (fstat(fd, &status) != 0) {
    auto error = failed();
    close(fd);
    return error;
  }
  if (!S_ISREG(status.st_mode)) {
    close(fd);
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("cannot read '{}': expected a regular file", path));
  }
  size_t size_bytes = static_cast<size_t>(status.st_size);
  if (size_bytes == 0) {
    close(fd);
    return Allocate(0);
  }
  void* base = mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
  if (base == MAP_FAILED) {
    auto error = failed();
    close(fd);
    return error;
  }
  close(fd);
  return Pages(static_cast<std::byte*>(base), size_bytes);
}

Pages::Pages(Pages&& other) noexcept
    : base_(std::exchange(other.base_, nullptr)),
      size_bytes_(std::exchange(other.size_bytes_, 0)) {}

Pages& Pages::operator=(Pages&& other) noexcept {
  std::swap(base_, other.base_);
  std::swap(size_bytes_, other.size_bytes_);
  return *this;
}

Pages::~Pages() {
  if (base_ != nullptr) munmap(base_, std::max<size_t>(size_bytes_, 1));
}

Result<Field> Field::Allocate(DType dtype, Dims dims) {
  SZARENA_TRY(size_t count, ElementCount(dims));
  SZARENA_TRY(Pages pages, Pages::Allocate(count * SizeOf(dtype)));
  return Adopt(std::move(pages), 0, dtype, std::move(dims));
}

Result<Field> Field::Adopt(Pages pages, size_t offset_bytes, DType dtype, Dims dims) {
  SZARENA_TRY(size_t count, ElementCount(dims));
  if (offset_bytes % SizeOf(dtype) != 0 || offset_bytes > pages.size() ||
      pages.size() - offset_bytes < count * SizeOf(dtype)) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("{} elements of {} do not fit {} bytes from offset {}", count,
                            DTypeName(dtype), pages.size(), offset_bytes));
  }
  Field field;
  field.dtype_ = dtype;
  field.dims_ = std::move(dims);
  field.size_ = count;
  field.pages_ = std::move(pages);
  field.offset_bytes_ = offset_bytes;
  return field;
}

Result<Field> Field::Clone() const {
  SZARENA_TRY(Field copy, Allocate(dtype_, dims_));
  std::ranges::copy(bytes(), copy.mutable_bytes().begin());
  copy.missing_values_ = missing_values_;
  return copy;
}

Result<Field> ConvertTo(const Field& field, DType dtype) {
  if (field.dtype() == dtype) return field.Clone();
  SZARENA_TRY(Field converted, Field::Allocate(dtype, field.dims()));
  if (dtype == DType::kF64) {
    std::ranges::copy(field.values<float>(), converted.mutable_values<double>().begin());
  } else {
    std::ranges::transform(field.values<double>(), converted.mutable_values<float>().begin(),
                           [](double value) { return static_cast<float>(value); });
  }
  converted.set_missing_values(field.missing_values());
  return converted;
}

namespace {

template <typename T>
size_t ReplaceMissingAs(Field& field, double value) {
  std::vector<T> missing;
  for (double m : field.missing_values()) missing.push_back(static_cast<T>(m));
  size_t replaced = 0;
  for (T& element : field.mutable_values<T>()) {
    for (T m : missing) {
      if (element == m || (element != element && m != m)) {
        element = static_cast<T>(value);
        ++replaced;
        break;
      }
    }
  }
  return replaced;
}

}  // namespace

size_t ReplaceMissing(Field& field, double value) {
  if (field.missing_values().empty()) return 0;
  return field.dtype() == DType::kF32 ? ReplaceMissingAs<float>(field, value)
                                      : ReplaceMissingAs<double>(field, value);
}

}  // namespace szarena::field

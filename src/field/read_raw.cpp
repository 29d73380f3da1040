// SPDX-License-Identifier: Apache-2.0
// Formats that need no library: raw values and the GTX geoid grid.
#include <fmt/format.h>

#include "base/bytes.h"
#include "field/reader.h"

namespace szarena::field {

Result<Field> ReadRaw(const std::string& path, DType dtype, const Dims& dims) {
  SZARENA_TRY(size_t count, ElementCount(dims));
  SZARENA_TRY(Pages pages, Pages::MapFile(path));
  if (pages.size() != count * SizeOf(dtype)) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("'{}' has {} bytes; {} elements ({}) of {} need {}", path, pages.size(),
                            count, DimsToString(dims), DTypeName(dtype), count * SizeOf(dtype)));
  }
  return Field::Adopt(std::move(pages), 0, dtype, dims);
}

// Layout: lat0, lon0, dlat, dlon (f64), rows, columns (i32), then rows * columns f32, all
// big-endian.
Result<Field> ReadGtx(const std::string& path) {
  constexpr size_t kHeaderBytes = 40;
  SZARENA_TRY(Pages pages, Pages::MapFile(path));
  auto bad = [&](std::string what) {
    return Fail(ErrorCode::kCorrupt, fmt::format("'{}' is not a GTX grid: {}", path, what));
  };
  if (pages.size() < kHeaderBytes) {
    return bad(fmt::format("{} bytes, expected at least {}", pages.size(), kHeaderBytes));
  }
  int32_t rows = LoadBe<int32_t>(pages.data() + 32);
  int32_t columns = LoadBe<int32_t>(pages.data() + 36);
  if (rows <= 0 || columns <= 0) return bad(fmt::format("{} rows, {} columns", rows, columns));
  Dims dims = {static_cast<size_t>(rows), static_cast<size_t>(columns)};
  SZARENA_TRY(size_t count, ElementCount(dims));
  if (pages.size() - kHeaderBytes != count * 4) {
    return bad(fmt::format("{} bytes, expected {} for {}", pages.size(), kHeaderBytes + count * 4,
                           DimsToString(dims)));
  }
  SZARENA_TRY(Field field, Field::Allocate(DType::kF32, dims));
  std::span<float> values = field.mutable_values<float>();
  for (size_t i = 0; i < count; ++i) {
    values[i] = LoadBe<float>(pages.data() + kHeaderBytes + 4 * i);
  }
  return field;
}

}  // namespace szarena::field

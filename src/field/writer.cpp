// SPDX-License-Identifier: Apache-2.0
#include "field/writer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/atomic_file.h"
#include "base/bytes.h"

namespace szarena::field {
namespace {

std::string NpyHeaderBytes(const Field& field) {
  // A tuple of one element needs its comma.
  std::string dict = fmt::format("{{'descr': '<f{}', 'fortran_order': False, 'shape': ({}{}), }}",
                                 SizeOf(field.dtype()), fmt::join(field.dims(), ", "),
                                 field.dims().size() == 1 ? "," : "");
  constexpr size_t kPrefix = 10, kAlignment = 64;
  size_t padded = (kPrefix + dict.size() + 1 + kAlignment - 1) / kAlignment * kAlignment;
  dict.resize(padded - kPrefix - 1, ' ');
  dict += '\n';
  std::string header("\x93NUMPY\x01\x00\x00\x00", kPrefix);
  StoreLe(header.data() + 8, static_cast<uint16_t>(dict.size()));
  return header + dict;
}

}  // namespace

Result<void> WriteRaw(const Field& field, const std::string& path) {
  SZARENA_TRY(AtomicFile file, AtomicFile::Create(path));
  SZARENA_TRY_VOID(file.Append(field.bytes()));
  return file.Commit();
}

Result<void> WriteNpy(const Field& field, const std::string& path) {
  SZARENA_TRY(AtomicFile file, AtomicFile::Create(path));
  SZARENA_TRY_VOID(file.Append(NpyHeaderBytes(field)));
  SZARENA_TRY_VOID(file.Append(field.bytes()));
  return file.Commit();
}

Result<void> WriteField(const Field& field, const std::string& path) {
  if (path.ends_with(".npy")) return WriteNpy(field, path);
  bool says_f32 = path.ends_with(".f32");
  bool says_f64 = path.ends_with(".f64") || path.ends_with(".d64");
  if ((says_f32 && field.dtype() != DType::kF32) || (says_f64 && field.dtype() != DType::kF64)) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("'{}' would hold elements of type {}: expected a name that says so",
                            path, DTypeName(field.dtype())));
  }
  return WriteRaw(field, path);
}

}  // namespace szarena::field

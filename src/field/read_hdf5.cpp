// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <hdf5.h>

#include <utility>

#include "field/isolated.h"
#include "field/library_lock.h"
#include "field/reader.h"

namespace szarena::field {
namespace {

// An HDF5 identifier and the call that closes it.
class Handle {
 public:
  Handle(hid_t id, herr_t (*close)(hid_t)) : id_(id), close_(close) {}
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() {
    if (id_ >= 0) close_(id_);
  }
  hid_t id() const { return id_; }
  bool ok() const { return id_ >= 0; }

 private:
  hid_t id_;
  herr_t (*close_)(hid_t);
};

// The innermost description of the library's error stack.
std::string LastHdf5Error() {
  std::string text = "unknown fault";
  H5Ewalk2(
      H5E_DEFAULT, H5E_WALK_UPWARD,
      [](unsigned depth, const H5E_error2_t* error, void* out) -> herr_t {
        if (depth == 0 && error->desc != nullptr) *static_cast<std::string*>(out) = error->desc;
        return 0;
      },
      &text);
  return text;
}

// To be called inside ReadIsolated.
Result<Field> ReadThroughLibrary(const std::string& path, const std::string& dataset) {
  SilenceHdf5();
  Handle file(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
  if (!file.ok()) {
    return Fail(ErrorCode::kCorrupt,
                fmt::format("'{}' is not a readable HDF5 file: {}", path, LastHdf5Error()));
  }
  auto bad = [&](ErrorCode code, std::string what) {
    return Fail(code, fmt::format("data set '{}' of '{}': {}", dataset, path, what));
  };
  Handle set(H5Dopen2(file.id(), dataset.c_str(), H5P_DEFAULT), H5Dclose);
  if (!set.ok()) return bad(ErrorCode::kNotFound, "there is no such data set");
  Handle type(H5Dget_type(set.id()), H5Tclose);
  size_t element_bytes = type.ok() ? H5Tget_size(type.id()) : 0;
  if (!type.ok() || H5Tget_class(type.id()) != H5T_FLOAT ||
      (element_bytes != 4 && element_bytes != 8)) {
    return bad(ErrorCode::kInvalidArgument, "expected 32- or 64-bit floating point");
  }
  DType dtype = element_bytes == 4 ? DType::kF32 : DType::kF64;
  Handle space(H5Dget_space(set.id()), H5Sclose);
  int rank = space.ok() ? H5Sget_simple_extent_ndims(space.id()) : -1;
  if (rank < 0 || H5Sget_simple_extent_type(space.id()) == H5S_NULL) {
    return bad(ErrorCode::kInvalidArgument, "expected an array");
  }
  std::vector<hsize_t> extent(static_cast<size_t>(rank));
  if (rank > 0 && H5Sget_simple_extent_dims(space.id(), extent.data(), nullptr) < 0) {
    return bad(ErrorCode::kCorrupt, LastHdf5Error());
  }
  auto dims = FoldDims({extent.begin(), extent.end()});
  if (!dims) return bad(dims.error().code, dims.error().message);
  auto allocated = Field::Allocate(dtype, *dims);
  if (!allocated) return bad(allocated.error().code, allocated.error().message);
  Field field = *std::move(allocated);
  hid_t memory_type = dtype == DType::kF32 ? H5T_NATIVE_FLOAT : H5T_NATIVE_DOUBLE;
  if (field.size() > 0 && H5Dread(set.id(), memory_type, H5S_ALL, H5S_ALL, H5P_DEFAULT,
                                  field.mutable_bytes().data()) < 0) {
    return bad(ErrorCode::kCorrupt, LastHdf5Error());
  }
  return field;
}

}  // namespace

void SilenceHdf5() { H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr); }

Result<Field> ReadHdf5(const std::string& path, const std::string& dataset) {
  SZARENA_TRY(Pages pages, Pages::MapFile(path));  // names a missing file
  return ReadIsolated(path, ReaderCpuSeconds(pages.size()),
                      [&] { return ReadThroughLibrary(path, dataset); });
}

}  // namespace szarena::field

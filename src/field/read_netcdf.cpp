// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <netcdf.h>

#include <algorithm>
#include <utility>

#include "field/isolated.h"
#include "field/library_lock.h"
#include "field/netcdf_classic.h"
#include "field/reader.h"

namespace szarena::field {
namespace {

// An open file, closed with its scope.
class NetcdfFile {
 public:
  static Result<NetcdfFile> Open(const std::string& path) {
    int id = -1;
    int status = nc_open(path.c_str(), NC_NOWRITE, &id);
    if (status != NC_NOERR) {
      return Fail(ErrorCode::kCorrupt,
                  fmt::format("'{}' is not a readable NetCDF file: {}", path, nc_strerror(status)));
    }
    return NetcdfFile(id);
  }
  NetcdfFile(NetcdfFile&& other) noexcept : id_(std::exchange(other.id_, -1)) {}
  NetcdfFile& operator=(NetcdfFile&&) = delete;
  ~NetcdfFile() {
    if (id_ >= 0) nc_close(id_);
  }
  int id() const { return id_; }

  // Names of the variables of type float and double.
  std::vector<std::string> Variables() const {
    std::vector<std::string> names;
    int count = 0;
    if (nc_inq_nvars(id_, &count) != NC_NOERR) return names;
    for (int v = 0; v < count; ++v) {
      char name[NC_MAX_NAME + 1] = {};
      nc_type type = NC_NAT;
      if (nc_inq_varname(id_, v, name) == NC_NOERR && nc_inq_vartype(id_, v, &type) == NC_NOERR &&
          (type == NC_FLOAT || type == NC_DOUBLE)) {
        names.emplace_back(name);
      }
    }
    return names;
  }

 private:
  explicit NetcdfFile(int id) : id_(id) {}
  int id_;
};

std::vector<double> MissingValues(int file, int variable) {
  std::vector<double> values;
  for (const char* name : {"_FillValue", "missing_value"}) {
    nc_type type = NC_NAT;
    size_t length = 0;
    if (nc_inq_att(file, variable, name, &type, &length) != NC_NOERR || type == NC_CHAR ||
        length == 0 || length > 64) {
      continue;
    }
    std::vector<double> found(length);
    if (nc_get_att_double(file, variable, name, found.data()) != NC_NOERR) continue;
    for (double value : found) {
      if (std::ranges::find(values, value) == values.end()) values.push_back(value);
    }
  }
  return values;
}

// NetCDF-4, through the library. To be called inside ReadIsolated.
Result<Field> ReadThroughLibrary(const std::string& path, const std::string& variable) {
  SilenceHdf5();
  SZARENA_TRY(NetcdfFile file, NetcdfFile::Open(path));
  auto bad = [&](ErrorCode code, std::string what) {
    return Fail(code, fmt::format("variable '{}' of '{}': {}", variable, path, what));
  };
  int id = -1;
  if (variable.empty() || nc_inq_varid(file.id(), variable.c_str(), &id) != NC_NOERR) {
    return Fail(ErrorCode::kNotFound,
                fmt::format("no variable '{}' in '{}': expected one of {}", variable, path,
                            fmt::join(file.Variables(), ", ")));
  }
  nc_type type = NC_NAT;
  int rank = 0;
  int dim_ids[NC_MAX_VAR_DIMS];
  if (int status = nc_inq_var(file.id(), id, nullptr, &type, &rank, dim_ids, nullptr);
      status != NC_NOERR) {
    return bad(ErrorCode::kCorrupt, nc_strerror(status));
  }
  if (type != NC_FLOAT && type != NC_DOUBLE) {
    char name[NC_MAX_NAME + 1] = "?";
    nc_inq_type(file.id(), type, name, nullptr);
    return bad(ErrorCode::kInvalidArgument,
               fmt::format("its type is {}, expected float or double", name));
  }
  std::vector<size_t> shape(static_cast<size_t>(rank));
  for (size_t i = 0; i < shape.size(); ++i) {
    if (int status = nc_inq_dimlen(file.id(), dim_ids[i], &shape[i]); status != NC_NOERR) {
      return bad(ErrorCode::kCorrupt, nc_strerror(status));
    }
  }
  auto dims = FoldDims(shape);
  if (!dims) return bad(dims.error().code, dims.error().message);
  auto allocated = Field::Allocate(type == NC_FLOAT ? DType::kF32 : DType::kF64, *dims);
  if (!allocated) return bad(allocated.error().code, allocated.error().message);
  Field field = *std::move(allocated);
  if (field.size() > 0) {
    int status = nc_get_var(file.id(), id, field.mutable_bytes().data());
    if (status != NC_NOERR) return bad(ErrorCode::kCorrupt, nc_strerror(status));
  }
  field.set_missing_values(MissingValues(file.id(), id));
  return field;
}

}  // namespace

// Files are mapped first, which names those that are missing and keeps the library, which takes
// "http://…" for a remote data set, from all else.
Result<Field> ReadNetcdf(const std::string& path, const std::string& variable) {
  SZARENA_TRY(Pages pages, Pages::MapFile(path));
  std::span<const std::byte> bytes(pages.data(), pages.size());
  if (IsClassicNetcdf(bytes)) return ReadClassicNetcdf(bytes, path, variable);
  return ReadIsolated(path, ReaderCpuSeconds(pages.size()),
                      [&] { return ReadThroughLibrary(path, variable); });
}

}  // namespace szarena::field

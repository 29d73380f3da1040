// SPDX-License-Identifier: Apache-2.0
// After the "NetCDF Classic Format Specification" of Unidata's netCDF documentation.
#include "field/netcdf_classic.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <optional>

#include "base/bytes.h"

namespace szarena::field {
namespace {

constexpr uint32_t kTagDimension = 10, kTagVariable = 11, kTagAttribute = 12;

struct TypeInfo {
  std::string_view name;
  size_t bytes;
};
// Indexed by nc_type.
constexpr TypeInfo kTypes[] = {{"?", 0},      {"byte", 1},  {"char", 1},   {"short", 2},
                               {"int", 4},    {"float", 4}, {"double", 8}, {"ubyte", 1},
                               {"ushort", 2}, {"uint", 4},  {"int64", 8},  {"uint64", 8}};
constexpr uint32_t kFloat = 5, kDouble = 6;

struct Variable {
  std::string name;
  uint32_t type = 0;
  std::vector<uint64_t> shape;  // without the record dimension
  bool is_record = false;
  uint64_t begin = 0;
  uint64_t bytes = 0;  // of the whole variable, or of one record
  std::vector<double> missing;

  bool is_real() const { return type == kFloat || type == kDouble; }
};

struct Header {
  uint64_t records = 0;
  std::vector<Variable> variables;
};

// A cursor that remembers its first failure; every read after one gives 0. Loops over counts from
// the file end at the first failure, so they run at most once per byte.
class Parser {
 public:
  explicit Parser(std::span<const std::byte> file) : file_(file) {}

  std::optional<Header> Parse() {
    version_ = std::to_integer<int>(file_[3]);
    at_ = 4;
    Header header;
    header.records = Count();
    std::vector<uint64_t> dims;
    for (uint64_t i = List(kTagDimension); i > 0 && ok_; --i) {
      Name();
      dims.push_back(Count());
    }
    std::vector<double> unused;
    Attributes(unused);
    for (uint64_t i = List(kTagVariable); i > 0 && ok_; --i) {
      header.variables.push_back(ReadVariable(dims));
    }
    if (!ok_) return {};
    return header;
  }

 private:
  template <typename T>
  T Read() {
    if (!ok_ || file_.size() - at_ < sizeof(T)) {
      ok_ = false;
      return 0;
    }
    T value = LoadBe<T>(file_.data() + at_);
    at_ += sizeof(T);
    return value;
  }
  uint64_t Count() { return version_ == 5 ? Read<uint64_t>() : Read<uint32_t>(); }
  // Steps over `bytes` and their padding to a multiple of 4; gives the bytes.
  std::span<const std::byte> Take(uint64_t bytes) {
    uint64_t padded = bytes + (4 - bytes % 4) % 4;
    if (!ok_ || padded < bytes || file_.size() - at_ < padded) {
      ok_ = false;
      return {};
    }
    auto taken = file_.subspan(at_, bytes);
    at_ += padded;
    return taken;
  }
  std::string Name() {
    auto bytes = Take(Count());
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  // Entries of a list: its tag and count, or two zeros where it is absent.
  uint64_t List(uint32_t tag) {
    uint32_t found = Read<uint32_t>();
    uint64_t entries = Count();
    if (found != tag && !(found == 0 && entries == 0)) ok_ = false;
    return entries;
  }
  size_t TypeBytes(uint32_t type) {
    size_t bytes = type < std::size(kTypes) ? kTypes[type].bytes : 0;
    if (bytes == 0) ok_ = false;
    return bytes;
  }
  void Attributes(std::vector<double>& missing) {
    for (uint64_t i = List(kTagAttribute); i > 0 && ok_; --i) {
      std::string name = Name();
      uint32_t type = Read<uint32_t>();
      size_t bytes = TypeBytes(type);
      uint64_t values = Count();
      if (values > file_.size()) ok_ = false;
      auto data = Take(bytes * values);
      if (!ok_ || (name != "_FillValue" && name != "missing_value")) continue;
      if (type != kFloat && type != kDouble) continue;
      for (uint64_t k = 0; k < values; ++k) {
        double value = type == kFloat ? static_cast<double>(LoadBe<float>(data.data() + 4 * k))
                                      : LoadBe<double>(data.data() + 8 * k);
        if (std::ranges::find(missing, value) == missing.end()) missing.push_back(value);
      }
    }
  }
  Variable ReadVariable(const std::vector<uint64_t>& dims) {
    Variable variable;
    variable.name = Name();
    uint64_t rank = Count();
    unsigned __int128 elements = 1;
    for (uint64_t i = 0; i < rank && ok_; ++i) {
      uint64_t id = Count();
      if (id >= dims.size()) {
        ok_ = false;
      } else if (i == 0 && dims[id] == 0) {
        variable.is_record = true;
      } else {
        variable.shape.push_back(dims[id]);
        elements *= dims[id];
        if (elements > UINT64_MAX / 8) ok_ = false;
      }
    }
    Attributes(variable.missing);
    variable.type = Read<uint32_t>();
    size_t bytes = TypeBytes(variable.type);
    Count();  // vsize: redundant, and saturated for large variables
    variable.begin = version_ == 1 ? Read<uint32_t>() : Read<uint64_t>();
    variable.bytes = static_cast<uint64_t>(elements) * bytes;
    return variable;
  }

  std::span<const std::byte> file_;
  size_t at_ = 0;
  int version_ = 1;
  bool ok_ = true;
};

std::vector<std::string> RealNames(const Header& header) {
  std::vector<std::string> names;
  for (const Variable& v : header.variables) {
    if (v.is_real()) names.push_back(v.name);
  }
  return names;
}

Result<Header> ParseHeader(std::span<const std::byte> file, const std::string& path) {
  if (auto header = Parser(file).Parse()) return *std::move(header);
  return Fail(
      ErrorCode::kCorrupt,
      fmt::format("'{}' is not a readable NetCDF file: its header is cut off or malformed", path));
}

// Bytes from one record to the next: all record variables, each padded to 4 bytes unless alone.
unsigned __int128 RecordStride(const Header& header) {
  auto count = std::ranges::count_if(header.variables, &Variable::is_record);
  unsigned __int128 stride = 0;
  for (const Variable& v : header.variables) {
    if (v.is_record) stride += count == 1 ? v.bytes : (v.bytes + 3) / 4 * 4;
  }
  return stride;
}

template <typename T>
void CopyBigEndian(const std::byte* from, std::span<T> to) {
  for (size_t i = 0; i < to.size(); ++i) to[i] = LoadBe<T>(from + i * sizeof(T));
}

}  // namespace

bool IsClassicNetcdf(std::span<const std::byte> file) {
  if (file.size() < 4 || file[0] != std::byte{'C'} || file[1] != std::byte{'D'} ||
      file[2] != std::byte{'F'}) {
    return false;
  }
  int version = std::to_integer<int>(file[3]);
  return version == 1 || version == 2 || version == 5;
}

Result<Field> ReadClassicNetcdf(std::span<const std::byte> file, const std::string& path,
                                const std::string& variable) {
  SZARENA_TRY(Header header, ParseHeader(file, path));
  auto bad = [&](ErrorCode code, std::string what) {
    return Fail(code, fmt::format("variable '{}' of '{}': {}", variable, path, what));
  };
  auto found = std::ranges::find(header.variables, variable, &Variable::name);
  if (found == header.variables.end()) {
    return Fail(ErrorCode::kNotFound,
                fmt::format("no variable '{}' in '{}': expected one of {}", variable, path,
                            fmt::join(RealNames(header), ", ")));
  }
  const Variable& v = *found;
  if (!v.is_real()) {
    return bad(ErrorCode::kInvalidArgument,
               fmt::format("its type is {}, expected float or double", kTypes[v.type].name));
  }
  const unsigned __int128 stride = RecordStride(header);
  uint64_t records = v.is_record ? header.records : 1;
  if (v.is_record && (records == UINT64_MAX || records == UINT32_MAX)) {
    // "Streaming": the count is whatever the file's size holds.
    records = v.begin < file.size() && stride > 0
                  ? static_cast<uint64_t>((file.size() - v.begin) / stride)
                  : 0;
  }
  unsigned __int128 end = v.begin;
  if (records > 0) end += (v.is_record ? stride * (records - 1) : 0) + v.bytes;
  if (end > file.size()) {
    return bad(ErrorCode::kCorrupt, fmt::format("the file is cut off: {} bytes, expected {}",
                                                file.size(), static_cast<uint64_t>(end)));
  }
  std::vector<size_t> shape(v.shape.begin(), v.shape.end());
  if (v.is_record) shape.insert(shape.begin(), records);
  auto dims = FoldDims(shape);
  if (!dims) return bad(dims.error().code, dims.error().message);
  auto allocated = Field::Allocate(v.type == kFloat ? DType::kF32 : DType::kF64, *dims);
  if (!allocated) return bad(allocated.error().code, allocated.error().message);
  Field field = *std::move(allocated);
  const size_t per_record = v.bytes / kTypes[v.type].bytes;
  for (uint64_t r = 0; r < records && per_record > 0; ++r) {
    const std::byte* from = file.data() + v.begin + static_cast<size_t>(stride * r);
    if (v.type == kFloat) {
      CopyBigEndian(from, field.mutable_values<float>().subspan(r * per_record, per_record));
    } else {
      CopyBigEndian(from, field.mutable_values<double>().subspan(r * per_record, per_record));
    }
  }
  field.set_missing_values(v.missing);
  return field;
}

}  // namespace szarena::field

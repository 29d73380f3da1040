// SPDX-License-Identifier: Apache-2.0
#include "field/real.h"

#include <fmt/format.h>
#include <openssl/sha.h>

#include <array>
#include <cmath>

#include "field/reader.h"

namespace szarena::field {
namespace {

constexpr std::string_view kFerret = "ferret-datasets", kProj = "proj-data";
#define FERRET_FILE(name) "/usr/share/ferret-vis/data/" name
constexpr std::string_view kEgm96 = "/usr/share/proj/egm96_15.gtx";
constexpr DType kF32 = DType::kF32, kF64 = DType::kF64;

// Shapes and hashes: ferret-datasets 7.6.0-5 and proj-data 9.1.1-1 of Debian 12.
constexpr std::array kFields = {
    RealField{"etopo5",
              "relief of the earth, 5 minutes, m",
              kFerret,
              FERRET_FILE("etopo5.cdf"),
              "ROSE",
              kF32,
              {2161, 4320, 0},
              "1455d5e5feebd183",
              false,
              false},
    RealField{"etopo20",
              "relief of the earth, 20 minutes, m",
              kFerret,
              FERRET_FILE("etopo20.cdf"),
              "ROSE",
              kF32,
              {540, 1081, 0},
              "ba27cb2fa5f2f2b2",
              false,
              false},
    RealField{"etopo60",
              "relief of the earth, 1 degree, m",
              kFerret,
              FERRET_FILE("etopo60.cdf"),
              "ROSE",
              kF32,
              {180, 360, 0},
              "36b4cb72a01cf4c6",
              false,
              false},
    RealField{"levitus-temp",
              "ocean temperature, C",
              kFerret,
              FERRET_FILE("levitus_climatology.cdf"),
              "TEMP",
              kF32,
              {20, 180, 360},
              "6cf0c43e2b5b790a",
              true,
              false},
    RealField{"levitus-salt",
              "ocean salinity, ppt",
              kFerret,
              FERRET_FILE("levitus_climatology.cdf"),
              "SALT",
              kF32,
              {20, 180, 360},
              "6cf0c43e2b5b790a",
              true,
              false},
    RealField{"navy-uwnd",
              "monthly zonal wind, m/s",
              kFerret,
              FERRET_FILE("monthly_navy_winds.cdf"),
              "UWND",
              kF32,
              {132, 73, 144},
              "225a9e4fed7bb1a7",
              false,
              false},
    RealField{"navy-vwnd",
              "monthly meridional wind, m/s",
              kFerret,
              FERRET_FILE("monthly_navy_winds.cdf"),
              "VWND",
              kF32,
              {132, 73, 144},
              "225a9e4fed7bb1a7",
              false,
              false},
    RealField{"ocean-atlas-temp",
              "monthly ocean temperature, C (12 months x 19 depths folded)",
              kFerret,
              FERRET_FILE("ocean_atlas_subset.nc"),
              "TEMP",
              kF32,
              {228, 90, 180},
              "598e82c3689272fd",
              true,
              false},
    RealField{"coads-sst",
              "sea surface temperature, C",
              kFerret,
              FERRET_FILE("coads_climatology.cdf"),
              "SST",
              kF32,
              {12, 90, 180},
              "b94f55034d13d63f",
              true,
              false},
    RealField{"coads-slp",
              "sea level pressure, mb",
              kFerret,
              FERRET_FILE("coads_climatology.cdf"),
              "SLP",
              kF32,
              {12, 90, 180},
              "b94f55034d13d63f",
              true,
              false},
    RealField{"egm96",
              "geoid height, m",
              kProj,
              kEgm96,
              "",
              kF32,
              {721, 1440, 0},
              "c02a6eb70a7a78ef",
              false,
              false},
    RealField{"etopo20-gradient",
              "slope of the relief, m per cell",
              kFerret,
              FERRET_FILE("etopo20.cdf"),
              "ROSE",
              kF64,
              {540, 1081, 0},
              "ba27cb2fa5f2f2b2",
              false,
              true},
    RealField{"navy-uwnd-gradient",
              "gradient of the zonal wind, m/s per cell",
              kFerret,
              FERRET_FILE("monthly_navy_winds.cdf"),
              "UWND",
              kF64,
              {132, 73, 144},
              "225a9e4fed7bb1a7",
              false,
              true},
    RealField{"egm96-gradient",
              "gradient of the geoid height, m per cell",
              kProj,
              kEgm96,
              "",
              kF64,
              {721, 1440, 0},
              "c02a6eb70a7a78ef",
              false,
              true},
};

std::string Sha256Prefix(const Pages& pages) {
  unsigned char digest[SHA256_DIGEST_LENGTH];
  SHA256(reinterpret_cast<const unsigned char*>(pages.data()), pages.size(), digest);
  std::string text;
  for (int i = 0; i < 8; ++i) text += fmt::format("{:02x}", digest[i]);
  return text;
}

// |gradient| by central differences (one-sided at borders) in index space, along the last two
// dimensions, in f64: a smooth field whose low mantissa bits carry information.
Result<Field> Gradient(const Field& f32) {
  SZARENA_TRY(Field gradient, Field::Allocate(DType::kF64, f32.dims()));
  std::span<const float> from = f32.values<float>();
  std::span<double> to = gradient.mutable_values<double>();
  const size_t columns = f32.dims().back();
  const size_t rows = f32.dims()[f32.dims().size() - 2];
  for (size_t i = 0; i < to.size(); ++i) {
    size_t x = i % columns, y = i / columns % rows;
    auto slope = [&](size_t at, size_t extent, size_t stride) {
      size_t low = at > 0 ? i - stride : i, high = at + 1 < extent ? i + stride : i;
      if (low == high) return 0.0;
      return (static_cast<double>(from[high]) - from[low]) /
             static_cast<double>((high - low) / stride);
    };
    double dx = slope(x, columns, 1), dy = slope(y, rows, columns);
    to[i] = std::sqrt(dx * dx + dy * dy);
  }
  return gradient;
}

}  // namespace

Dims RealField::shape() const {
  Dims shape(dims, dims + 3);
  while (shape.size() > 1 && shape.back() == 0) shape.pop_back();
  return shape;
}

std::span<const RealField> AllRealFields() { return kFields; }

Result<const RealField*> FindRealField(std::string_view name) {
  std::string known;
  for (const RealField& field : kFields) {
    if (field.name == name) return &field;
    known += (known.empty() ? "" : ", ") + std::string(field.name);
  }
  return Fail(ErrorCode::kNotFound,
              fmt::format("unknown real field '{}': expected one of {}", name, known));
}

Result<Field> LoadReal(const RealField& real) {
  std::string path(real.path);
  {
    auto pages = Pages::MapFile(path);
    if (!pages && pages.error().code == ErrorCode::kNotFound) {
      return Fail(ErrorCode::kUnavailable,
                  fmt::format("real field '{}' needs '{}' of Debian package '{}': run ./dev setup",
                              real.name, path, real.package));
    }
    if (!pages) return tl::unexpected(std::move(pages).error());
    if (std::string found = Sha256Prefix(*pages); found != real.sha256) {
      return Fail(
          ErrorCode::kCorrupt,
          fmt::format("real field '{}': '{}' has SHA-256 {}…, expected {}… (package '{}' of "
                      "Debian 12): run ./dev setup",
                      real.name, path, found, real.sha256, real.package));
    }
  }
  auto read = real.variable.empty() ? ReadGtx(path) : ReadNetcdf(path, std::string(real.variable));
  if (read && real.is_gradient) read = Gradient(*read);
  if (!read) return WithContext(std::move(read).error(), fmt::format("real field '{}'", real.name));
  if (read->dims() != real.shape() || read->dtype() != real.dtype) {
    return Fail(ErrorCode::kCorrupt,
                fmt::format("real field '{}' is {} of {}, expected {} of {}", real.name,
                            DimsToString(read->dims()), DTypeName(read->dtype()),
                            DimsToString(real.shape()), DTypeName(real.dtype)));
  }
  return read;
}

}  // namespace szarena::field

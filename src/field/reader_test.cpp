// SPDX-License-Identifier: Apache-2.0
#include "field/reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <hdf5.h>
#include <netcdf.h>

#include <atomic>
#include <cstring>
#include <fstream>

#include "base/atomic_file.h"
#include "base/bytes.h"
#include "field/counter_rng.h"
#include "field/isolated.h"
#include "field/testing/temp_folder.h"
#include "field/writer.h"

namespace szarena::field {
namespace {

using testing::HasSubstr;

void WriteText(const std::string& path, std::string_view text) {
  ASSERT_TRUE(WriteFileAtomically(path, text).has_value());
}

std::string ReadText(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

Field Counting(DType dtype, Dims dims) {
  Field field = *Field::Allocate(dtype, std::move(dims));
  for (size_t i = 0; i < field.size(); ++i) {
    if (dtype == DType::kF32) field.mutable_values<float>()[i] = static_cast<float>(i) + 0.5f;
    if (dtype == DType::kF64) field.mutable_values<double>()[i] = static_cast<double>(i) + 0.1;
  }
  return field;
}

void ExpectSame(const Field& a, const Field& b) {
  EXPECT_EQ(a.dtype(), b.dtype());
  EXPECT_EQ(a.dims(), b.dims());
  ASSERT_EQ(a.size_bytes(), b.size_bytes());
  EXPECT_EQ(std::memcmp(a.bytes().data(), b.bytes().data(), a.size_bytes()), 0);
}

std::string Npy(int version, std::string dict, std::string_view data) {
  std::string text = "\x93NUMPY";
  text += static_cast<char>(version);
  text += '\0';
  char length[4];
  StoreLe(length, static_cast<uint32_t>(dict.size()));
  text.append(length, version == 1 ? 2 : 4);
  return text + dict + std::string(data);
}

TEST(RawTest, RoundTripAndSizeCheck) {
  TempFolder folder;
  Field field = Counting(DType::kF32, {2, 3});
  ASSERT_TRUE(WriteField(field, folder / "a.f32").has_value());
  ExpectSame(*ReadRaw(folder / "a.f32", DType::kF32, {2, 3}), field);
  auto wrong = ReadRaw(folder / "a.f32", DType::kF32, {2, 4});
  ASSERT_FALSE(wrong.has_value());
  EXPECT_THAT(wrong.error().message, HasSubstr("has 24 bytes"));
  EXPECT_THAT(wrong.error().message, HasSubstr("need 32"));
  EXPECT_EQ(ReadRaw(folder / "none.f32", DType::kF32, {1}).error().code, ErrorCode::kNotFound);
  EXPECT_FALSE(ReadRaw(folder / "", DType::kF32, {1}).has_value());
  EXPECT_FALSE(WriteField(field, folder / "a.d64").has_value());
}

TEST(RawTest, ChangingAMappedFieldLeavesTheFile) {
  TempFolder folder;
  ASSERT_TRUE(WriteField(Counting(DType::kF32, {4}), folder / "a.f32").has_value());
  std::string before = ReadText(folder / "a.f32");
  Field field = *ReadRaw(folder / "a.f32", DType::kF32, {4});
  field.mutable_values<float>()[0] = 99;
  EXPECT_EQ(ReadText(folder / "a.f32"), before);
}

TEST(RawTest, EmptyFileIsZeroElements) {
  TempFolder folder;
  WriteText(folder / "e.f32", "");
  EXPECT_EQ(ReadRaw(folder / "e.f32", DType::kF32, {0})->size(), 0u);
}

TEST(NpyTest, RoundTripsEveryRank) {
  TempFolder folder;
  for (DType dtype : {DType::kF32, DType::kF64}) {
    for (const Dims& dims : {Dims{0}, Dims{7}, Dims{2, 3}, Dims{2, 3, 5}}) {
      Field field = Counting(dtype, dims);
      ASSERT_TRUE(WriteField(field, folder / "a.npy").has_value());
      EXPECT_EQ((ReadText(folder / "a.npy").size() - field.size_bytes()) % 64, 0u);
      ExpectSame(*ReadNpy(folder / "a.npy"), field);
    }
  }
}

TEST(NpyTest, VersionsOrdersAndLayouts) {
  TempFolder folder;
  Field expected = Counting(DType::kF32, {2, 3});
  std::string little(24, '\0'), big(24, '\0'), fortran(24, '\0');
  for (size_t i = 0; i < 6; ++i) {
    float value = static_cast<float>(i) + 0.5f;
    StoreLe(&little[4 * i], value);
    StoreBe(&big[4 * i], value);
    StoreLe(&fortran[4 * (i % 3 * 2 + i / 3)], value);
  }
  for (int version : {1, 2, 3}) {
    WriteText(
        folder / "a.npy",
        Npy(version, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n", little));
    ExpectSame(*ReadNpy(folder / "a.npy"), expected);
  }
  WriteText(folder / "b.npy",
            Npy(1, "{\"shape\": (2L, 3L), 'fortran_order': False, 'descr': '>f4'}", big));
  ExpectSame(*ReadNpy(folder / "b.npy"), expected);
  WriteText(folder / "f.npy",
            Npy(1, "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3)}", fortran));
  ExpectSame(*ReadNpy(folder / "f.npy"), expected);
}

TEST(NpyTest, ScalarAndFourDimensions) {
  TempFolder folder;
  WriteText(folder / "s.npy",
            Npy(1, "{'descr': '<f4', 'fortran_order': False, 'shape': ()}", std::string(4, '\0')));
  EXPECT_EQ(ReadNpy(folder / "s.npy")->dims(), (Dims{1}));
  WriteText(folder / "4.npy",
            Npy(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2, 1, 3)}",
                std::string(48, '\0')));
  EXPECT_EQ(ReadNpy(folder / "4.npy")->dims(), (Dims{4, 1, 3}));
}

TEST(NpyTest, RefusesWhatItCannotRead) {
  TempFolder folder;
  const std::string data(24, '\0');
  const std::string good = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)}";
  for (const std::string& text :
       {std::string(), std::string("\x93NUMPY"), std::string("hello, world, not an array"),
        Npy(4, good, data), Npy(1, good, data + "x"), Npy(1, good, data.substr(1)),
        Npy(1, "{'descr': '<i4', 'fortran_order': False, 'shape': (2, 3)}", data),
        Npy(1, "{'descr': '<f4', 'fortran_order': False}", data), Npy(1, "{", data),
        Npy(1, "", data),
        Npy(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999, 99999999999)}",
            data),
        Npy(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (-2, 3)}", data),
        Npy(1, "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2, 3)}", data)}) {
    WriteText(folder / "bad.npy", text);
    auto read = ReadNpy(folder / "bad.npy");
    ASSERT_FALSE(read.has_value()) << text;
    EXPECT_THAT(read.error().ToString(), HasSubstr("bad.npy"));
  }
  std::string whole = Npy(1, good, data);
  for (size_t length = 0; length < whole.size(); ++length) {
    WriteText(folder / "cut.npy", whole.substr(0, length));
    EXPECT_FALSE(ReadNpy(folder / "cut.npy").has_value()) << length;
  }
}

TEST(GtxTest, ReadsBigEndianAndChecksSize) {
  TempFolder folder;
  std::string grid(40 + 6 * 4, '\0');
  StoreBe<int32_t>(&grid[32], 2);
  StoreBe<int32_t>(&grid[36], 3);
  for (size_t i = 0; i < 6; ++i) StoreBe(&grid[40 + 4 * i], static_cast<float>(i) + 0.5f);
  WriteText(folder / "g.gtx", grid);
  ExpectSame(*ReadGtx(folder / "g.gtx"), Counting(DType::kF32, {2, 3}));
  for (size_t length = 0; length < grid.size(); ++length) {
    WriteText(folder / "cut.gtx", grid.substr(0, length));
    EXPECT_FALSE(ReadGtx(folder / "cut.gtx").has_value());
  }
  StoreBe<int32_t>(&grid[32], -2);
  WriteText(folder / "g.gtx", grid);
  EXPECT_FALSE(ReadGtx(folder / "g.gtx").has_value());
}

// A small file with a fixed, a record and a 4-D variable in the format that `mode` asks for.
void MakeNetcdf(const std::string& path, int mode) {
  int file, t, z, y, x, fixed, record, four, packed;
  ASSERT_EQ(nc_create(path.c_str(), mode | NC_CLOBBER, &file), NC_NOERR);
  nc_def_dim(file, "t", NC_UNLIMITED, &t);
  nc_def_dim(file, "z", 2, &z);
  nc_def_dim(file, "y", 3, &y);
  nc_def_dim(file, "x", 5, &x);
  int zyx[] = {z, y, x}, tx[] = {t, x}, tzyx[] = {t, z, y, x};
  nc_def_var(file, "FIXED", NC_DOUBLE, 3, zyx, &fixed);
  nc_def_var(file, "RECORD", NC_FLOAT, 2, tx, &record);
  nc_def_var(file, "FOUR", NC_FLOAT, 4, tzyx, &four);
  nc_def_var(file, "PACKED", NC_SHORT, 1, &x, &packed);
  float fill = -1e34f;
  nc_put_att_float(file, record, "missing_value", NC_FLOAT, 1, &fill);
  nc_put_att_float(file, record, "_FillValue", NC_FLOAT, 1, &fill);
  nc_put_att_text(file, fixed, "missing_value", 4, "none");
  nc_enddef(file);
  Field a = Counting(DType::kF64, {2, 3, 5});
  nc_put_var_double(file, fixed, a.values<double>().data());
  Field b = Counting(DType::kF32, {4, 5}), c = Counting(DType::kF32, {8, 3, 5});
  size_t at[] = {0, 0, 0, 0}, count2[] = {4, 5}, count4[] = {4, 2, 3, 5};
  nc_put_vara_float(file, record, at, count2, b.values<float>().data());
  nc_put_vara_float(file, four, at, count4, c.values<float>().data());
  ASSERT_EQ(nc_close(file), NC_NOERR);
}

class NetcdfTest : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Formats, NetcdfTest,
                         testing::Values(0, NC_64BIT_OFFSET, NC_64BIT_DATA, NC_NETCDF4));

TEST_P(NetcdfTest, ReadsVariables) {
  TempFolder folder;
  std::string path = folder / "a.nc";
  MakeNetcdf(path, GetParam());
  ExpectSame(*ReadNetcdf(path, "FIXED"), Counting(DType::kF64, {2, 3, 5}));
  ExpectSame(*ReadNetcdf(path, "RECORD"), Counting(DType::kF32, {4, 5}));
  ExpectSame(*ReadNetcdf(path, "FOUR"), Counting(DType::kF32, {8, 3, 5}));
  EXPECT_EQ(ReadNetcdf(path, "RECORD")->missing_values(),
            std::vector<double>{static_cast<double>(-1e34f)});
  EXPECT_TRUE(ReadNetcdf(path, "FIXED")->missing_values().empty());
}

TEST_P(NetcdfTest, NamesWhatIsWrong) {
  TempFolder folder;
  std::string path = folder / "a.nc";
  MakeNetcdf(path, GetParam());
  auto none = ReadNetcdf(path, "NONE");
  ASSERT_FALSE(none.has_value());
  EXPECT_EQ(none.error().code, ErrorCode::kNotFound);
  EXPECT_THAT(none.error().message, HasSubstr("expected one of FIXED, RECORD, FOUR"));
  auto packed = ReadNetcdf(path, "PACKED");
  ASSERT_FALSE(packed.has_value());
  EXPECT_THAT(packed.error().message, HasSubstr("short, expected float or double"));
}

TEST_P(NetcdfTest, TruncatedFilesAreErrorsNotZeros) {
  TempFolder folder;
  MakeNetcdf(folder / "a.nc", GetParam());
  std::string whole = ReadText(folder / "a.nc");
  Field expected = Counting(DType::kF32, {8, 3, 5});
  for (size_t length = 0; length < whole.size(); length += whole.size() > 4000 ? 37 : 3) {
    WriteText(folder / "cut.nc", whole.substr(0, length));
    auto read = ReadNetcdf(folder / "cut.nc", "FOUR");
    // Bytes after the variable may be cut without harm; then the values must be right.
    if (read) {
      ExpectSame(*read, expected);
    }
  }
  WriteText(folder / "cut.nc", whole.substr(0, whole.size() / 2));
  EXPECT_FALSE(ReadNetcdf(folder / "cut.nc", "FOUR").has_value());
}

TEST_P(NetcdfTest, FlippedBytesDoNotCrash) {
  TempFolder folder;
  MakeNetcdf(folder / "a.nc", GetParam());
  std::string whole = ReadText(folder / "a.nc");
  CounterRng rng(static_cast<uint64_t>(GetParam()) + 1, 0);
  for (uint64_t trial = 0; trial < 200; ++trial) {
    std::string broken = whole;
    for (uint64_t k = 0; k < 4; ++k) {
      uint64_t bits = rng.Bits(4 * trial + k);
      broken[bits % std::min<size_t>(broken.size(), 2048)] = static_cast<char>(bits >> 40);
    }
    std::ofstream(folder / "x.nc", std::ios::binary) << broken;
    for (const char* name : {"FIXED", "FOUR"}) {
      auto read = ReadNetcdf(folder / "x.nc", name);
      if (read) {
        EXPECT_LE(read->dims().size(), 3u);
      }
    }
  }
}

TEST(NetcdfForeignTest, OtherFilesAreRefused) {
  TempFolder folder;
  WriteText(folder / "a.nc", "this is no netCDF file, whatever its name says");
  EXPECT_EQ(ReadNetcdf(folder / "a.nc", "X").error().code, ErrorCode::kCorrupt);
  WriteText(folder / "b.nc", "");
  EXPECT_FALSE(ReadNetcdf(folder / "b.nc", "X").has_value());
  EXPECT_EQ(ReadNetcdf("http://127.0.0.1:1/a.nc", "X").error().code, ErrorCode::kNotFound);
}

void MakeHdf5(const std::string& path) {
  hid_t file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  ASSERT_GE(file, 0);
  hid_t group = H5Gcreate2(file, "/g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  Field a = Counting(DType::kF32, {2, 3, 5});
  Field b = Counting(DType::kF64, {4, 5});
  auto add = [&](const char* name, hid_t stored, hid_t memory, std::vector<hsize_t> dims,
                 const void* data, bool chunked) {
    hid_t space = H5Screate_simple(static_cast<int>(dims.size()), dims.data(), nullptr);
    hid_t plist = H5Pcreate(H5P_DATASET_CREATE);
    if (chunked) {
      H5Pset_chunk(plist, static_cast<int>(dims.size()), dims.data());
      H5Pset_deflate(plist, 4);
    }
    hid_t set = H5Dcreate2(file, name, stored, space, H5P_DEFAULT, plist, H5P_DEFAULT);
    H5Dwrite(set, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, data);
    H5Dclose(set);
    H5Pclose(plist);
    H5Sclose(space);
  };
  add("/g/big", H5T_IEEE_F32BE, H5T_NATIVE_FLOAT, {2, 3, 5}, a.bytes().data(), false);
  add("/g/packed", H5T_IEEE_F32LE, H5T_NATIVE_FLOAT, {2, 3, 5}, a.bytes().data(), true);
  add("/double", H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, {4, 5}, b.bytes().data(), false);
  add("/four", H5T_IEEE_F32LE, H5T_NATIVE_FLOAT, {1, 2, 3, 5}, a.bytes().data(), false);
  int ints[4] = {};
  add("/ints", H5T_STD_I32LE, H5T_NATIVE_INT, {4}, ints, false);
  H5Gclose(group);
  H5Fclose(file);
}

TEST(Hdf5Test, ReadsDataSets) {
  TempFolder folder;
  std::string path = folder / "a.h5";
  MakeHdf5(path);
  Field expected = Counting(DType::kF32, {2, 3, 5});
  ExpectSame(*ReadHdf5(path, "/g/big"), expected);
  ExpectSame(*ReadHdf5(path, "/g/packed"), expected);
  ExpectSame(*ReadHdf5(path, "/double"), Counting(DType::kF64, {4, 5}));
  EXPECT_EQ(ReadHdf5(path, "/four")->dims(), (Dims{2, 3, 5}));
}

TEST(Hdf5Test, NamesWhatIsWrong) {
  TempFolder folder;
  std::string path = folder / "a.h5";
  MakeHdf5(path);
  for (const char* name : {"/none", "/g/none", "/g", ""}) {
    auto read = ReadHdf5(path, name);
    ASSERT_FALSE(read.has_value()) << name;
    EXPECT_THAT(read.error().message, HasSubstr("a.h5"));
  }
  EXPECT_THAT(ReadHdf5(path, "/ints").error().message, HasSubstr("floating point"));
  EXPECT_EQ(ReadHdf5(folder / "none.h5", "/x").error().code, ErrorCode::kNotFound);
  WriteText(folder / "foreign.h5", "CDF\1 this is something else");
  EXPECT_EQ(ReadHdf5(folder / "foreign.h5", "/x").error().code, ErrorCode::kCorrupt);
}

TEST(Hdf5Test, TruncatedOrFlippedFilesDoNotCrash) {
  TempFolder folder;
  MakeHdf5(folder / "a.h5");
  std::string whole = ReadText(folder / "a.h5");
  for (size_t length = 0; length + 1 < whole.size(); length += 101) {
    std::ofstream(folder / "cut.h5", std::ios::binary) << whole.substr(0, length);
    EXPECT_FALSE(ReadHdf5(folder / "cut.h5", "/double").has_value()) << length;
  }
  CounterRng rng(7, 0);
  for (uint64_t trial = 0; trial < 200; ++trial) {
    std::string broken = whole;
    uint64_t bits = rng.Bits(trial);
    broken[bits % broken.size()] = static_cast<char>(bits >> 40);
    std::ofstream(folder / "x.h5", std::ios::binary) << broken;
    for (const char* name : {"/double", "/g/packed", "/g/big"}) {
      auto read = ReadHdf5(folder / "x.h5", name);
      if (read) {
        EXPECT_LE(read->dims().size(), 3u);
      }
    }
  }
}

TEST(IsolatedTest, CrashesAndLoopsBecomeErrors) {
  auto crashed = ReadIsolated("a.h5", 5, []() -> Result<Field> { std::abort(); });
  ASSERT_FALSE(crashed.has_value());
  EXPECT_EQ(crashed.error().code, ErrorCode::kCorrupt);
  EXPECT_THAT(crashed.error().message, HasSubstr("'a.h5' is malformed"));
  auto looped = ReadIsolated("a.h5", 0, []() -> Result<Field> {
    for (std::atomic<int> i = 0;; ++i) {
    }
  });
  ASSERT_FALSE(looped.has_value());
  EXPECT_EQ(looped.error().code, ErrorCode::kCorrupt);
  auto large = ReadIsolated("a.h5", 5, [] { return Field::Allocate(DType::kF64, {1000, 3}); });
  EXPECT_EQ(large->dims(), (Dims{1000, 3}));
}

}  // namespace
}  // namespace szarena::field

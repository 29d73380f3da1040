// SPDX-License-Identifier: Apache-2.0
// What becomes of CUPTI's records: right ones are added up, damaged ones end in a reason and never
// in a figure.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "target/cuda/trace_sum.h"

namespace szarena::target::cuda {
namespace {

using testing::HasSubstr;

class Sum : public testing::Test {
 protected:
  void SetUp() override {
    *page_ = {};
    sum_.Reset();
  }

  // As a record of the library: longer than what is known of it.
  template <typename T>
  void Add(const T& record, size_t left = sizeof(T) + 100) {
    std::vector<unsigned char> bytes(sizeof record + 100, 0xee);
    std::memcpy(bytes.data(), &record, sizeof record);
    bytes.resize(left);  // so that a sanitizer sees what is read behind it
    bytes.shrink_to_fit();
    sum_.Add(bytes.data(), left);
  }

  static KernelRecord Kernel(const char* name, uint64_t nanoseconds, int blocks = 8) {
    KernelRecord record = {};
    record.kind = kActivityConcurrentKernel;
    record.registers = 32;
    record.start = 500;
    record.end = 500 + nanoseconds;
    record.grid[0] = blocks;
    record.grid[1] = record.grid[2] = 1;
    record.block[0] = 128;
    record.block[1] = record.block[2] = 1;
    record.static_shared_bytes = 16;
    record.dynamic_shared_bytes = 64;
    record.local_bytes = 24;
    record.name = name;
    return record;
  }

  Trace Result() {
    sum_.Complete();
    return ReadTrace(*page_);
  }

  std::unique_ptr<TracePage> page_ = std::make_unique<TracePage>();
  TraceSum sum_{page_.get()};
};

TEST_F(Sum, KernelsAreAddedUpByNameAndShape) {
  const char* encode = "_Z6EncodePKfPjm";
  const char* scan = "_Z4ScanPj";
  Add(Kernel(encode, 700));
  Add(Kernel(scan, 50));
  Add(Kernel(encode, 300));
  Add(Kernel(encode, 1000, 9));
  const Trace trace = Result();
  EXPECT_EQ(trace.failure, "");
  EXPECT_EQ(trace.launches, 4U);
  EXPECT_DOUBLE_EQ(trace.seconds, 2050e-9);
  ASSERT_EQ(trace.kernels.size(), 3U);
  EXPECT_EQ(trace.kernels[0].name, "Encode(float const*, unsigned int*, unsigned long)");
  EXPECT_EQ(trace.kernels[0].launches, 2U);
  EXPECT_DOUBLE_EQ(trace.kernels[0].seconds, 1000e-9);
  EXPECT_EQ(trace.kernels[0].grid[0], 8U);
  EXPECT_EQ(trace.kernels[0].block[0], 128U);
  EXPECT_EQ(trace.kernels[0].registers, 32U);
  EXPECT_EQ(trace.kernels[0].static_shared_bytes, 16U);
  EXPECT_EQ(trace.kernels[0].dynamic_shared_bytes, 64U);
  EXPECT_EQ(trace.kernels[0].local_bytes, 24U);
  EXPECT_EQ(trace.kernels[2].grid[0], 9U);
}

TEST_F(Sum, CopiesAndClearingsAreApartFromKernels) {
  Add(Kernel("k", 100));
  Add(MemcpyRecord{kActivityMemcpy, kCopyDeviceToHost, 0, 0, 0, 8, 10, 40});
  Add(MemcpyRecord{kActivityMemcpy, 4, 0, 0, 0, 16, 10, 15});
  Add(MemsetRecord{kActivityMemset, 0, 4096, 10, 20});
  Add(MemsetRecord{kActivityMemset, kMarkValue, kMarkBytes, 0, 0});
  const Trace trace = Result();
  EXPECT_EQ(trace.failure, "");
  EXPECT_DOUBLE_EQ(trace.seconds, 100e-9);
  const auto& from = trace.transfers[static_cast<size_t>(Transfer::kFromDevice)];
  EXPECT_EQ(from.count, 1U);
  EXPECT_EQ(from.bytes, 8U);
  EXPECT_DOUBLE_EQ(from.seconds, 30e-9);
  EXPECT_EQ(trace.transfers[static_cast<size_t>(Transfer::kOther)].bytes, 16U);
  EXPECT_EQ(trace.transfers[static_cast<size_t>(Transfer::kSet)].count, 1U);
  EXPECT_EQ(sum_.marks(), 1U);
}

TEST_F(Sum, OtherKindsArePassedOver) {
  Add(Kernel("k", 100));
  const uint32_t unknown = 4711;
  Add(unknown, sizeof unknown);
  EXPECT_EQ(Result().failure, "");
}

TEST_F(Sum, RecordsThatAreCutShortGiveNoFigure) {
  for (const size_t left : {size_t{0}, size_t{3}, size_t{4}, sizeof(KernelRecord) - 1}) {
    SetUp();
    sum_ = TraceSum(page_.get());
    Add(Kernel("k", 100));
    Add(Kernel("k", 100), left);
    EXPECT_THAT(Result().failure, HasSubstr("cut short")) << left;
  }
  for (const size_t left : {size_t{8}, sizeof(MemsetRecord) - 1}) {
    sum_ = TraceSum(page_.get());
    SetUp();
    Add(Kernel("k", 100));
    Add(MemsetRecord{kActivityMemset, 0, 4096, 10, 20}, left);
    EXPECT_THAT(Result().failure, HasSubstr("cut short")) << left;
  }
}

TEST_F(Sum, TimesThatCannotBeGiveNoFigure) {
  KernelRecord unknown = Kernel("k", 100);
  unknown.start = unknown.end = 0;
  KernelRecord backwards = Kernel("k", 100);
  backwards.end = backwards.start - 1;
  KernelRecord endless = Kernel("k", 100);
  endless.end = UINT64_MAX;
  for (const KernelRecord& record : {unknown, backwards, endless}) {
    SetUp();
    Add(Kernel("k", 100));
    Add(record);
    Add(Kernel("k", 100));
    EXPECT_THAT(Result().failure, HasSubstr("no usable time"));
  }
}

TEST_F(Sum, MoreKernelsThanThereIsRoomForAreInTheSums) {
  const std::string names(kMaxTracedKernels + 40, 'k');
  for (size_t i = 0; i < names.size(); ++i) Add(Kernel(names.c_str() + i, 10));
  const Trace trace = Result();
  EXPECT_EQ(trace.failure, "");
  EXPECT_EQ(trace.kernels.size(), kMaxTracedKernels);
  EXPECT_EQ(trace.launches, names.size());
  EXPECT_DOUBLE_EQ(trace.seconds, static_cast<double>(names.size()) * 10e-9);
}

TEST_F(Sum, LongAndMissingNames) {
  const std::string name(3000, 'n');
  Add(Kernel(name.c_str(), 10));
  Add(Kernel(nullptr, 10));
  const Trace trace = Result();
  ASSERT_EQ(trace.kernels.size(), 2U);
  EXPECT_EQ(trace.kernels[0].name, std::string(255, 'n'));
  EXPECT_EQ(trace.kernels[1].name, "(unnamed)");
}

// The page is memory that the candidate's process can write.
TEST(Page, WhateverIsInItIsReadWithinItsLimits) {
  auto page = std::make_unique<TracePage>();
  std::memset(static_cast<void*>(page.get()), 0xff, sizeof *page);
  EXPECT_NE(ReadTrace(*page).failure, "");  // no such state
  page->state = static_cast<uint32_t>(TraceState::kFailed);
  EXPECT_EQ(ReadTrace(*page).failure.size(), sizeof page->message);
  page->state = static_cast<uint32_t>(TraceState::kComplete);
  const Trace trace = ReadTrace(*page);
  EXPECT_EQ(trace.failure, "");
  EXPECT_EQ(trace.kernels.size(), kMaxTracedKernels);
  EXPECT_EQ(trace.kernels.back().name.size(), sizeof page->kernels[0].name);
  page->launches = 0;
  EXPECT_EQ(ReadTrace(*page).failure, "no kernel ran");
  page->state = 0;
  EXPECT_NE(ReadTrace(*page).failure, "");
}

TEST(Runs, AreAddedUp) {
  Trace first;
  first.runs = 1;
  first.launches = 3;
  first.seconds = 2;
  first.kernels = {{.name = "a", .launches = 2, .seconds = 1.5},
                   {.name = "b", .launches = 1, .seconds = 0.5}};
  first.transfers[0] = {1, 8, 0.25};
  Trace sum;
  AddTrace(sum, first);
  first.kernels.erase(first.kernels.begin());
  first.kernels[0].block = {32, 1, 1};
  AddTrace(sum, first);
  EXPECT_EQ(sum.runs, 2U);
  EXPECT_EQ(sum.launches, 6U);
  EXPECT_DOUBLE_EQ(sum.seconds, 4);
  ASSERT_EQ(sum.kernels.size(), 3U);
  EXPECT_EQ(sum.transfers[0].bytes, 16U);
}

TEST(Versions, OnlyThoseWhoseRecordsAreKnown) {
  for (const uint32_t known : {13U, 18U, 28U, 130000U, 130001U, 130599U})
    EXPECT_TRUE(KnownCupti(known)) << known;
  for (const uint32_t unknown : {0U, 9U, 12U, 29U, 1000U, 129900U, 130600U, 140000U, 4294967295U})
    EXPECT_FALSE(KnownCupti(unknown)) << unknown;
}

}  // namespace
}  // namespace szarena::target::cuda

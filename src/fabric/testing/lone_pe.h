// SPDX-License-Identifier: Apache-2.0
// One PE with nothing around it: runs functions of one class, on the back end that SZARENA_BACKEND
// names, and collects traps. For tests of the back ends and the DSD engine.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "fabric/interp/engine.h"
#include "fabric/interp/interp.h"
#include "fabric/native/native.h"
#include "fabric/testing/program_kit.h"

namespace szarena::fabric::testing {

class LonePe final : public Surroundings {
 public:
  explicit LonePe(Arch arch = Arch::kWse2, FloatFormat fp16 = FloatFormat::kF16);
  ClassKit& code() { return kit_class_; }
  // Loads the class as it is now; forgets the PE's state.
  void Load();
  // Runs a function to its end; its result. Microthreads go on until nothing moves.
  uint64_t Call(uint32_t function, std::vector<uint64_t> args = {});
  // Runs `body` as a function with these arguments; the value in the register that it returns.
  template <typename Body>
  uint64_t Eval(Body body, std::vector<uint64_t> args = {}, std::vector<ScalarType> params = {}) {
    params.resize(args.size(), ScalarType::kU64);
    const uint32_t f = kit_class_.Fn(
        "eval", [&](FunctionBuilder& b) { b.Emit(Op::kReturn, body(b)); }, params, true);
    Load();
    return Call(f, std::move(args));
  }
  std::vector<uint16_t> Words(uint32_t address, uint32_t count);
  std::vector<float> Floats(uint32_t address, uint32_t count);
  Pe& pe() { return *pe_; }
  Core& core() { return core_; }
  std::vector<std::pair<TrapKind, std::string>> traps;
  std::vector<std::string> lines;
  bool all_fatal = false;
  uint64_t cycles = 0;  // of the last Call

  bool Report(Pe&, TrapKind kind, uint64_t, uint32_t, uint32_t, std::string detail) override {
    traps.emplace_back(kind, std::move(detail));
    return all_fatal || TrapIsFatal(kind);
  }
  void WakeRouter(Pe&, uint64_t) override {}
  uint64_t RouterNative(Pe&, Native, const uint64_t*) override { return 77; }
  std::string Register(Pe&, uint32_t, bool, uint16_t&) override { return "no router"; }
  void CommandDone(Pe&, uint64_t) override {}
  uint32_t SymbolValue(Pe&, uint32_t id) override { return 1000 + id; }
  void PrintLine(Pe&, std::string line) override { lines.push_back(std::move(line)); }

 private:
  Program program_;
  ClassKit kit_class_;
  std::unique_ptr<LoadedClass> loaded_;
  std::unique_ptr<Pe> pe_;
  Core core_;
  std::unique_ptr<NativeProgram> native_;
  std::unique_ptr<Runner> runner_;  // null: bytecode
};

}  // namespace szarena::fabric::testing

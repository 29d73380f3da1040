// SPDX-License-Identifier: Apache-2.0
// See lone_pe.h.
#include "fabric/testing/lone_pe.h"

#include "base/check.h"
#include "bytecode/verify.h"

namespace szarena::fabric::testing {

LonePe::LonePe(Arch arch, FloatFormat fp16) : kit_class_(program_, 0) {
  program_.arch = arch;
  program_.fp16 = fp16;
  program_.width = program_.height = 1;
  program_.files = {"lone.csl"};
  program_.routers.resize(1);
  program_.pes = {{0, 0}};
  program_.classes.emplace_back().name = "lone";
  core_.program = &program_;
  core_.cost = &CostModelOf(arch);
  core_.around = this;
}

void LonePe::Load() {
  const auto ok = Verify(program_);
  SZARENA_CHECK(ok.has_value(), "a test's program is well formed");
  loaded_ = std::make_unique<LoadedClass>(kit_class_.get());
  pe_ = std::make_unique<Pe>();
  pe_->cls = loaded_.get();
  pe_->memory.Init(*loaded_->image, core_.pages);
  core_.now = 1;
  const auto backend = BackendFromEnvironment();
  SZARENA_CHECK(backend.has_value(), "SZARENA_BACKEND names a back end");
  runner_.reset();
  auto native = MakeNative(*backend, program_, *core_.cost, core_.check_uninitialised);
  SZARENA_CHECK(native.has_value(), "the back end that SZARENA_BACKEND names is there");
  native_ = std::move(*native);
  if (native_ != nullptr) runner_ = native_->NewRunner();
}

uint64_t LonePe::Call(uint32_t function, std::vector<uint64_t> args) {
  if (pe_ == nullptr) Load();
  const uint64_t begin = core_.now;
  pe_->main_ready = core_.now;
  StartFunction(core_, *pe_, function, args.data(), static_cast<uint32_t>(args.size()));
  for (int idle = 0; idle < 1000; ++core_.now) {
    bool moved = StepOperations(core_, *pe_);
    if (pe_->state == MainState::kWaitQueue) pe_->state = MainState::kRunning;
    if (pe_->state == MainState::kRunning && pe_->main_ready <= core_.now) {
      if (runner_ != nullptr)
        runner_->Run(core_, *pe_);
      else
        RunMain(core_, *pe_);
      moved = true;
    }
    if (pe_->state == MainState::kHalted) break;
    if (pe_->state == MainState::kIdle && (pe_->comm == nullptr || pe_->comm->live == 0)) break;
    if (!moved && pe_->state == MainState::kRunning)
      core_.now = std::max(core_.now, pe_->main_ready - 1);
    idle = moved ? 0 : idle + 1;
  }
  core_.now = std::max(core_.now, pe_->main_ready);
  cycles = pe_->main_ready - begin;
  return pe_->thread->regs[0];
}

std::vector<uint16_t> LonePe::Words(uint32_t address, uint32_t count) {
  std::vector<uint16_t> v(count);
  pe_->memory.ReadBytes(address, v.data(), 2 * count);
  return v;
}

std::vector<float> LonePe::Floats(uint32_t address, uint32_t count) {
  std::vector<float> v(count);
  pe_->memory.ReadBytes(address, v.data(), 4 * count);
  return v;
}

}  // namespace szarena::fabric::testing

// SPDX-License-Identifier: Apache-2.0
// The machine's side of the native back end: loads the compiler, decides what is compiled, drives
// compiled code and the bytecode loop in turn.
#include "fabric/native/native.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <vector>

#include "fabric/interp/interp.h"
#include "fabric/native/plugin.h"

namespace szarena::fabric {
namespace native {
using namespace bytecode;
namespace {

// Compiled calls nest on the host's stack: deeper ones go through Run's loop.
constexpr uint32_t kNest = 64;
// Back end kAuto: a class must have run that many instructions before anything of it is compiled
// (LLVM takes some 20 ms to load), and that many for each instruction that is compiled (a quarter
// of a millisecond). So compiling takes no longer than what has been run already.
constexpr uint64_t kHotStart = 20'000'000;
constexpr uint64_t kHotPerInstruction = 200'000;

extern const Helpers kHelpers;
class NativeRunner;

struct ClassCode {
  const CodeClass* code = nullptr;
  std::unique_ptr<std::atomic<Entry>[]> entries;
  std::vector<bool> tried;   // under the program's mutex
  uint32_t frame_bytes = 1;  // of the largest frame, at least 1
  uint32_t descriptor_frame_bytes = 1;
  uint64_t compiled_length = 0;      // under the mutex too
  std::atomic<bool> settled{false};  // nothing is left to compile
};

class OrcProgram final : public NativeProgram {
 public:
  OrcProgram(const Program& program, const CostModel& cost, bool check_uninitialised,
             Backend backend)
      : settings_{&program, &cost, &kHelpers, check_uninitialised},
        backend_(backend),
        classes_(program.classes.size()) {
    first_ = program.classes.data();
    for (size_t i = 0; i < classes_.size(); ++i) {
      classes_[i].code = &program.classes[i];
      classes_[i].entries =
          std::make_unique<std::atomic<Entry>[]>(program.classes[i].functions.size());
      classes_[i].tried.resize(program.classes[i].functions.size());
      for (const Function& f : program.classes[i].functions) {
        classes_[i].frame_bytes = std::max<uint32_t>(classes_[i].frame_bytes, f.frame_bytes);
        classes_[i].descriptor_frame_bytes =
            std::max<uint32_t>(classes_[i].descriptor_frame_bytes, f.descriptor_frame_bytes);
      }
    }
  }
  std::unique_ptr<Runner> NewRunner() override;
  uint64_t compiled_functions() const override { return compiled_.load(); }
  ClassCode& ClassOf(const CodeClass& code) {
    return classes_[static_cast<size_t>(&code - first_)];
  }
  size_t IndexOf(const CodeClass& code) const { return static_cast<size_t>(&code - first_); }
  size_t class_count() const { return classes_.size(); }

  // The function's code; compiles it where that is due after `executed` instructions of its class.
  Entry EntryOf(ClassCode& c, uint32_t function, uint64_t executed) {
    if (Entry e = c.entries[function].load(std::memory_order_acquire)) return e;
    if (backend_ == Backend::kAuto &&
        (executed < kHotStart || c.settled.load(std::memory_order_relaxed)))
      return nullptr;
    const std::lock_guard lock(mutex_);
    if (c.tried[function]) return c.entries[function].load(std::memory_order_relaxed);
    const uint64_t length = c.compiled_length + c.code->functions[function].code.size();
    if (backend_ == Backend::kAuto && executed < kHotStart + kHotPerInstruction * length)
      return nullptr;
    c.tried[function] = true;
    c.compiled_length = length;
    if (std::find(c.tried.begin(), c.tried.end(), false) == c.tried.end()) c.settled = true;
    const Entry e = Load() ? compiler_->Compile(*c.code, function) : nullptr;
    if (e != nullptr) ++compiled_;
    c.entries[function].store(e, std::memory_order_release);
    return e;
  }

  // Makes the compiler. Not thread-safe.
  Result<void> Load();

 private:
  Settings settings_;
  std::unique_ptr<Compiler> compiler_;
  const Backend backend_;
  const CodeClass* first_ = nullptr;
  std::vector<ClassCode> classes_;
  std::mutex mutex_;
  std::atomic<uint64_t> compiled_{0};
};

class NativeRunner final : public Runner {
 public:
  explicit NativeRunner(OrcProgram& program) : program_(program), executed_(program.class_count()) {
    context_.frames = frames_.data();
    context_.runner = this;
  }
  void Run(Core& core, Pe& pe) override;
  Entry Call(uint64_t where, uint32_t depth, uint32_t base, uint32_t sp, uint32_t dsp);
  Outcome Execute(uint64_t where, uint32_t base) {
    const auto pc = static_cast<uint32_t>(where);
    return fabric::Execute(*core_, *pe_, class_->code->functions[where >> 32], pc,
                           pe_->thread->regs.data() + base, base, context_.run);
  }
  Pe& pe() { return *pe_; }

 private:
  // Whatever compiled code wrote of the frames from `depth` on becomes the thread's.
  void TakeFrames(Thread& t, uint32_t depth) {
    t.frames.resize(depth);
    for (uint32_t d = depth; d <= context_.top; ++d) {
      const LeftFrame& f = frames_[d];
      t.frames.push_back({&class_->code->functions[f.function], f.pc, f.base, f.sp, f.dsp});
    }
  }
  Entry EntryOf(uint32_t function) {
    return program_.EntryOf(*class_, function, executed_[class_index_] + context_.run.count);
  }

  // How deep calls may nest before the stack must be looked at, even if each frame is as large as
  // the class's largest.
  uint32_t DepthLimit(const Frame& frame, uint32_t depth) const {
    const uint32_t sram = kSramBytes - std::min(frame.sp, kSramBytes);
    const uint32_t descriptors = kRegisterBase - std::min(frame.dsp, kRegisterBase);
    const uint32_t more =
        std::min({kNest, sram / class_->frame_bytes, descriptors / class_->descriptor_frame_bytes});
    return std::min(static_cast<uint32_t>(kMaxFrames), depth + more);
  }

  OrcProgram& program_;
  Context context_;
  uint32_t nest_limit_ = 0;
  std::array<LeftFrame, kMaxFrames + 1> frames_;
  std::vector<uint64_t> executed_;  // instructions by class, on this host thread
  Core* core_ = nullptr;
  Pe* pe_ = nullptr;
  ClassCode* class_ = nullptr;
  size_t class_index_ = 0;
};

std::unique_ptr<Runner> OrcProgram::NewRunner() { return std::make_unique<NativeRunner>(*this); }

void NativeRunner::Run(Core& core, Pe& pe) {
  Thread& t = *pe.thread;
  core_ = &core;
  pe_ = &pe;
  class_index_ = program_.IndexOf(*pe.cls->code);
  class_ = &program_.ClassOf(*pe.cls->code);
  Context& x = context_;
  x.run = BeginRun(pe);
  x.read = pe.memory.read_table();
  x.write = pe.memory.write_table();
  x.entries = class_->entries.get();
  for (bool on = true; on;) {
    const Frame frame = t.frames.back();
    const auto depth = static_cast<uint32_t>(t.frames.size() - 1);
    const Entry entry = EntryOf(FunctionIndexOf(pe, frame.function));
    Status status = Status::kNoEntry;
    if (entry != nullptr) {
      x.regs = t.regs.data();
      x.regs_size = t.regs.size();
      nest_limit_ = depth + kNest;
      x.depth_limit = DepthLimit(frame, depth);
      status = entry(&x, frame.pc, depth, frame.base, frame.sp, frame.dsp);
    }
    switch (status) {
      case Status::kReturned:
        t.frames.pop_back();
        if (t.frames.empty()) {
          pe.state = MainState::kIdle;
          on = false;
        }
        break;
      case Status::kLeft:
        TakeFrames(t, depth);
        on = false;
        break;
      case Status::kGoOn:
        TakeFrames(t, depth);
        break;
      case Status::kNoEntry:
        RunBytecode(core, pe, x.run);
        on = false;
        break;
    }
  }
  executed_[class_index_] += x.run.count;
  EndRun(pe, x.run);
}

Entry NativeRunner::Call(uint64_t where, uint32_t depth, uint32_t base, uint32_t sp, uint32_t dsp) {
  Context& x = context_;
  const auto function = static_cast<uint32_t>(where >> 32);
  const auto pc = static_cast<uint32_t>(where);
  Frame callee;
  x.call_status = Status::kLeft;
  x.top = depth;
  frames_[depth] = {function, pc, base, sp, dsp};
  const bool good =
      PrepareCall(*core_, *pe_, {&class_->code->functions[function], pc, base, sp, dsp}, depth + 1,
                  x.run.clock, callee);
  x.regs = pe_->thread->regs.data();
  x.regs_size = pe_->thread->regs.size();
  if (!good) return nullptr;
  const uint32_t index = FunctionIndexOf(*pe_, callee.function);
  ++frames_[depth].pc;
  frames_[depth + 1] = {index, 0, callee.base, callee.sp, callee.dsp};
  x.top = depth + 1;
  if (x.run.clock >= x.run.limit) return nullptr;
  const Entry entry = EntryOf(index);
  if (entry != nullptr && depth + 1 < nest_limit_) return entry;
  x.call_status = Status::kGoOn;
  return nullptr;
}

// ---------------------------------------------------------------- what compiled code calls
NativeRunner& Of(Context* x) { return *static_cast<NativeRunner*>(x->runner); }

uint32_t ExecuteHelper(Context* x, uint64_t where, uint32_t base) {
  return static_cast<uint32_t>(Of(x).Execute(where, base));
}
Entry CallHelper(Context* x, uint64_t where, uint32_t depth, uint32_t base, uint32_t sp,
                 uint32_t dsp) {
  return Of(x).Call(where, depth, base, sp, dsp);
}
void MarkUnwrittenHelper(Context* x, uint32_t address, uint32_t bytes) {
  Of(x).pe().memory.MarkUnwritten(address, bytes);
}

template <auto kFunction>
uint64_t Pure2(uint64_t format, uint64_t b, uint64_t c) {
  return kFunction(static_cast<FloatFormat>(format), static_cast<uint16_t>(b),
                   static_cast<uint16_t>(c));
}
bool NotEqual(FloatFormat f, uint16_t a, uint16_t b) { return !F16Equal(f, a, b); }
uint64_t FromSigned(uint64_t format, uint64_t b, uint64_t) {
  return F16FromI64(static_cast<FloatFormat>(format), static_cast<int64_t>(b));
}
uint64_t FromUnsigned(uint64_t format, uint64_t b, uint64_t) {
  return F16FromU64(static_cast<FloatFormat>(format), b);
}
uint64_t FromF32(uint64_t format, uint64_t b, uint64_t) {
  return F16FromF32(static_cast<FloatFormat>(format), static_cast<uint32_t>(b));
}
uint64_t ToF32(uint64_t format, uint64_t b, uint64_t) {
  return F32FromF16(static_cast<FloatFormat>(format), static_cast<uint16_t>(b));
}
uint64_t ToBool(uint64_t format, uint64_t b, uint64_t) {
  return F16ToDouble(static_cast<FloatFormat>(format), static_cast<uint16_t>(b)) != 0.0;
}
template <typename T>
uint64_t ToInt(uint64_t format, uint64_t b, uint64_t) {
  return static_cast<uint64_t>(
      IntFromDouble(F16ToDouble(static_cast<FloatFormat>(format), static_cast<uint16_t>(b)),
                    sizeof(T) * 8, std::is_signed_v<T>));
}

Helpers MakeHelpers() {
  Helpers h;
  h.execute = ExecuteHelper;
  h.call = CallHelper;
  h.mark_unwritten = MarkUnwrittenHelper;
  const auto pure = [&h](Op op) -> auto& { return h.pure[static_cast<size_t>(op)]; };
  pure(Op::kEqF16) = Pure2<F16Equal>;
  pure(Op::kNeF16) = Pure2<NotEqual>;
  pure(Op::kLtF16) = Pure2<F16Less>;
  pure(Op::kLeF16) = Pure2<F16LessEqual>;
  pure(Op::kAddF16) = Pure2<F16Add>;
  pure(Op::kSubF16) = Pure2<F16Sub>;
  pure(Op::kMulF16) = Pure2<F16Mul>;
  pure(Op::kDivF16) = Pure2<F16Div>;
  pure(Op::kF16FromS) = FromSigned;
  pure(Op::kF16FromU) = FromUnsigned;
  pure(Op::kF16FromF32) = FromF32;
  pure(Op::kF32FromF16) = ToF32;
  pure(Op::kBoolFromF16) = ToBool;
  pure(Op::kFromF16I8) = ToInt<int8_t>;
  pure(Op::kFromF16I16) = ToInt<int16_t>;
  pure(Op::kFromF16I32) = ToInt<int32_t>;
  pure(Op::kFromF16I64) = ToInt<int64_t>;
  pure(Op::kFromF16U8) = ToInt<uint8_t>;
  pure(Op::kFromF16U16) = ToInt<uint16_t>;
  pure(Op::kFromF16U32) = ToInt<uint32_t>;
  pure(Op::kFromF16U64) = ToInt<uint64_t>;
  return h;
}
const Helpers kHelpers = MakeHelpers();

// ---------------------------------------------------------------- the library
using Factory = Compiler* (*)(const Settings*, char*, size_t);

Result<Factory> LoadFactory() {
  // Beside the program or module that this code is part of, in the lib folder next to its own, or
  // where the build put it.
  Dl_info self{};
  std::vector<std::filesystem::path> places;
  if (dladdr(reinterpret_cast<const void*>(&MakeHelpers), &self) != 0 &&
      self.dli_fname != nullptr) {
    std::error_code error;
    const auto folder = std::filesystem::canonical(self.dli_fname, error).parent_path();
    places = {folder, folder.parent_path() / "lib"};
  }
  places.emplace_back(SZARENA_NATIVE_DIR);
  std::string why = "it was built without it";
  for (const auto& place : places) {
    const auto path = place / "libszarena_native.so";
    if (!std::filesystem::exists(path)) continue;
    if (void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL))
      return reinterpret_cast<Factory>(dlsym(library, "szarena_native_compiler"));
    why = dlerror();
    break;
  }
  return Fail(ErrorCode::kUnavailable,
              fmt::format("no native back end: {}. Install Debian's llvm-19-dev (./dev setup "
                          "--native) and build again, or use bytecode",
                          why));
}

Result<void> OrcProgram::Load() {
  if (compiler_ != nullptr) return {};
  static const Result<Factory> kFactory = LoadFactory();
  if (!kFactory) return tl::unexpected(kFactory.error());
  char why[300] = {};
  compiler_.reset((*kFactory)(&settings_, why, sizeof why));
  if (compiler_ == nullptr)
    return Fail(ErrorCode::kUnavailable, fmt::format("no native back end: {}; use bytecode", why));
  return {};
}

}  // namespace
}  // namespace native

Result<Backend> ParseBackend(std::string_view name) {
  for (const Backend b : {Backend::kBytecode, Backend::kNative, Backend::kAuto}) {
    if (name == BackendName(b)) return b;
  }
  return Fail(ErrorCode::kInvalidArgument,
              fmt::format("'{}' is no back end: expected bytecode, native or auto", name));
}

std::string_view BackendName(Backend b) {
  return b == Backend::kBytecode ? "bytecode" : b == Backend::kNative ? "native" : "auto";
}

Result<Backend> BackendFromEnvironment() {
  const char* name = std::getenv("SZARENA_BACKEND");
  if (name == nullptr || *name == '\0') return Backend::kAuto;
  auto b = ParseBackend(name);
  if (!b) return WithContext(std::move(b).error(), "in the environment variable SZARENA_BACKEND");
  return b;
}

Result<std::unique_ptr<NativeProgram>> MakeNative(Backend backend, const bytecode::Program& program,
                                                  const CostModel& cost, bool check_uninitialised) {
  if (backend == Backend::kBytecode) return nullptr;
  auto made = std::make_unique<native::OrcProgram>(program, cost, check_uninitialised, backend);
  if (backend == Backend::kNative) SZARENA_TRY_VOID(made->Load());
  return made;
}

}  // namespace szarena::fabric

// SPDX-License-Identifier: Apache-2.0
// The compiler behind plugin.h: IR, LLVM's passes, ORC. One LLJIT a process; a compiler's code goes
// with it.
#include <fmt/format.h>
#include <llvm-c/Error.h>
#include <llvm-c/LLJIT.h>
#include <llvm-c/Orc.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include <llvm-c/Transforms/PassBuilder.h>

#include <cstdio>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "fabric/native/emit.h"

namespace szarena::fabric::native {
using namespace bytecode;
namespace {

constexpr char kPasses[] =
    "function(sroa,early-cse<memssa>,instcombine<no-verify-fixpoint>,simplifycfg,gvn,instcombine<"
    "no-verify-fixpoint>,simplifycfg)";

std::string TextOf(LLVMErrorRef error) {
  char* text = LLVMGetErrorMessage(error);
  std::string s = text;
  LLVMDisposeErrorMessage(text);
  return s;
}

// What a process needs once.
class Jit {
 public:
  static Jit& Get() {
    static Jit jit;
    return jit;
  }
  const std::string& problem() const { return problem_; }  // empty: it works
  LLVMOrcLLJITRef lljit() const { return lljit_; }
  LLVMTargetMachineRef machine() const { return machine_; }
  std::mutex mutex;
  uint64_t next_name = 0;

 private:
  Jit() {
    LLVMInitializeNativeTarget();
    LLVMInitializeNativeAsmPrinter();
    machine_ = MakeMachine();
    if (machine_ == nullptr) return;
    LLVMOrcLLJITBuilderRef builder = LLVMOrcCreateLLJITBuilder();
    LLVMOrcLLJITBuilderSetJITTargetMachineBuilder(
        builder, LLVMOrcJITTargetMachineBuilderCreateFromTargetMachine(MakeMachine()));
    if (LLVMErrorRef error = LLVMOrcCreateLLJIT(&lljit_, builder)) problem_ = TextOf(error);
  }
  LLVMTargetMachineRef MakeMachine() {
    char* triple = LLVMGetDefaultTargetTriple();
    char* cpu = LLVMGetHostCPUName();
    char* features = LLVMGetHostCPUFeatures();
    LLVMTargetRef target = nullptr;
    char* message = nullptr;
    LLVMTargetMachineRef machine = nullptr;
    if (LLVMGetTargetFromTriple(triple, &target, &message) == 0) {
      machine = LLVMCreateTargetMachine(target, triple, cpu, features, LLVMCodeGenLevelDefault,
                                        LLVMRelocPIC, LLVMCodeModelJITDefault);
    } else {
      problem_ = message;
    }
    LLVMDisposeMessage(message);
    LLVMDisposeMessage(triple);
    LLVMDisposeMessage(cpu);
    LLVMDisposeMessage(features);
    if (machine == nullptr && problem_.empty())
      problem_ = "LLVM knows no code generator for this processor";
    return machine;
  }
  LLVMOrcLLJITRef lljit_ = nullptr;
  LLVMTargetMachineRef machine_ = nullptr;
  std::string problem_;
};

class OrcCompiler final : public Compiler {
 public:
  explicit OrcCompiler(const Settings& settings)
      : settings_(settings),
        tracker_(
            LLVMOrcJITDylibCreateResourceTracker(LLVMOrcLLJITGetMainJITDylib(Jit::Get().lljit()))) {
  }
  ~OrcCompiler() override {
    const std::lock_guard lock(Jit::Get().mutex);
    LLVMConsumeError(LLVMOrcResourceTrackerRemove(tracker_));
    LLVMOrcReleaseResourceTracker(tracker_);
  }
  Entry Compile(const CodeClass& code, uint32_t function) override;

 private:
  struct Class {
    std::vector<std::unique_ptr<Liveness>> live;
    std::vector<std::vector<uint16_t>> zeroed;
  };
  const Liveness& LiveOf(Class& c, const CodeClass& code, uint32_t function);
  std::string KeyOf(const Class& c, const CodeClass& code, uint32_t function) const;

  const Settings settings_;
  LLVMOrcResourceTrackerRef tracker_;
  std::map<const CodeClass*, Class> classes_;
  std::map<std::string, Entry> entries_;  // by KeyOf
};

const Liveness& OrcCompiler::LiveOf(Class& c, const CodeClass& code, uint32_t function) {
  if (c.live.empty()) {
    c.live.resize(code.functions.size());
    c.zeroed.resize(code.functions.size());
  }
  if (c.live[function] == nullptr) {
    const Function& f = code.functions[function];
    c.live[function] = std::make_unique<Liveness>(code, f);
    for (const uint16_t r : c.live[function]->LiveAt(0)) {
      if (r >= f.params.size()) c.zeroed[function].push_back(r);
    }
  }
  return *c.live[function];
}

// All that the machine code of a function depends on: classes that differ in a parameter share most
// of their functions.
std::string OrcCompiler::KeyOf(const Class& c, const CodeClass& code, uint32_t function) const {
  std::string key;
  const auto add = [&key](const auto&... values) {
    (key.append(reinterpret_cast<const char*>(&values), sizeof values), ...);
  };
  const auto add_list = [&](const std::vector<uint16_t>& list) {
    add(list.size());
    for (const uint16_t r : list) add(r);
  };
  const Function& f = code.functions[function];
  add(function, f.params.size(), f.register_count, f.frame_bytes, f.descriptor_frame_bytes,
      f.code.size());
  for (const Instr& i : f.code) {
    add(i);
    const Op op = static_cast<Op>(i.op);
    if (op == Op::kConstP) add(code.constants[i.bc()]);
    if (op == Op::kCall) {
      const Function& callee = code.functions[i.c];
      add(callee.params.size(), callee.register_count, callee.frame_bytes,
          callee.descriptor_frame_bytes);
      add_list(c.zeroed[i.c]);
    }
    if (op == Op::kSwitch) {
      const SwitchTable& table = f.switches[i.bc()];
      add(table.otherwise, table.cases.size());
      for (const auto& [value, target] : table.cases) add(value, target);
    }
    if (op == Op::kDsd || op == Op::kMapStart || op == Op::kMapNext) {
      const Effects e = EffectsOf(code, i);
      add_list(e.uses);
      add_list(e.defs);
    }
  }
  return key;
}

Entry OrcCompiler::Compile(const CodeClass& code, uint32_t function) {
  const Function& f = code.functions[function];
  Class& c = classes_[&code];
  const Liveness& live = LiveOf(c, code, function);
  if (!Compilable(f, live)) return nullptr;
  for (const Instr& i : f.code) {
    if (static_cast<Op>(i.op) == Op::kCall) LiveOf(c, code, i.c);
  }
  const auto [known, fresh] = entries_.try_emplace(KeyOf(c, code, function), nullptr);
  if (!fresh) return known->second;
  Jit& jit = Jit::Get();
  const std::lock_guard lock(jit.mutex);
  LLVMOrcThreadSafeContextRef context = LLVMOrcCreateNewThreadSafeContext();
  LLVMContextRef inner = LLVMOrcThreadSafeContextGetContext(context);
  const std::string name = fmt::format("f{}", jit.next_name++);
  LLVMModuleRef module = LLVMModuleCreateWithNameInContext(name.c_str(), inner);
  LLVMSetDataLayout(module, LLVMOrcLLJITGetDataLayoutStr(jit.lljit()));
  LLVMSetTarget(module, LLVMOrcLLJITGetTripleString(jit.lljit()));
  {
    Ir ir(inner);
    EmitFunction(ir, module, name, settings_, code, function, live, c.zeroed);
  }
  LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
  LLVMErrorRef error = LLVMRunPasses(module, kPasses, jit.machine(), options);
  LLVMDisposePassBuilderOptions(options);
  LLVMOrcThreadSafeModuleRef safe = LLVMOrcCreateNewThreadSafeModule(module, context);
  LLVMOrcDisposeThreadSafeContext(context);
  LLVMOrcExecutorAddress address = 0;
  if (error == nullptr) {
    error = LLVMOrcLLJITAddLLVMIRModuleWithRT(jit.lljit(), tracker_, safe);
    if (error == nullptr) error = LLVMOrcLLJITLookup(jit.lljit(), &address, name.c_str());
  } else {
    LLVMOrcDisposeThreadSafeModule(safe);
  }
  if (error != nullptr) {
    // The bytecode loop runs it instead; the user should know that it is slower than asked for.
    fmt::print(stderr, "szarena: warning: LLVM cannot compile function '{}': {}\n", f.name,
               TextOf(error));
    return nullptr;
  }
  return known->second = reinterpret_cast<Entry>(address);
}

}  // namespace
}  // namespace szarena::fabric::native

szarena::fabric::native::Compiler* szarena_native_compiler(
    const szarena::fabric::native::Settings* settings, char* why, size_t why_size) {
  using namespace szarena::fabric::native;
  const std::string& problem = Jit::Get().problem();
  if (problem.empty()) return new OrcCompiler(*settings);
  std::snprintf(why, why_size, "%s", problem.c_str());
  return nullptr;
}

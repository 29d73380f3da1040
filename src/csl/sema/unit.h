// SPDX-License-Identifier: Apache-2.0
// One evaluation of a root file: the layout, or the code of one class of PEs. Owns what it creates:
// module instances, their globals, function templates and instances.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "bytecode/builder.h"
#include "bytecode/program.h"
#include "csl/sema/session.h"
#include "csl/sema/value.h"

namespace szarena::csl {

// A file bound to params. Every import makes its own instance with its own globals.
struct ModuleInstance {
  const Ast* ast = nullptr;
  std::string path;
  std::map<Name, Value> bindings;  // params given from outside, not yet coerced
  std::unordered_map<Name, Global*> globals;
  std::vector<Global*> order;  // globals in source order
  Span origin;                 // the import, or none for the root
  bool is_library = false;
  uint32_t depth = 0;        // length of the chain of imports
  bool blocks_done = false;  // its top-level comptime blocks ran
};

enum class GlobalKind : uint8_t { kVar, kConst, kParam, kFn, kConstant };

// A global declaration of an instance, or an anonymous constant (kConstant, no module).
// Resolved on first use.
struct Global {
  enum class State : uint8_t { kNew, kActive, kDone, kFailed };
  GlobalKind kind = GlobalKind::kVar;
  State state = State::kNew;
  ModuleInstance* module = nullptr;
  DeclId decl;
  Name name;
  std::string label;  // as the memory report and the symbol table show it
  Span span;
  TypeId type;
  Value value;  // constant, param or initial value of a variable; Undefined: none
  std::optional<uint16_t> address;  // in PE memory, once something needs it
  bool exported = false;
  bool is_extern = false;
  uint32_t align = 0;   // from align(N); 0: natural
  std::string section;  // from linksection(name)
};

struct FnInstance;

// A function or task as declared in one module instance.
struct FnTemplate {
  ModuleInstance* module = nullptr;
  DeclId decl;
  Name name;
  const FnDecl* node = nullptr;
  TypeId type;              // fn type; error for a generic function
  bool is_generic = false;  // has comptime or anytype params
  bool signature_done = false;
  bool signature_failed = false;
  std::map<std::string, std::unique_ptr<FnInstance>> instances;
  std::vector<Name> address_taken;  // locals that live in memory
  bool address_taken_done = false;
};

// A function compiled for one set of compile-time arguments.
struct FnInstance {
  FnTemplate* fn = nullptr;
  std::vector<std::optional<Value>> comptime_args;  // one a param; empty: passed at run time
  std::vector<TypeId> param_types;                  // one a param
  TypeId result;
  uint32_t index = 0;                  // in CodeClass::functions
  Span called_from;                    // the first call
  const FnInstance* caller = nullptr;  // whose body holds that call
};

// State that a family of builtins keeps for one unit.
class UnitExtension {
 public:
  virtual ~UnitExtension() = default;
};

class ClassBuilder;  // csl/emit

// An id that is known once all comptime blocks ran: of the task that a FIFO or DSR activates.
struct PendingTaskId {
  FnTemplate* task = nullptr;
  Span span;
  std::function<void(bytecode::CodeClass&, uint32_t id)> set;
};

// A fabric DSD that the code makes with a known queue.
struct FabricDsd {
  bool output = false;
  bool names_queue = false;  // else the default of old programs (WSE-2)
  bool in_library = false;
  uint8_t queue = 0;
  uint8_t color = 0;  // bytecode::kNoColor: none
  Span span;          // of the first @get_dsd
};

class Unit {
 public:
  enum class Kind : uint8_t { kLayout, kClass };
  Unit(Session& session_in, Kind kind_in) : session(session_in), kind(kind_in) {}
  Unit(const Unit&) = delete;
  Unit& operator=(const Unit&) = delete;

  Session& session;
  const Kind kind;
  std::deque<ModuleInstance> modules;
  std::deque<Global> globals;
  std::deque<FnTemplate> fns;
  std::unordered_map<std::string, Global*> constants;  // anonymous constants by ValueKey
  std::vector<Global*> placed;                         // globals with an address, in order
  std::vector<FnInstance*> to_compile;                 // instances whose bodies wait
  ClassBuilder* builder = nullptr;                     // class units only
  std::vector<PendingTaskId> pending_ids;
  std::map<uint32_t, uint32_t> fifo_registers;  // DSR handle to the FIFO that is loaded there
  std::vector<FabricDsd> fabric_dsds;           // each kind once
  std::unique_ptr<UnitExtension> extension;
  // Answers of @get_rectangle: set at the start of a class, by @set_rectangle in a layout.
  std::optional<std::pair<int, int>> rectangle;
  std::unique_ptr<bytecode::FunctionBuilder> init;  // see Evaluator::InitBuilder
  uint64_t steps = 0;
  bool out_of_steps = false;

  // A new instance with its globals declared and nothing evaluated. Reports duplicates.
  ModuleInstance& AddModule(const Ast& ast, std::string path, Span origin);
};

}  // namespace szarena::csl

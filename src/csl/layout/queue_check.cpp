// SPDX-License-Identifier: Apache-2.0
#include "csl/layout/queue_check.h"

#include <algorithm>

#include "csl/layout/class_state.h"
#include "csl/layout/reserved.h"
#include "csl/sema/dsd_value.h"

namespace szarena::csl {
namespace {

std::string_view DirectionName(bool output) { return output ? "output" : "input"; }

class QueueCheck {
 public:
  QueueCheck(Unit& unit, const bytecode::CodeClass& code)
      : unit_(unit), state_(ClassState::Of(unit)), code_(code) {}

  void Run() {
    // <tile_config> gives queues their colours at run time.
    encodes_ = std::any_of(unit_.modules.begin(), unit_.modules.end(), [](const ModuleInstance& m) {
      return m.is_library && m.path.find("queue_config") != std::string::npos;
    });
    for (const Global* global : unit_.placed) Check(global->value);
    if (!unit_.session.IsWse3()) return;
    for (const bytecode::TaskBinding& task : code_.tasks) {
      const auto& bound = state_.shared_ids[task.id];
      if (task.kind == bytecode::TaskKind::kData && bound)
        NeedsColor(DiagKind::kQueueNotInitialised, false, task.id, bound->span);
    }
  }

 private:
  // The DSDs in the value of a variable that the code uses.
  void Check(const Value& value) {
    if (const std::vector<Value>* elements = value.as_elements()) {
      for (const Value& element : *elements) Check(element);
    }
    const DsdBytes* dsd = value.as_dsd();
    const TypeInfo& type = unit_.session.types[value.type];
    if (dsd == nullptr || type.kind != TypeKind::kDsd ||
        (type.dsd != DsdKind::kFabin && type.dsd != DsdKind::kFabout))
      return;
    const bool output = type.dsd == DsdKind::kFabout;
    const bytecode::Descriptor d = DescriptorOf(*dsd);
    for (const FabricDsd& made : unit_.fabric_dsds) {
      if (made.output != output || made.queue != d.queue || made.color != d.color) continue;
      Check(made);
      return;
    }
  }

  void Check(const FabricDsd& dsd) {
    DiagSink& diags = unit_.session.diags;
    const bytecode::Arch arch = unit_.session.target.arch;
    if (state_.memcpy && !dsd.in_library) {
      const bool reserved = dsd.output ? IsReservedOutputQueue(arch, dsd.queue)
                                       : IsReservedInputQueue(arch, dsd.queue);
      // On WSE-2 a DSD binds its queue when it is used: public programs of SDK 1.0 and 1.1 share
      // queue 0 with the runtime so.
      if (dsd.names_queue && reserved && unit_.session.IsWse3()) {
        diags.Report(DiagKind::kReservedQueue, dsd.span, DirectionName(dsd.output), int{dsd.queue});
        return;
      }
      if (IsReservedColor(dsd.color)) {
        diags.Report(DiagKind::kReservedColor, dsd.span, int{dsd.color});
        return;
      }
    }
    if (unit_.session.IsWse3()) {
      const bytecode::QueueInit* init =
          NeedsColor(DiagKind::kDsdQueueUnset, dsd.output, dsd.queue, dsd.span);
      if (init != nullptr && dsd.color != bytecode::kNoColor && dsd.color != init->color &&
          !encodes_) {
        diags.Report(DiagKind::kQueueColorDiffers, dsd.span, int{dsd.color},
                     DirectionName(dsd.output), int{dsd.queue}, int{init->color});
        diags.Note(state_.queue_spans[static_cast<size_t>(init - code_.queues.data())],
                   "the queue gets its colour here");
      }
    }
  }

  // The queue's @initialize_queue, or null after `kind`. For a DSD that is a warning: programs have
  // DSDs for all PEs and initialise the queues of those PEs alone whose code reaches the operation.
  const bytecode::QueueInit* NeedsColor(DiagKind kind, bool output, uint8_t queue, Span span) {
    for (const bytecode::QueueInit& init : code_.queues) {
      if (init.output == output && init.queue == queue) return &init;
    }
    if (!encodes_) unit_.session.diags.Report(kind, span, DirectionName(output), int{queue});
    return nullptr;
  }

  Unit& unit_;
  ClassState& state_;
  const bytecode::CodeClass& code_;
  bool encodes_ = false;
};

}  // namespace

void CheckQueues(Unit& unit, const bytecode::CodeClass& code) { QueueCheck(unit, code).Run(); }

}  // namespace szarena::csl

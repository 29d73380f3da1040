// SPDX-License-Identifier: Apache-2.0
// Operands and settings of DSD operations.
#include "csl/sema/dsd_operand.h"

#include "csl/emit/class_builder.h"

namespace szarena::csl {

using bytecode::OperandKind;
using bytecode::Signal;
using bytecode::SignalKind;

bool IsDsdLike(Evaluator& eval, TypeId type) {
  const TypeInfo& info = eval.types()[type];
  if (info.kind == TypeKind::kDsd) return true;
  return info.kind == TypeKind::kDsr && info.dsr != DsrKind::kXdsr && info.dsr != DsrKind::kSr;
}

bool MayBeFabric(Evaluator& eval, TypeId type) {
  const TypeInfo& info = eval.types()[type];
  if (info.kind == TypeKind::kDsr) return true;
  return info.kind == TypeKind::kDsd &&
         (info.dsd == DsdKind::kFabin || info.dsd == DsdKind::kFabout ||
          info.dsd == DsdKind::kFifo);
}

std::optional<bytecode::Operand> DsdOperand(Evaluator& eval, const Operand& operand, Span span) {
  const TypeInfo info = eval.types()[operand.type];
  bytecode::Operand result;
  if (info.kind == TypeKind::kDsr) {
    const std::optional<Value> handle = eval.RequireValue(operand, span);
    if (!handle || handle->as_int() == nullptr) return std::nullopt;
    result.kind = OperandKind::kDsr;
    result.value = static_cast<uint32_t>(*handle->as_int());
    if (info.dsr == DsrKind::kFifoDest || info.dsr == DsrKind::kFifoSrc1) {
      const auto fifo = eval.unit().fifo_registers.find(result.value);
      if (fifo == eval.unit().fifo_registers.end()) {
        eval.Report(DiagKind::kFifoRegisterEmpty, span);
        return std::nullopt;
      }
      result.kind = OperandKind::kFifo;
      result.value = fifo->second;
    }
    return result;
  }
  if (info.kind != TypeKind::kDsd) return std::nullopt;
  if (info.dsd == DsdKind::kFifo) {
    const std::optional<Value> index = eval.RequireValue(operand, span);
    if (!index || index->as_int() == nullptr) return std::nullopt;
    result.kind = OperandKind::kFifo;
    result.value = static_cast<uint32_t>(*index->as_int());
    return result;
  }
  const Operand place = eval.ToMemory(operand, span);
  if (place.Stops()) return std::nullopt;
  if (place.base == AddressBase::kAbsolute && !place.has_index) {
    result.kind = OperandKind::kDescriptorConst;
    result.value = static_cast<uint32_t>(place.offset);
  } else {
    result.kind = OperandKind::kDescriptor;
    result.value = eval.AddressOf(place, span);
  }
  return result;
}

bool ReadSignal(Evaluator& eval, const Settings::Entry& entry, SignalKind kind, Signal& out,
                const SignalSlot& slot) {
  const TypeInfo info = eval.types()[entry.operand.type];
  out.kind = kind;
  if (info.kind == TypeKind::kFn && entry.operand.IsValue()) {
    FnTemplate* task = entry.operand.value.as_fn();
    if (task != nullptr && task->node->is_task) {
      if (eval.IsRuntime()) {
        const std::optional<uint32_t> id = eval.TaskIdOf(*task, entry.span);
        if (!id) return false;
        out.id = *id;
        return true;
      }
      if (slot != nullptr) {
        eval.unit().pending_ids.push_back(
            {task, entry.span,
             [slot](bytecode::CodeClass& code, uint32_t id) { slot(code).id = id; }});
        return true;
      }
    }
  }
  bool is_ok = info.kind == TypeKind::kHandle;
  if (is_ok) {
    const bool is_task_id = info.handle == HandleKind::kLocalTaskId ||
                            info.handle == HandleKind::kDataTaskId ||
                            info.handle == HandleKind::kControlTaskId;
    const bool is_source = (info.handle == HandleKind::kColor && !eval.session().IsWse3()) ||
                           info.handle == HandleKind::kInputQueue;
    is_ok = is_task_id || (is_source && kind == SignalKind::kUnblock) ||
            (info.handle == HandleKind::kColor && kind == SignalKind::kActivate);
  }
  if (!is_ok) {
    eval.Report(DiagKind::kSignalTarget, entry.span, entry.name, info.name);
    return false;
  }
  if (entry.operand.IsValue()) {
    out.id = static_cast<uint32_t>(*entry.operand.value.as_int());
    return true;
  }
  if (!eval.IsRuntime()) {
    (void)eval.RequireValue(entry.operand, entry.span);
    return false;
  }
  out.in_register = true;
  out.id = eval.ToReg(entry.operand, entry.span);
  return true;
}

bool ReadAsyncSettings(Evaluator& eval, Settings& settings, bytecode::AsyncSettings& out, Span span,
                       const SignalSlot& done_slot, const SignalSlot& control_slot) {
  out.async = settings.Bool("async", false);
  Settings::Entry* activate = settings.Find("activate");
  Settings::Entry* unblock = settings.Find("unblock");
  Settings::Entry* on_control = settings.Find("on_control");
  Settings::Entry* ut_id = settings.Find("ut_id");
  if (const auto priority = settings.Choice("priority", {"low", "medium", "high"})) {
    out.priority = static_cast<bytecode::Priority>(*priority + 1);
  }
  if (!settings.valid()) return false;
  if (activate != nullptr && unblock != nullptr) {
    eval.Report(DiagKind::kActivateAndUnblock, unblock->span);
    return false;
  }
  if ((activate != nullptr || unblock != nullptr) && !out.async) {
    eval.Report(DiagKind::kSignalNeedsAsync, (activate != nullptr ? activate : unblock)->span,
                activate != nullptr ? "activate" : "unblock");
    return false;
  }
  if (activate != nullptr &&
      !ReadSignal(eval, *activate, SignalKind::kActivate, out.on_done, done_slot)) {
    return false;
  }
  if (unblock != nullptr &&
      !ReadSignal(eval, *unblock, SignalKind::kUnblock, out.on_done, done_slot)) {
    return false;
  }
  if (on_control != nullptr) {
    Settings nested(eval, on_control->operand, on_control->span, ".on_control");
    out.on_control_terminate = nested.Bool("terminate", false);
    Settings::Entry* control_activate = nested.Find("activate");
    Settings::Entry* control_unblock = nested.Find("unblock");
    if (control_activate != nullptr && control_unblock != nullptr) {
      eval.Report(DiagKind::kActivateAndUnblock, on_control->span);
      return false;
    }
    if (control_activate != nullptr || control_unblock != nullptr) out.on_control_terminate = true;
    if (control_activate != nullptr &&
        !ReadSignal(eval, *control_activate, SignalKind::kActivate, out.on_control, control_slot)) {
      return false;
    }
    if (control_unblock != nullptr &&
        !ReadSignal(eval, *control_unblock, SignalKind::kUnblock, out.on_control, control_slot)) {
      return false;
    }
    if (!nested.Finish()) return false;
  }
  if (ut_id != nullptr) {
    if (!eval.session().IsWse3()) {
      eval.Report(DiagKind::kUtIdWse2, ut_id->span);
      return false;
    }
    const Operand id = eval.Coerce(ut_id->operand, eval.types().Handle(HandleKind::kUtId), span);
    const std::optional<Value> known = eval.RequireValue(id, ut_id->span);
    if (!known || known->as_int() == nullptr) return false;
    out.ut_id = static_cast<uint8_t>(*known->as_int());
  }
  return true;
}

}  // namespace szarena::csl

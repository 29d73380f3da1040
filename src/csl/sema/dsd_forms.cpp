// SPDX-License-Identifier: Apache-2.0
// The documented operand forms of DSD operations.
#include "csl/sema/dsd_forms.h"

#include <algorithm>

#include "csl/sema/dsd_operand.h"

namespace szarena::csl {

using bytecode::DsdOp;

namespace {

using Forms = std::span<const std::string_view>;
constexpr std::string_view kMove[] = {"DD", "PD", "DV"};
constexpr std::string_view kUnary[] = {"DD", "DV"};
constexpr std::string_view kToInteger[] = {"DD", "DV", "PV"};
constexpr std::string_view kInteger[] = {"DDD", "DVD", "DDV"};
constexpr std::string_view kSubtract[] = {"DDD", "DDV"};
constexpr std::string_view kFloat[] = {"DDD", "DVD", "DDV", "PVD"};
constexpr std::string_view kMultiplyAdd[] = {"DDDV"};
constexpr std::string_view kNorm[] = {"PV"};
constexpr std::string_view kScale[] = {"PVV"};
constexpr std::string_view kFilter[] = {"D"};

bool IsFifo(const TypeInfo& info) {
  return (info.kind == TypeKind::kDsd && info.dsd == DsdKind::kFifo) ||
         (info.kind == TypeKind::kDsr &&
          (info.dsr == DsrKind::kFifoDest || info.dsr == DsrKind::kFifoSrc1));
}

bool IsFabin(const TypeInfo& info) {
  return info.kind == TypeKind::kDsd && info.dsd == DsdKind::kFabin;
}

// May a value of this type be written, or be read? Reports where not.
bool CheckPlace(Evaluator& eval, std::string_view builtin, const TypeInfo& info, bool is_dest,
                Span span) {
  std::string_view why;
  if (info.kind == TypeKind::kDsd) {
    if (is_dest && info.dsd == DsdKind::kFabin)
      why = "a fabin_dsd brings wavelets in: send with a fabout_dsd";
    if (!is_dest && info.dsd == DsdKind::kFabout)
      why = "a fabout_dsd sends wavelets out: receive with a fabin_dsd";
  } else if (info.kind == TypeKind::kDsr) {
    const bool only_source = info.dsr == DsrKind::kSrc1 || info.dsr == DsrKind::kFifoSrc1;
    const bool only_dest = info.dsr == DsrKind::kDest || info.dsr == DsrKind::kFifoDest;
    if (is_dest && only_source) why = "a destination is in a dsr_dest or dsr_src0";
    if (!is_dest && only_dest) why = "a source is in a dsr_src0 or dsr_src1";
  }
  if (why.empty()) return true;
  eval.Report(DiagKind::kDsdOpPlace, span, info.name, is_dest ? "the destination" : "a source",
              builtin, why);
  return false;
}

// FIFOs: where two sources or more are descriptors, one FIFO at most, and not as the first source.
bool CheckFifos(Evaluator& eval, std::string_view builtin, const std::vector<TypeInfo>& types,
                const std::vector<Span>& spans) {
  const auto is_descriptor = [](const TypeInfo& info) {
    return info.kind == TypeKind::kDsd || info.kind == TypeKind::kDsr;
  };
  if (types.size() < 3 || std::count_if(types.begin() + 1, types.end(), is_descriptor) < 2)
    return true;
  size_t fifos = 0;
  for (size_t i = 0; i < types.size(); ++i) {
    if (!IsFifo(types[i])) continue;
    if (i == 1) {
      eval.Report(DiagKind::kFifoOperand, spans[i], "only a later source", builtin,
                  "make it the second source, or move its elements to memory first");
      return false;
    }
    if (++fifos > 1) {
      eval.Report(DiagKind::kFifoOperand, spans[i], "only one operand", builtin,
                  "an operation with two sources takes one FIFO: move the other's elements to "
                  "memory first");
      return false;
    }
  }
  return true;
}

}  // namespace

Forms FormsOf(DsdOp op) {
  switch (op) {
    case DsdOp::kMov16:
    case DsdOp::kMov32:
    case DsdOp::kFmovh:
    case DsdOp::kFmovs:
      return kMove;
    case DsdOp::kFh2xp16:
    case DsdOp::kFs2xp16:
      return kToInteger;
    case DsdOp::kAdd16:
    case DsdOp::kAddc16:
    case DsdOp::kAnd16:
    case DsdOp::kOr16:
    case DsdOp::kXor16:
    case DsdOp::kSll16:
    case DsdOp::kSlr16:
    case DsdOp::kSar16:
      return kInteger;
    case DsdOp::kSub16:
      return kSubtract;
    case DsdOp::kFaddh:
    case DsdOp::kFadds:
    case DsdOp::kFaddhs:
    case DsdOp::kFsubh:
    case DsdOp::kFsubs:
    case DsdOp::kFmulh:
    case DsdOp::kFmuls:
    case DsdOp::kFmaxh:
    case DsdOp::kFmaxs:
      return kFloat;
    case DsdOp::kFmach:
    case DsdOp::kFmacs:
    case DsdOp::kFmachs:
      return kMultiplyAdd;
    case DsdOp::kFnormh:
    case DsdOp::kFnorms:
      return kNorm;
    case DsdOp::kFscaleh:
    case DsdOp::kFscales:
      return kScale;
    case DsdOp::kDfilt:
      return kFilter;
    case DsdOp::kClz:
    case DsdOp::kCtz:
    case DsdOp::kPopcnt:
    case DsdOp::kFnegh:
    case DsdOp::kFnegs:
    case DsdOp::kFabsh:
    case DsdOp::kFabss:
    case DsdOp::kFh2s:
    case DsdOp::kFs2h:
    case DsdOp::kXp162fh:
    case DsdOp::kXp162fs:
    case DsdOp::kCount:
      break;
  }
  return kUnary;
}

std::string FormText(std::string_view form) {
  std::string text = "(";
  for (const char letter : form) {
    if (text.size() > 1) text += ", ";
    text += letter == 'D' ? "DSD" : letter == 'P' ? "pointer" : "scalar";
  }
  return text + ")";
}

bool CheckDsdOperands(Evaluator& eval, std::string_view builtin, DsdOp op,
                      const std::vector<Operand>& operands, const std::vector<Span>& spans,
                      Span call) {
  std::string form;
  std::vector<TypeInfo> types;
  size_t fabins = 0;
  for (const Operand& operand : operands) {
    const TypeInfo& info = eval.types()[operand.type];
    types.push_back(info);
    form += IsDsdLike(eval, operand.type) ? 'D' : info.kind == TypeKind::kPointer ? 'P' : 'V';
    if (IsFabin(info)) ++fabins;
    if (info.kind == TypeKind::kArray || info.kind == TypeKind::kStruct) {
      eval.Report(DiagKind::kDsdOpOperand, spans[types.size() - 1], builtin, info.name);
      return false;
    }
  }
  const Forms forms = FormsOf(op);
  bool known = false;
  for (const std::string_view candidate : forms) known = known || candidate == form;
  if (!known) {
    std::string texts;
    for (const std::string_view candidate : forms)
      texts += (texts.empty() ? "" : ", ") + FormText(candidate);
    // What the machine does with other types or operations just so: the running reduction of
    // integers, a scalar less a vector.
    known = (forms.data() == std::data(kInteger) && form == "PVD") ||
            (forms.data() == std::data(kSubtract) && form == "DVD");
    if (!known || eval.session().pedantic) {
      eval.Report(known ? DiagKind::kDsdOpUndocumented : DiagKind::kDsdOpForm, call, builtin,
                  FormText(form), texts);
    }
    if (!known) return false;
  }
  if (op == DsdOp::kDfilt) {
    const bool is_register = types[0].kind == TypeKind::kDsr && types[0].dsr == DsrKind::kSrc1;
    if (IsFabin(types[0]) || is_register) return true;
    eval.Report(DiagKind::kDfiltOperand, spans[0], types[0].name);
    return false;
  }
  for (size_t i = 0; i < types.size(); ++i) {
    if (!CheckPlace(eval, builtin, types[i], i == 0, spans[i])) return false;
  }
  if (!CheckFifos(eval, builtin, types, spans)) return false;
  if (fabins > 1 && eval.session().IsWse3()) {
    eval.Report(DiagKind::kTwoFabricSources, call, builtin, fabins);
    return false;
  }
  return true;
}

bool CheckMapOperand(Evaluator& eval, const Operand& operand, bool is_output, Span span) {
  const TypeInfo info = eval.types()[operand.type];
  if (IsFifo(info)) {
    eval.Report(DiagKind::kFifoOperand, span, "no operand", "map",
                "move its elements to memory first, e.g. with @mov16");
    return false;
  }
  return CheckPlace(eval, "map", info, is_output, span);
}

}  // namespace szarena::csl

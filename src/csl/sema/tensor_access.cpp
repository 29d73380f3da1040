// SPDX-License-Identifier: Apache-2.0
// Tensor accesses. The index expressions are evaluated at points: an affine function is known by
// its values at the origin and at one step along each axis, and it is checked at further points.
#include "csl/sema/tensor_access.h"

#include <algorithm>

#include "csl/sema/scope.h"

namespace szarena::csl {
namespace {

constexpr int64_t kCheckedPoints = 512;  // all points of smaller accesses are checked

class Analysis {
 public:
  Analysis(Evaluator& eval, const TensorAccessExpr& node, Span span)
      : eval_(eval), node_(node), span_(span) {}

  std::optional<TensorAccess> Run(size_t max_rank) {
    const std::span<const Name> variables = eval_.ast().Get(node_.variables);
    const std::span<const ExprId> extents = eval_.ast().Get(node_.extents);
    if (variables.size() != extents.size() || variables.empty()) {
      eval_.Report(DiagKind::kTensorAccessExtents, span_, variables.size(), extents.size());
      return std::nullopt;
    }
    if (variables.size() > max_rank) {
      eval_.Report(DiagKind::kDsdRank, span_, variables.size(), max_rank);
      return std::nullopt;
    }
    for (const ExprId extent : extents) {
      const std::optional<int64_t> n = eval_.EvalComptimeInt(extent, 0, UINT16_MAX);
      if (!n) return std::nullopt;
      access_.extents.push_back(*n);
    }
    if (!FindArray()) return std::nullopt;
    std::vector<int64_t> point(variables.size(), 0);
    const std::optional<int64_t> origin = At(point);
    if (!origin) return std::nullopt;
    access_.offset = *origin;
    for (size_t k = 0; k < variables.size(); ++k) {
      // Also for an extent of 0 or 1: @set_dsd_length may lengthen it later. The point may then lie
      // outside; it is not accessed.
      const bool outside = out_of_dimension_;
      point[k] = 1;
      const std::optional<int64_t> next = At(point);
      if (!next) return std::nullopt;
      const int64_t stride = *next - *origin;
      point[k] = 0;
      if (access_.extents[k] <= 1) out_of_dimension_ = outside;
      if (stride < INT16_MIN || stride > INT16_MAX) {
        eval_.Report(DiagKind::kIntegerOutOfRange, span_, stride, INT16_MIN, INT16_MAX);
        return std::nullopt;
      }
      access_.strides.push_back(stride);
    }
    if (!CheckAffine()) return std::nullopt;
    CheckBounds();
    return access_;
  }

 private:
  bool FindArray() {
    TypeTable& types = eval_.types();
    const Span span = eval_.SpanOf(node_.array);
    Operand array = eval_.Eval(node_.array);
    if (array.Stops()) return false;
    if (types.kind(array.type) == TypeKind::kPointer) {
      array = eval_.Load(std::move(array), span);
      if (array.Stops()) return false;
      const TypeInfo pointer = types[array.type];
      if (pointer.is_many) {
        // An array of unknown length: one index, no bounds.
        array = eval_.ElementOf(std::move(array), {Operand::Of(MakeInt(types.comptime_int(), 0))},
                                {span}, span);
        if (array.Stops()) return false;
        access_.element = pointer.element;
        access_.place = std::move(array);
        weights_ = {1};
        return true;
      }
      array = eval_.Deref(std::move(array), span);
      if (array.Stops()) return false;
    }
    const TypeInfo info = types[array.type];
    if (info.kind != TypeKind::kArray) {
      eval_.Report(DiagKind::kTensorAccessArray, span, info.name);
      return false;
    }
    if (array.kind == Operand::Kind::kValue) {
      array = eval_.ToMemory(std::move(array), span);
      if (array.Stops()) return false;
    }
    access_.element = info.element;
    dims_ = info.dims;
    weights_.assign(dims_.size(), 1);
    for (size_t d = dims_.size(); d-- > 1;) weights_[d - 1] = weights_[d] * dims_[d];
    access_.place = std::move(array);
    return true;
  }

  // The flat index at a point of the iteration space.
  std::optional<int64_t> At(const std::vector<int64_t>& point) {
    const std::span<const ExprId> indices = eval_.ast().Get(node_.indices);
    if (indices.size() != weights_.size()) {
      eval_.Report(DiagKind::kIndexCount, span_, eval_.NameOf(access_.place.type), weights_.size(),
                   indices.size());
      return std::nullopt;
    }
    std::vector<Local>& locals = eval_.frame().locals;
    const size_t before = locals.size();
    const std::span<const Name> variables = eval_.ast().Get(node_.variables);
    for (size_t k = 0; k < variables.size(); ++k) {
      locals.push_back(
          {variables[k], Operand::Of(MakeInt(eval_.types().comptime_int(), point[k]))});
    }
    int64_t flat = 0;
    bool ok = true;
    for (size_t d = 0; d < indices.size() && ok; ++d) {
      const std::optional<int64_t> index = eval_.EvalComptimeInt(indices[d], -65536, 65536);
      ok = index.has_value();
      if (ok) {
        flat += *index * weights_[d];
        out_of_dimension_ =
            out_of_dimension_ || (!dims_.empty() && (*index < 0 || *index >= dims_[d]));
      }
    }
    locals.erase(locals.begin() + static_cast<std::ptrdiff_t>(before), locals.end());
    return ok ? std::optional(flat) : std::nullopt;
  }

  bool CheckPoint(const std::vector<int64_t>& point) {
    const std::optional<int64_t> found = At(point);
    if (!found) return false;
    int64_t expected = access_.offset;
    for (size_t k = 0; k < point.size(); ++k) expected += point[k] * access_.strides[k];
    if (*found == expected) return true;
    eval_.Report(DiagKind::kTensorAccessAffine, span_);
    return false;
  }

  bool CheckAffine() {
    int64_t count = 1;
    for (const int64_t n : access_.extents) count *= std::max<int64_t>(n, 1);
    const size_t rank = access_.extents.size();
    std::vector<int64_t> point(rank, 0);
    if (count <= kCheckedPoints) {
      for (int64_t i = 0; i < count; ++i) {
        int64_t rest = i;
        for (size_t k = rank; k-- > 0;) {
          const int64_t n = std::max<int64_t>(access_.extents[k], 1);
          point[k] = rest % n;
          rest /= n;
        }
        if (!CheckPoint(point)) return false;
      }
      return true;
    }
    // The corners, the middle, and points along the diagonal.
    for (size_t corner = 0; corner < (size_t{1} << rank); ++corner) {
      for (size_t k = 0; k < rank; ++k) {
        const bool last = (corner >> k & 1) != 0;
        point[k] = last ? std::max<int64_t>(access_.extents[k] - 1, 0) : 0;
      }
      if (!CheckPoint(point)) return false;
    }
    constexpr int64_t kSteps = 61;
    for (int64_t step = 1; step < kSteps; ++step) {
      for (size_t k = 0; k < rank; ++k) {
        point[k] = (access_.extents[k] * step / kSteps);
        if (point[k] >= access_.extents[k]) point[k] = 0;
      }
      if (!CheckPoint(point)) return false;
    }
    return true;
  }

  void CheckBounds() {
    if (dims_.empty() || !out_of_dimension_) return;
    if (std::any_of(access_.extents.begin(), access_.extents.end(),
                    [](int64_t n) { return n == 0; })) {
      return;
    }
    eval_.Report(DiagKind::kTensorAccessBounds, span_, eval_.NameOf(access_.place.type));
  }

  Evaluator& eval_;
  const TensorAccessExpr& node_;
  Span span_;
  TensorAccess access_;
  std::vector<int64_t> dims_;     // of the array; empty where its length is unknown
  std::vector<int64_t> weights_;  // elements that one step of each index skips
  bool out_of_dimension_ = false;
};

}  // namespace

std::optional<TensorAccess> EvalTensorAccess(Evaluator& eval, ExprId expr, size_t max_rank) {
  const auto* node = eval.ast().As<TensorAccessExpr>(expr);
  if (node == nullptr) {
    eval.Report(DiagKind::kTensorAccessLiteral, eval.SpanOf(expr));
    return std::nullopt;
  }
  return Analysis(eval, *node, eval.SpanOf(expr)).Run(max_rank);
}

}  // namespace szarena::csl

// SPDX-License-Identifier: Apache-2.0
// Operations on descriptors and what they give, for the parts that use them.
#pragma once

#include <string>
#include <vector>

#include "build.h"

namespace szarena::csl_fuzz {

// The types of an operation: "@name(dest, a[, b[, scalar]])".
struct VectorOp {
  std::string name;
  Type dest;
  std::vector<Type> sources;
  bool is_fma = false;  // the last source is a scalar
};

// Operations of one 16-bit format. `fabric` leaves those that may go to a fabric or come from one.
std::vector<VectorOp> VectorOps(Type half, bool with_fma);
Bits ApplyVector(const VectorOp& op, const std::vector<Bits>& sources);

// A finite value small enough that sums and products show no infinities too often.
Bits SmallValue(Choices& c, Type type);
// `[n]T{ … }`.
std::string ArrayText(Type type, const std::vector<Bits>& values);
// A literal with its type.
std::string Typed(Type type, Bits value);

// An array of a module and a model of it.
struct Array {
  std::string name;
  Type type;
  int rows = 0;  // 0: one dimension
  int columns = 0;
  std::vector<Bits> values;
  int size() const { return static_cast<int>(values.size()); }
};
Array MakeArray(Choices& c, const std::string& name, Type type, int least);
std::string DeclarationOf(const Array& a);

// A descriptor over an array: its text and the elements that it goes over, in order.
struct View {
  std::string text;  // an expression of a DSD type
  bool is_4d = false;
  std::vector<int> elements;
};
// `distinct`: no element twice, as a destination needs.
View MakeView(Choices& c, const Array& a, int length, bool distinct);
// Views need names of arrays that can hold them: elements for a length.
int LengthFor(Choices& c, const Array& a);

}  // namespace szarena::csl_fuzz

// SPDX-License-Identifier: Apache-2.0
// Edit distance for misspelt names.
#include "csl/sema/suggest.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace szarena::csl {
namespace {

size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t above = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

}  // namespace

namespace {

struct Remedy {
  std::string_view names, text;  // names: between blanks
};

constexpr Remedy kBuiltins[] = {
    {" fadd add ", "@fadds(dest, a, b) is for f32, @faddh for f16, @add16 for integers"},
    {" fsub sub ", "@fsubs(dest, a, b) is for f32, @fsubh for f16, @sub16 for integers"},
    {" fmul mul ", "@fmuls(dest, a, b) is for f32, @fmulh for f16"},
    {" fmac fma mac mulAdd ", "@fmacs(dest, addend, factor, scalar) is for f32, @fmach for f16"},
    {" fmov mov move copy memcpy memset ",
     "@fmovs(dest, src) is for f32, @fmovh for f16, @mov16 and @mov32 for integers; the operands "
     "are DSDs or scalars"},
    {" intCast floatCast truncate intFromFloat floatFromInt intToFloat floatToInt intFromBool "
     "boolToInt enumToInt intFromEnum cast to ",
     "@as(TYPE, value) converts between numbers, @bitcast(TYPE, value) keeps the bits"},
    {" bitCast ", "@bitcast(TYPE, value) keeps the bits"},
    {" sqrt sin cos tan tanh exp log log2 abs min max floor ceil pow round trunc divFloor ",
     "mathematics is in a library: 'const math = @import_module(\"<math>\");', then "
     "'math.sqrt(x)'"},
    {" import include cImport ", "write '@import_module(\"file.csl\")'"},
    {" malloc alloc free ",
     "arrays are global and of fixed size: 'var a = @zeros([n]f32);'; '<malloc>' is a library"},
    {" print printf println ",
     "'const sp = @import_module(\"<simprint>\");', then 'sp.print_str(\"…\")' writes to sim.log"},
    {" compileError ", "@comptime_assert(condition, \"message\") fails at compile time"},
    {" sizeOf ", "'<types>' has the sizes of types, '@element_count' is the length of an array"},
    {" TypeOf typeOf typeof ", "write '@type_of(value)'"},
    {" set_color set_route set_routes set_color_route ",
     "write '@set_color_config(x, y, color, .{ .routes = .{ .rx = .{ … }, .tx = .{ … } } })' in "
     "the layout block"},
    {" send recv receive ",
     "send and receive with a move: '@fmovs(fabout, mem)', '@fmovs(mem, fabin)', where the fabric "
     "DSDs come from @get_dsd"},
};

constexpr Remedy kNames[] = {
    {" usize isize size_t ",
     "integers have a size: 'u16' for indices, 'i32' or 'u32' for larger counts"},
    {" int long short unsigned ", "integers have a size: i16, u16, i32, u32"},
    {" float double f64 half ", "float types are f16, f32, bf16 and cb16"},
    {" std ", "Zig's standard library is not there; docs/csl/libraries.md lists the libraries"},
    {" math ", "import it: 'const math = @import_module(\"<math>\");'"},
    {" sys_mod memcpy ",
     "import it: 'const sys_mod = @import_module(\"<memcpy/memcpy>\", memcpy_params);'"},
    {" sqrt sin cos exp log abs min max ",
     "'const math = @import_module(\"<math>\");', then 'math.sqrt(x)'"},
    {" LEFT RIGHT UP DOWN TOP BOTTOM ", "directions are WEST, EAST, NORTH, SOUTH and RAMP"},
    {" CORE PE SELF ", "the PE itself is RAMP"},
    {" null nullptr NULL ", "CSL has no null pointers"},
    {" try catch throw ",
     "CSL has no errors as values; '@assert(condition)' stops where one does not hold"},
    {" True False ", "write 'true' or 'false'"},
    {" printf print ",
     "'const sp = @import_module(\"<simprint>\");', then 'sp.print_str(\"…\")' writes to sim.log"},
};

template <size_t N>
std::string_view RemedyIn(const Remedy (&table)[N], std::string_view name) {
  const std::string wanted = " " + std::string(name) + " ";
  for (const Remedy& remedy : table) {
    if (remedy.names.find(wanted) != std::string_view::npos) return remedy.text;
  }
  return {};
}

}  // namespace

std::string_view RemedyForBuiltin(std::string_view name) { return RemedyIn(kBuiltins, name); }
std::string_view RemedyForName(std::string_view name) { return RemedyIn(kNames, name); }

std::string DidYouMean(std::string_view name, const std::vector<std::string>& candidates) {
  constexpr size_t kLongest = 64;  // longer names are not compared
  if (name.size() > kLongest) return "";
  const std::string* best = nullptr;
  size_t best_distance = name.size() < 4 ? 2 : name.size() / 3 + 2;
  for (const std::string& candidate : candidates) {
    if (candidate.size() > kLongest || candidate == name) continue;
    const size_t distance = EditDistance(name, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = &candidate;
    }
  }
  return best == nullptr ? "" : ", did you mean '" + *best + "'?";
}

namespace {

bool IsCastable(const TypeTable& types, TypeId type) {
  return types.IsNumeric(type) || types.kind(type) == TypeKind::kBool ||
         types.kind(type) == TypeKind::kEnum;
}

}  // namespace

std::string RemedyForType(const TypeTable& types, TypeId to, TypeId from) {
  const TypeInfo& target = types[to];
  const TypeInfo& source = types[from];
  if (target.kind == TypeKind::kHandle && target.handle != HandleKind::kDirection &&
      types.IsIntegral(from)) {
    return fmt::format("make one with '@get_{}(number)'", target.name);
  }
  if (target.kind == TypeKind::kHandle && target.handle == HandleKind::kDirection)
    return "NORTH, SOUTH, EAST, WEST and RAMP are directions";
  if (source.kind == TypeKind::kHandle && types.IsIntegral(to))
    return "'@get_int(value)' gives its number";
  if (target.kind == TypeKind::kPointer && source.kind != TypeKind::kPointer &&
      target.element == from)
    return "write '&' before a variable for its address";
  if (source.kind == TypeKind::kPointer && target.kind != TypeKind::kPointer &&
      source.element == to)
    return "write '.*' behind the pointer for what it points to";
  const bool is_function =
      source.kind == TypeKind::kPointer && types.kind(source.element) == TypeKind::kFn;
  if (source.kind == TypeKind::kPointer && target.kind == TypeKind::kPointer && !is_function)
    return fmt::format("'@ptrcast({}, pointer)' makes one pointer of another where that is meant",
                       target.name);
  if (IsCastable(types, to) && IsCastable(types, from))
    return fmt::format("convert with '@as({}, value)' where that is meant", target.name);
  return "";
}

std::string RemedyForTypes(const TypeTable& types, TypeId a, TypeId b) {
  return a != b && IsCastable(types, a) && IsCastable(types, b)
             ? "convert one side with @as so that both have one type"
             : "";
}

}  // namespace szarena::csl

// SPDX-License-Identifier: Apache-2.0
#include "csl/layout/compile.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>

#include "csl/layout/builtin_layout.h"
#include "csl/layout/class_state.h"
#include "csl/layout/layout_state.h"
#include "csl/layout/queue_check.h"
#include "csl/sema/class_analysis.h"
#include "csl/sema/evaluator.h"
#include "csl/sema/suggest.h"

namespace szarena::csl {
namespace {

// Columns and rows around the rectangle that the memcpy infrastructure takes. Source: SDK
// documentation, "Compile options".
constexpr int kMemcpyWest = 4, kMemcpyEast = 3, kMemcpyNorth = 1, kMemcpySouth = 1;

class ProgramCompiler {
 public:
  ProgramCompiler(Session& session, const CompileRequest& request)
      : session_(session), request_(request) {}

  std::optional<bytecode::Program> Run() {
    size_t errors = session_.diags.error_count();
    EvaluateLayout();
    if (state_ == nullptr || state_->width == 0) return std::nullopt;
    CheckTiles();
    FillProgram();
    CompileClasses();
    if (session_.diags.error_count() != errors) return std::nullopt;
    for (size_t i = 0; i < session_.sources.size(); ++i)
      program_.files.push_back(session_.sources.File({static_cast<uint32_t>(i)}).path);
    return std::move(program_);
  }

 private:
  void EvaluateLayout() {
    const Item* layout = nullptr;
    for (const Item& item : request_.layout->items()) {
      if (item.kind != Item::Kind::kLayout) continue;
      if (layout != nullptr)
        session_.diags.Report(DiagKind::kLayoutTwice, item.span)
            .Note(layout->span, "the first one is here");
      else
        layout = &item;
    }
    if (layout == nullptr) {
      session_.diags.Report(DiagKind::kLayoutMissing, Span{}, request_.name);
      return;
    }
    auto state = std::make_unique<LayoutState>();
    state_ = state.get();
    state_->memcpy = request_.memcpy;
    FillTarget(state_);
    unit_.extension = std::move(state);
    ModuleInstance& root = unit_.AddModule(*request_.layout, request_.name, {});
    BindParams(root);
    Evaluator eval(unit_, kInLayout);
    eval.ExecTopLevel(root, layout->block);
    if (state_->width == 0 && !session_.diags.HasErrors())
      session_.diags.Report(DiagKind::kRectangleMissing, layout->span);
  }

  // The fabric is known when the rectangle is; @get_rectangle may ask for it right behind
  // @set_rectangle.
  void FillTarget(LayoutState* state) {
    state->on_rectangle = [this](int width, int height, Span span) {
      Target& target = session_.target;
      bool memcpy = request_.memcpy;
      int west = memcpy ? kMemcpyWest + request_.west_buffer : 0,
          east = memcpy ? kMemcpyEast + request_.east_buffer : 0;
      int north = memcpy ? kMemcpyNorth : 0, south = memcpy ? kMemcpySouth : 0;
      if (target.offset_x < 0) target.offset_x = west;
      if (target.offset_y < 0) target.offset_y = north;
      int needed_width = std::max(target.offset_x, west) + width + east,
          needed_height = std::max(target.offset_y, north) + height + south;
      if (target.fabric_width == 0) target.fabric_width = needed_width;
      if (target.fabric_height == 0) target.fabric_height = needed_height;
      if (target.fabric_width < needed_width || target.fabric_height < needed_height) {
        session_.diags.Report(DiagKind::kFabricTooSmall, span, target.fabric_width,
                              target.fabric_height, width, height, target.offset_x, target.offset_y,
                              needed_width, needed_height);
      }
      if (target.offset_x < west || target.offset_y < north) {
        session_.diags.Report(DiagKind::kOffsetTooSmall, span, target.offset_x, target.offset_y,
                              west, north);
      }
    };
  }

  void BindParams(ModuleInstance& root) {
    std::vector<std::string> known;
    for (const Item& item : request_.layout->items()) {
      const VarDecl* var =
          item.kind == Item::Kind::kDecl ? request_.layout->As<VarDecl>(item.decl) : nullptr;
      if (var != nullptr && (var->kind == VarKind::kParam || var->kind == VarKind::kColor)) {
        known.emplace_back(session_.names.Text(request_.layout->NameOf(item.decl)));
      }
    }
    auto bind = [&](const std::string& name, Value value) {
      if (std::find(known.begin(), known.end(), name) == known.end()) {
        session_.diags.Report(DiagKind::kLayoutParamUnknown, Span{}, name, DidYouMean(name, known));
        return;
      }
      root.bindings[session_.names.Intern(name)] = std::move(value);
    };
    for (const auto& [name, value] : request_.params)
      bind(name, MakeInt(session_.types.comptime_int(), value));
    for (const auto& [name, value] : request_.colors) {
      if (value < 0 || value >= bytecode::kColorCount) {
        session_.diags.Report(DiagKind::kColorOutOfRange, Span{}, value, bytecode::kColorCount - 1);
        continue;
      }
      bind(name, MakeInt(session_.types.Handle(HandleKind::kColor), value));
    }
  }

  void CheckTiles() {
    uint32_t missing = 0;
    std::pair<int, int> first{};
    for (int y = 0; y < state_->height; ++y) {
      for (int x = 0; x < state_->width; ++x) {
        if (state_->tiles[state_->At(x, y)] != kNoTile) continue;
        if (missing++ == 0) first = {x, y};
      }
    }
    // After another error in the layout block the rest of it may simply not have been reached.
    if (missing > 0 && !session_.diags.HasErrors()) {
      session_.diags.Report(DiagKind::kTileCodeMissing, state_->rectangle_span, missing,
                            state_->tiles.size(), first.first, first.second);
    }
  }

  void FillProgram() {
    const Target& target = session_.target;
    program_.name = request_.name;
    program_.arch = target.arch;
    program_.fp16 = target.fp16;
    program_.width = static_cast<uint16_t>(state_->width);
    program_.height = static_cast<uint16_t>(state_->height);
    program_.fabric_width = static_cast<uint16_t>(target.fabric_width);
    program_.fabric_height = static_cast<uint16_t>(target.fabric_height);
    program_.offset_x = static_cast<uint16_t>(target.offset_x);
    program_.offset_y = static_cast<uint16_t>(target.offset_y);
    program_.memcpy = request_.memcpy;
    program_.channels = static_cast<uint8_t>(request_.channels);
    for (const auto& [name, value] : request_.params)
      program_.params.push_back({name, std::to_string(value)});
    for (const auto& [name, value] : request_.colors)
      program_.colors.push_back({name, std::to_string(value)});
    FillExports();
    program_.routers.emplace_back();
    program_.pes.resize(state_->tiles.size());
  }

  void FillExports() {
    TypeTable& types = session_.types;
    Evaluator eval(unit_, kInLayout);
    for (const HostName& name : state_->names) {
      bytecode::Export symbol;
      symbol.name = name.name;
      symbol.type = types.Name(name.type);
      symbol.is_mutable = name.is_mutable;
      const TypeInfo& info = types[name.type];
      if (info.kind == TypeKind::kFn) {
        symbol.kind = bytecode::ExportKind::kFunction;
        for (TypeId param : info.params)
          symbol.params.push_back(eval.ScalarTypeOf(param).value_or(bytecode::ScalarType::kU16));
      } else {
        TypeId element = info.kind == TypeKind::kPointer ? info.element : name.type;
        if (types.kind(element) == TypeKind::kArray) element = types[element].element;
        symbol.is_pointer = info.kind == TypeKind::kPointer;
        const auto size = static_cast<uint32_t>(types.SizeOf(element));
        // The host copies structs as words, or as halves where words do not fit.
        symbol.elem_size = static_cast<uint8_t>(types.kind(element) != TypeKind::kStruct ? size
                                                : size % 4 == 0                          ? 4
                                                : size % 2 == 0                          ? 2
                                                                                         : 1);
      }
      program_.exports.push_back(std::move(symbol));
    }
  }

  void FillStreams() {
    for (const HostStream& stream : state_->streams) {
      bytecode::Export symbol;
      symbol.name = stream.name;
      symbol.type = "color";
      symbol.kind = bytecode::ExportKind::kStream;
      symbol.color = stream.color;
      program_.exports.push_back(std::move(symbol));
      (stream.into_pes ? program_.host_in_colors : program_.host_out_colors) |= uint32_t{1}
                                                                                << stream.color;
    }
  }

  void CompileClasses() {
    // Where several classes share a file, the params tell them apart.
    std::map<const Ast*, int> uses;
    for (const TileCode& code : state_->codes) ++uses[code.ast];
    std::vector<std::vector<ClassState::LocalRoute>> local_routes;
    for (const TileCode& code : state_->codes) {
      std::string name = session_.sources.File(code.ast->source()).path;
      if (uses[code.ast] > 1 && !code.params.is_error()) {
        std::string params = FormatValue(session_.types, code.params);
        if (params.size() > 80) params = params.substr(0, 77) + "…";
        name += " " + params;
      }
      local_routes.push_back(CompileClass(code, name));
    }
    FillStreams();
    JoinRoutes(local_routes);
    CheckExports();
  }

  // A name that no PE gives the host would only be missed when the host asks for it.
  void CheckExports() {
    if (session_.diags.HasErrors()) return;
    std::vector<bool> given(state_->names.size());
    for (const bytecode::CodeClass& code : program_.classes) {
      for (const bytecode::ExportBinding& binding : code.exports) given[binding.export_id] = true;
    }
    for (size_t i = 0; i < given.size(); ++i) {
      if (!given[i])
        session_.diags.Report(DiagKind::kNeverExported, state_->names[i].span,
                              state_->names[i].name);
    }
  }

  void AddStream(const HostStream& stream) {
    for (const HostStream& other : state_->streams) {
      if (other.color == stream.color && other.name == stream.name) return;
    }
    state_->streams.push_back(stream);
  }

  std::vector<ClassState::LocalRoute> CompileClass(const TileCode& code, const std::string& name) {
    DiagSink::Context context(session_.diags, code.span,
                              code.pe_count == 1
                                  ? fmt::format("in the code of PE ({}, {})", code.x, code.y)
                                  : fmt::format("in the code of {} PEs, the first is ({}, {})",
                                                code.pe_count, code.x, code.y));
    // Twice: the first run tells which variables the code uses, the second places them in the order
    // of declaration.
    std::set<std::string> variables;
    size_t printed = session_.printed.size();
    for (int run = 0;; ++run) {
      auto owned = std::make_unique<ClassState>(*state_, request_.memcpy);
      ClassState& state = *owned;
      ClassAnalysis analysis(session_, std::move(owned), state_->width, state_->height);
      analysis.PlaceFirst(variables);
      bool done = analysis.Run(*code.ast, session_.sources.File(code.ast->source()).path,
                               code.params.is_error() ? nullptr : &code.params, code.span);
      if (done && run == 0) {
        variables = analysis.PlacedVariables();
        session_.printed.resize(printed);
        continue;
      }
      if (done) CheckQueues(analysis.unit(), analysis.evaluator().code_class());
      program_.classes.push_back(done ? analysis.Take() : bytecode::CodeClass{});
      program_.classes.back().name = name;
      for (const HostStream& stream : state.streams) AddStream(stream);
      return state.local_routes;
    }
  }

  // Routes of a PE: the layout's and those of its code. Equal sets share one router configuration.
  void JoinRoutes(const std::vector<std::vector<ClassState::LocalRoute>>& local_routes) {
    std::map<std::vector<uint32_t>, uint32_t> router_index{{{}, 0}};
    for (int y = 0; y < state_->height; ++y) {
      for (int x = 0; x < state_->width; ++x) {
        size_t at = state_->At(x, y);
        if (state_->tiles[at] == kNoTile) continue;
        program_.pes[at].code_class = state_->tiles[at];
        std::vector<uint32_t> routes;
        uint32_t colors = 0;
        for (const LayoutState::PeRoute& route : state_->pe_routes[at]) {
          routes.push_back(route.route);
          colors |= uint32_t{1} << state_->routes[route.route].color;
        }
        for (const ClassState::LocalRoute& local : local_routes[state_->tiles[at]]) {
          if ((colors >> local.route.color & 1) != 0) {
            session_.diags.Report(DiagKind::kLocalColorConflict, local.span, local.route.color, x,
                                  y);
            continue;
          }
          routes.push_back(state_->routes.Intern(local.route));
        }
        std::sort(routes.begin(), routes.end(), [this](uint32_t a, uint32_t b) {
          return state_->routes[a].color < state_->routes[b].color;
        });
        auto [found, is_new] =
            router_index.emplace(routes, static_cast<uint32_t>(program_.routers.size()));
        if (is_new) {
          bytecode::RouterConfig config;
          for (uint32_t route : routes) config.colors.push_back(state_->routes[route]);
          program_.routers.push_back(std::move(config));
        }
        program_.pes[at].router = found->second;
      }
    }
  }

  Session& session_;
  const CompileRequest& request_;
  Unit unit_{session_, Unit::Kind::kLayout};
  LayoutState* state_ = nullptr;
  bytecode::Program program_;
};

}  // namespace

std::optional<bytecode::Program> CompileProgram(Session& session, const CompileRequest& request) {
  return ProgramCompiler(session, request).Run();
}

void AddLayoutBuiltins(BuiltinTable& table) {
  table.Add(LayoutBuiltins());
  table.Add(ConfigBuiltins());
}

}  // namespace szarena::csl

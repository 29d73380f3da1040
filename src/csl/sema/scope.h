// SPDX-License-Identifier: Apache-2.0
// Guards that change an Evaluator's mode for the length of a C++ scope.
#pragma once

#include "csl/sema/evaluator.h"

namespace szarena::csl {

// Compile-time mode: no code is emitted.
class ComptimeScope {
 public:
  explicit ComptimeScope(Evaluator& eval) : eval_(eval), saved_(eval.fb_) { eval.fb_ = nullptr; }
  ~ComptimeScope() { eval_.fb_ = saved_; }
  ComptimeScope(const ComptimeScope&) = delete;
  ComptimeScope& operator=(const ComptimeScope&) = delete;

 private:
  Evaluator& eval_;
  bytecode::FunctionBuilder* saved_;
};

// One more run-time branch around the code that follows.
class BranchScope {
 public:
  explicit BranchScope(Evaluator& eval) : eval_(eval) { ++eval.depth_; }
  ~BranchScope() { --eval_.depth_; }
  BranchScope(const BranchScope&) = delete;
  BranchScope& operator=(const BranchScope&) = delete;

 private:
  Evaluator& eval_;
};

// Another activation on top of the current one.
class FrameScope {
 public:
  FrameScope(Evaluator& eval, Frame& frame) : eval_(eval), saved_(eval.frame_) {
    frame.caller = saved_;
    eval.frame_ = &frame;
  }
  ~FrameScope() { eval_.frame_ = saved_; }
  FrameScope(const FrameScope&) = delete;
  FrameScope& operator=(const FrameScope&) = delete;

 private:
  Evaluator& eval_;
  Frame* saved_;
};

}  // namespace szarena::csl

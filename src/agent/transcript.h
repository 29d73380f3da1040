// SPDX-License-Identifier: Apache-2.0
// The record of a session: JSON lines, append-only, complete.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "base/error.h"
#include "data/json.h"

namespace szarena::agent {

// Version of the record's form. Line 1 is {"kind": "session", "version": 1, ...}; every line has
// "seq" (from 0), "at" (UTC) and "kind":
//   session      who, what, trial
//   prompt       the text as the agent got it, its SHA-256
//   message      what a model said
//   tool-call    tool, arguments
//   tool-result  tool, ok, content, seconds
//   attempt      number, label, idea, final, stage, candidate_sha256, files [{path, text}]
//   program      an agent program's own event, as it wrote it
//   usage        tokens and cost of one model call
//   stop         reason, detail, usage
inline constexpr int kTranscriptVersion = 1;

// Each Add is one write of one whole line, so a killed program leaves at most one torn line, the
// last. May be used by several threads.
class Transcript {
 public:
  // Starts a new file; whatever stood there is replaced.
  static Result<Transcript> Create(const std::string& path);
  Transcript(Transcript&& other) noexcept;
  Transcript& operator=(Transcript&&) = delete;
  ~Transcript();

  // Appends {"seq", "at", "kind", ...members of `body`}.
  Result<void> Add(std::string_view kind, const data::Json& body);

  const std::string& path() const { return path_; }

 private:
  Transcript(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}
  std::string path_;
  int fd_;
  std::unique_ptr<std::mutex> mutex_ = std::make_unique<std::mutex>();
  int64_t next_seq_ = 0;
};

}  // namespace szarena::agent

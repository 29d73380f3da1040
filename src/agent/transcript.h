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

// Version of the records' form. Line 1 is {"kind": "session", "version": 2, ...}; every line has
// "seq" (from 0), "at" (UTC) and "kind":
//   session      who, what, trial
//   prompt       the text as the agent got it, its SHA-256
//   message      of one conversation ("chat") with a model, in order: role, text, calls, raw
//   usage        of one answer: model version as returned, finish, tokens, cost, seconds; "total"
//   so far retry        a try of an answer that failed and is repeated: reason, wait tool-call
//   tool, arguments tool-result  tool, ok, content, seconds attempt      number, label, idea, the
//   files that were judged, stage reached note         what a workflow decided and why resume the
//   session was interrupted before this line and goes on after it stop         reason, detail,
//   usage, hidden seed
inline constexpr int kTranscriptVersion = 2;

// Each Add is one write of one whole line, so a killed program leaves at most one torn line, the
// last. May be used by several threads.
class Transcript {
 public:
  // Starts a new file; whatever stood there is replaced.
  static Result<Transcript> Create(const std::string& path);
  // Goes on after the last whole line; a torn one is cut off.
  static Result<Transcript> Continue(const std::string& path);
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

// A transcript as read: every whole line.
struct TranscriptRecords {
  data::Json::Array records;
  bool torn_tail = false;

  // The first or last record of that kind, or nullptr.
  const data::Json* First(std::string_view kind) const;
  const data::Json* Last(std::string_view kind) const;
};
// kCorrupt: it does not begin as one; kInvalidArgument: a newer program wrote it.
Result<TranscriptRecords> ReadTranscript(const std::string& path);

}  // namespace szarena::agent

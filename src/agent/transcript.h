// SPDX-License-Identifier: Apache-2.0
// The record of a session: JSON lines, append-only, complete. A session that goes on after an
// interruption is played from it up to where it was.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "data/json.h"

namespace szarena::agent {

// Version of the records' form. Line 1 is {"kind": "session", "version": 3, ...}; every line has
// "seq" (from 0), "at" (UTC) and "kind":
//   session      who, what, trial
//   prompt       the text as the agent got it, its SHA-256
//   message      of one conversation ("chat") with a model, in order: role, text, calls, raw
//   usage        of one answer, before it: model version as returned, finish, what was wrong with
//                it, tokens, cost, seconds; "total" so far
//   retry        a try of an answer that failed and is repeated: reason, wait
//   tool-call    tool, arguments
//   tool-result  tool, ok, content, text, seconds
//   attempt      number, label, idea, job, the files that were judged, stage reached
//   note         what a workflow decided and why
//   program      an event of an agent program
//   alive        nothing else happened for a while; tells how long the session ran
//   resume       the session was interrupted before this line and goes on after it
//   stop         reason, detail, usage, hidden seed
inline constexpr int kTranscriptVersion = 3;

// A transcript as read: every whole line.
struct TranscriptRecords {
  data::Json::Array records;
  bool torn_tail = false;
  std::vector<Error> faults;  // lines that are no JSON, left out: each names file and line

  // The first or last record of that kind, or nullptr.
  const data::Json* First(std::string_view kind) const;
  const data::Json* Last(std::string_view kind) const;
  // How long the session ran, all its runs together, as the times of the records say.
  double WallSeconds() const;
  // Which lines were left out, and which records are not in their place (by "seq": twice,
  // exchanged, of another transcript, missing), for people; empty where none is.
  std::vector<std::string> LeftOut(const std::string& path) const;
};
// For showing and judging again: damaged lines are left out and named. kCorrupt: it does not begin
// as a transcript; kInvalidArgument: a newer program wrote it.
Result<TranscriptRecords> ReadTranscript(const std::string& path);

// Each Add is one write of one whole line, so a killed program leaves at most one torn line, the
// last. May be used by several threads.
//
// Going on: an agent depends on nothing but what it is told, so it is run again from its beginning,
// and the steps that the earlier run took (messages, usages, notes, tool calls and their results)
// are given back by Again instead of being done, until none is left.
class Transcript {
 public:
  // Starts a new file; whatever stood there is replaced.
  static Result<Transcript> Create(const std::string& path);
  // Goes on after the last whole line; a torn one is cut off. kInvalidArgument, kCorrupt: it cannot
  // be gone on with (damaged, or of an older program); the file is left as it is.
  static Result<Transcript> Continue(const std::string& path);
  Transcript(Transcript&& other) noexcept;
  Transcript& operator=(Transcript&&) = delete;
  ~Transcript();

  // Appends {"seq", "at", "kind", ...members of `body`}.
  Result<void> Add(std::string_view kind, const data::Json& body);
  // Puts this record before the next one that is added, which is when something new happens: while
  // earlier steps are only given back, nothing is written. `first` is done before it.
  void Announce(std::string kind, data::Json body, std::function<Result<void>()> first);
  // Adds an "alive" record where nothing was added for that long, unless an announcement waits.
  Result<void> Beat(std::chrono::steady_clock::duration quiet);
  // Returns once what was added is on the disk.
  Result<void> Sync();

  // Takes the next earlier step, which must be of this kind and have these members with these
  // values: otherwise the agent does not do now what it did then (kInvalidArgument). Nothing: no
  // earlier step is left, do it.
  Result<std::optional<data::Json>> Again(std::string_view kind, const data::Json& members);
  // Whether the next earlier step has this kind and these members.
  bool NextIs(std::string_view kind, const data::Json& members) const;
  // The next earlier step; nullptr where none is left.
  const data::Json* Next() const { return steps_.empty() ? nullptr : &steps_.front(); }
  bool Replaying() const { return !steps_.empty(); }
  // Earlier steps are not to be taken again.
  void DropSteps() { steps_.clear(); }

  // What the earlier runs recorded: its attempts by number, the latest of each, and everything.
  const std::map<int64_t, data::Json>& earlier_attempts() const { return attempts_; }
  const TranscriptRecords& earlier() const { return earlier_; }

  const std::string& path() const { return path_; }

 private:
  Transcript(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}
  Result<void> AddLocked(std::string_view kind, const data::Json& body);

  std::string path_;
  int fd_;
  std::unique_ptr<std::mutex> mutex_ = std::make_unique<std::mutex>();
  int64_t next_seq_ = 0;
  std::chrono::steady_clock::time_point last_add_ = std::chrono::steady_clock::now();
  struct Announcement {
    std::string kind;
    data::Json body;
    std::function<Result<void>()> first;
  };
  std::optional<Announcement> announced_;
  TranscriptRecords earlier_;
  std::deque<data::Json> steps_;
  std::map<int64_t, data::Json> attempts_;
};

}  // namespace szarena::agent

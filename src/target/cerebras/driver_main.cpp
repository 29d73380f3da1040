// SPDX-License-Identifier: Apache-2.0
// The wafer driver: compiles a candidate's CSL, or runs compiled programs on the simulated fabric.
// It runs in the sandbox because what it reads was written by somebody else; its code is ours, so
// that its cycle counts are the simulator's.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "bytecode/image.h"
#include "csl/driver/driver.h"
#include "csl/driver/options.h"
#include "fabric/model/trap.h"
#include "fabric/sim/fabric.h"
#include "target/cerebras/job.h"
#include "target/cerebras/poison.h"

namespace szarena::target::cerebras {
namespace {

using bytecode::Direction;
using Clock = std::chrono::steady_clock;

// So long may load-time code run (docs/contracts/cerebras.md).
constexpr uint64_t kLoadCycles = 250'000;
constexpr uint64_t kAfterCopies = 100;

[[noreturn]] void Die(const std::string& what) {
  fmt::print(stderr, "driver: {}\n", what);
  std::exit(120);  // NOLINT(concurrency-mt-unsafe)
}

std::span<std::byte> Map(int fd, int protection) {
  struct stat info = {};
  if (fstat(fd, &info) < 0) Die("memory is missing");
  const auto size = static_cast<size_t>(info.st_size);
  void* base = mmap(nullptr, size, protection, MAP_SHARED, fd, 0);
  if (base == MAP_FAILED) Die("cannot map memory");
  return {static_cast<std::byte*>(base), size};
}

double Since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// ---------------------------------------------------------------- compile
int Compile(const std::vector<std::string>& arguments) {
  const std::span<std::byte> memory = Map(kOutputFd, PROT_READ | PROT_WRITE);
  auto options = csl::ParseOptions(arguments);
  if (!options) Die(options.error().ToString());
  const csl::Outcome outcome = csl::Compile(*options, {});
  CompileAnswer answer;
  std::string messages = outcome.messages + outcome.printed;
  std::vector<uint8_t> image;
  std::string memory_text;
  if (outcome.program) {
    image = bytecode::ToBytes(*outcome.program);
    answer.width = static_cast<uint32_t>(outcome.program->width);
    answer.height = static_cast<uint32_t>(outcome.program->height);
    answer.classes = static_cast<uint32_t>(outcome.program->classes.size());
    for (const auto& code : outcome.program->classes) {
      uint64_t total = 0;
      for (const auto& item : code.memory) total += item.bytes;
      if (total <= answer.memory_bytes) continue;
      answer.memory_bytes = total;
      memory_text = fmt::format("{}: {} of {} bytes\n", code.name, total, bytecode::kSramBytes);
      for (const auto& item : code.memory)
        memory_text += fmt::format("  {:6} {} ({})\n", item.bytes, item.name, item.what);
    }
    if (memory_text.size() > kMessageBytes) memory_text.resize(kMessageBytes);
  }
  const size_t room = memory.size() - sizeof answer - 8;
  if (messages.size() > room / 4) messages.resize(room / 4);
  const size_t image_at = (sizeof answer + messages.size() + 7) / 8 * 8;
  if (image_at + image.size() + memory_text.size() > memory.size())
    Die("the compiled program is too large");
  std::memcpy(memory.data() + sizeof answer, messages.data(), messages.size());
  std::copy(image.begin(), image.end(), reinterpret_cast<uint8_t*>(memory.data()) + image_at);
  std::memcpy(memory.data() + image_at + image.size(), memory_text.data(), memory_text.size());
  answer.ok = outcome.program ? 1 : 0;
  answer.message_bytes = messages.size();
  answer.image_bytes = image.size();
  answer.memory_text_bytes = static_cast<uint32_t>(memory_text.size());
  answer.done = 1;
  std::memcpy(memory.data(), &answer, sizeof answer);
  return 0;
}

// ---------------------------------------------------------------- run
class Run {
 public:
  Run(std::shared_ptr<const bytecode::Program> program, const Job& job, int threads,
      const JobCall& call, std::span<const std::byte> input, std::span<std::byte> output,
      JobAnswer& answer)
      : program_(std::move(program)),
        job_(job),
        threads_(threads),
        call_(call),
        input_(input),
        output_(output),
        answer_(answer) {}

  void Go() {
    answer_.state = CallState::kRunning;
    const Result<void> status = call_.streaming != 0 ? Streaming() : Resident();
    if (machine_) Report();
    if (!status) {
      // What fails before the launch is a program that the host cannot use.
      answer_.state = launched_ ? CallState::kFailed : CallState::kBadProgram;
      answer_.limit_exceeded = status.error().code == ErrorCode::kTimeout ? 1 : 0;
      Put(answer_.message, status.error().message);
    } else {
      answer_.state = CallState::kDone;
    }
    rusage usage = {};
    if (getrusage(RUSAGE_SELF, &usage) == 0)
      answer_.peak_memory_bytes = static_cast<uint64_t>(usage.ru_maxrss) * 1024;
  }

 private:
  static void Put(char (&to)[kMessageBytes], const std::string& text) {
    const size_t size = std::min<size_t>(text.size(), kMessageBytes - 1);
    std::memcpy(to, text.data(), size);
    to[size] = 0;
  }
  std::span<const uint32_t> Words(uint64_t offset, uint64_t count) const {
    if (offset % 4 != 0 || offset > input_.size() || count > (input_.size() - offset) / 4)
      Die("a job reaches outside of its memory");
    return {reinterpret_cast<const uint32_t*>(input_.data() + offset), count};
  }
  fabric::Rect All() const { return {0, 0, program_->width, program_->height}; }
  uint32_t Pes() const {
    return static_cast<uint32_t>(program_->width) * static_cast<uint32_t>(program_->height);
  }

  Result<void> Load() {
    const auto begin = Clock::now();
    fabric::Options options;
    options.threads = threads_;
    options.check_uninitialised = job_.check_uninitialised != 0;
    options.max_cycles = call_.max_cycles;
    options.deadline = begin + std::chrono::duration_cast<Clock::duration>(
                                   std::chrono::duration<double>(call_.max_seconds));
    options.print = [](const std::string&) {};
    SZARENA_TRY(machine_, fabric::Fabric::Create(program_, options));
    answer_.load_seconds = Since(begin);
    answer_.pes = Pes();
    return {};
  }

  // The export's id. It points to values of type `element` ("u32"), and the array behind it has
  // room for `words` on every PE.
  Result<uint32_t> Symbol(const std::string& name, const char* element, uint32_t words) {
    const auto bad = [](const std::string& why) { return Fail(ErrorCode::kInvalidArgument, why); };
    const Result<uint32_t> id = machine_->ExportId(name);
    if (!id) return bad(fmt::format("the program does not export '{}'", name));
    const bytecode::Export& exported = program_->exports[*id];
    const std::string wanted = fmt::format("[*]{}", element);
    if (exported.kind != bytecode::ExportKind::kVariable || exported.type != wanted) {
      return bad(fmt::format("'{}' is exported as '{}', the contract wants '{}'", name,
                             exported.type, wanted));
    }
    for (const bytecode::CodeClass& code : program_->classes) {
      const bytecode::ExportBinding* found = nullptr;
      for (const auto& binding : code.exports) {
        if (binding.export_id == *id) found = &binding;
      }
      if (found == nullptr) {
        return bad(
            fmt::format("the PEs of '{}' do not export '{}': every PE has to", code.name, name));
      }
      if (found->target_bytes != 0 && found->target_bytes < uint64_t{words} * 4) {
        return bad(fmt::format("'{}' of '{}' has {} bytes, the contract wants {}", name, code.name,
                               found->target_bytes, words * 4));
      }
    }
    symbols_.push_back({*id, {}});
    return *id;
  }
  Result<uint32_t> Function() {
    const std::string name = call_.function;
    const Result<uint32_t> id = machine_->ExportId(name);
    if (!id || program_->exports[*id].kind != bytecode::ExportKind::kFunction ||
        !program_->exports[*id].params.empty()) {
      return Fail(
          ErrorCode::kInvalidArgument,
          fmt::format("the program does not export a function '{}' without parameters", name));
    }
    return *id;
  }

  // Load-time code runs to its end before the first copy. Nothing else may move before the launch:
  // what is done before the clock starts must know neither data nor bound.
  Result<void> ComeToRest() {
    const Result<bool> rests = machine_->Settle(kLoadCycles);
    if (!rests && rests.error().code != ErrorCode::kTimeout) return tl::unexpected(rests.error());
    if (!rests || !*rests) {
      return Fail(rests ? ErrorCode::kInvalidArgument : ErrorCode::kTimeout,
                  fmt::format("the machine is not at rest {} cycles after load, before the first "
                              "copy: {}; nothing may run, or poll, until the launch",
                              machine_->now(), machine_->WhoMoves()));
    }
    rest_cycle_ = machine_->now();
    at_rest_ = machine_->statistics();
    work_at_rest_ = Work();
    for (auto& [id, addresses] : symbols_) addresses = AddressesOf(id);
    return {};
  }
  Result<void> CheckRested() {
    // A copy makes a PE look again at what it waits for, in vain.
    SZARENA_TRY(const bool rests, machine_->Settle(kAfterCopies));
    const fabric::Statistics now = machine_->statistics();
    const std::vector<uint64_t> work = Work();
    const std::string why = "; nothing may run between load and launch";
    for (uint32_t pe = 0; pe < Pes(); ++pe) {
      if (work[pe] != work_at_rest_[pe])
        return Fail(ErrorCode::kInvalidArgument,
                    PeName(pe) + " worked while data were copied in" + why);
    }
    if (!rests)
      return Fail(ErrorCode::kInvalidArgument,
                  "after the copies in the machine is not at rest: " + machine_->WhoMoves() + why);
    if (now.busy_cycles != at_rest_.busy_cycles || now.stalled_cycles != at_rest_.stalled_cycles ||
        now.tasks != at_rest_.tasks || now.hops != at_rest_.hops)
      return Fail(ErrorCode::kInvalidArgument, "PEs worked while data were copied in" + why);
    return {};
  }
  // Of each PE since load: instructions, elements and wavelets.
  std::vector<uint64_t> Work() const {
    std::vector<uint64_t> work;
    work.reserve(Pes());
    for (int y = 0; y < program_->height; ++y) {
      for (int x = 0; x < program_->width; ++x) {
        const fabric::PeCounters count = machine_->StatisticsOf(x, y).count;
        work.push_back(count.instructions + count.elements + count.wavelets_in +
                       count.wavelets_out);
      }
    }
    return work;
  }

  Result<void> CopyIn(uint32_t id, uint32_t count, std::vector<uint32_t> words) {
    answer_.bytes_in += words.size() * 4;
    SZARENA_TRY(last_, machine_->CopyIn(id, All(), 32, count, std::move(words)));
    return {};
  }
  Result<std::vector<uint32_t>> CopyOut(uint32_t id, uint32_t count) {
    SZARENA_TRY(const fabric::Ticket ticket, machine_->CopyOut(id, All(), 32, count));
    SZARENA_TRY_VOID(machine_->RunUntil(ticket));
    std::vector<uint32_t> words = machine_->TakeOutput(ticket);
    answer_.bytes_out += words.size() * 4;
    return words;
  }
  // Column and row of the pe-th, row by row.
  std::pair<int, int> PlaceOf(uint32_t pe) const {
    const auto width = static_cast<uint32_t>(program_->width);
    return {static_cast<int>(pe % width), static_cast<int>(pe / width)};
  }
  std::string PeName(uint32_t pe) const {
    const auto [x, y] = PlaceOf(pe);
    return fmt::format("PE ({}, {})", x, y);
  }
  // Where the poison of the output symbol ends: up to which of its words a PE wrote something.
  std::vector<uint32_t> Written(uint32_t id) {
    std::vector<uint32_t> written;
    const std::vector<uint16_t> addresses = AddressesOf(id);
    for (uint32_t pe = 0; pe < Pes(); ++pe) {
      const auto [x, y] = PlaceOf(pe);
      const uint32_t address = addresses[pe];
      const uint32_t room = bytecode::kSramBytes - std::min(bytecode::kSramBytes, address);
      uint32_t words = std::min(call_.out_capacity, room / 4);
      const std::vector<uint8_t> bytes = machine_->ReadMemory(x, y, address, words * 4);
      for (; words > 0; --words) {
        uint32_t word = 0;
        std::memcpy(&word, bytes.data() + size_t{words - 1} * 4, 4);
        if (word != poison_.Word(~(uint64_t{pe} * call_.out_capacity + words - 1))) break;
      }
      written.push_back(words);
    }
    return written;
  }
  // The address that an export stands for on each PE now: of the array behind an exported pointer.
  std::vector<uint16_t> AddressesOf(uint32_t id) const {
    std::vector<uint16_t> addresses;
    addresses.reserve(Pes());
    for (uint32_t pe = 0; pe < Pes(); ++pe) {
      const auto [x, y] = PlaceOf(pe);
      uint32_t address = 0;
      for (const auto& binding : program_->classes[program_->At(x, y).code_class].exports) {
        if (binding.export_id != id) continue;
        address = binding.value;
        if (!binding.constant) {
          const std::vector<uint8_t> pointer = machine_->ReadMemory(x, y, binding.address, 2);
          address = pointer[0] | static_cast<uint32_t>(pointer[1]) << 8;
        }
      }
      addresses.push_back(static_cast<uint16_t>(address));
    }
    return addresses;
  }
  // What the judge reads after the launch is what it set before: exported pointers stay.
  bool PointersKept() {
    for (const auto& [id, addresses] : symbols_) {
      const std::vector<uint16_t> now = AddressesOf(id);
      const auto changed = std::mismatch(now.begin(), now.end(), addresses.begin()).first;
      if (changed == now.end()) continue;
      const auto pe = static_cast<uint32_t>(changed - now.begin());
      answer_.changed_pointer = pe + 1;
      Put(answer_.message,
          fmt::format("{}: '{}' points to 0x{:04x}, before the launch to 0x{:04x}", PeName(pe),
                      program_->exports[id].name, now[pe], addresses[pe]));
      return false;
    }
    return true;
  }
  Result<void> FindCommon(const char* n_name) {
    SZARENA_TRY(n_id_, Symbol(n_name, "u32", 1));
    SZARENA_TRY(eb_id_, Symbol("eb_f32", "f32", 1));
    SZARENA_TRY(exponent_id_, Symbol("eb_exponent", "i32", 1));
    return {};
  }
  // The symbols that both variants set, on every PE.
  Result<void> SetCommon(const std::vector<uint32_t>& n_of_pe) {
    SZARENA_TRY_VOID(CopyIn(n_id_, 1, n_of_pe));
    SZARENA_TRY_VOID(CopyIn(eb_id_, 1, std::vector<uint32_t>(Pes(), call_.eb_bits)));
    return CopyIn(exponent_id_, 1,
                  std::vector<uint32_t>(Pes(), static_cast<uint32_t>(call_.eb_exponent)));
  }
  Result<void> CheckCommon(const char* n_name, const std::vector<uint32_t>& n_of_pe) {
    const uint64_t bytes_out = answer_.bytes_out;
    SZARENA_TRY(const std::vector<uint32_t> n, CopyOut(n_id_, 1));
    SZARENA_TRY(const std::vector<uint32_t> eb, CopyOut(eb_id_, 1));
    SZARENA_TRY(const std::vector<uint32_t> exponent, CopyOut(exponent_id_, 1));
    answer_.bytes_out = bytes_out;  // a check, no part of the work
    for (uint32_t pe = 0; pe < Pes(); ++pe) {
      const auto judge_exponent = static_cast<uint32_t>(call_.eb_exponent);
      std::string what;
      if (n[pe] != n_of_pe[pe]) {
        what = fmt::format("{} is {}, the judge had set {}", n_name, n[pe], n_of_pe[pe]);
      } else if (eb[pe] != call_.eb_bits) {
        what = fmt::format("eb_f32 has the bits 0x{:08x}, the judge had set others", eb[pe]);
      } else if (exponent[pe] != judge_exponent) {
        what = fmt::format("eb_exponent is {}, the judge had set another",
                           static_cast<int32_t>(exponent[pe]));
      } else {
        continue;
      }
      answer_.changed_symbol = pe + 1;
      Put(answer_.message, fmt::format("{}: {}", PeName(pe), what));
      break;
    }
    return {};
  }

  Result<void> Resident() {
    SZARENA_TRY_VOID(Load());
    const std::span<const uint32_t> n_local = Words(call_.n_offset, Pes());
    const std::span<const uint32_t> counts = Words(call_.counts_offset, Pes());
    const bool forward = call_.forward != 0;
    SZARENA_TRY(const uint32_t function, Function());
    const char* const element = call_.float_values != 0 ? "f32" : "u32";
    SZARENA_TRY(const uint32_t in, forward ? Symbol("input", element, call_.in_capacity)
                                           : Symbol("in_words", "u32", call_.in_capacity));
    SZARENA_TRY(const uint32_t out, forward ? Symbol("output_words", "u32", call_.out_capacity)
                                            : Symbol("output", element, call_.out_capacity));
    const char* const count_name = forward ? "output_word_count" : "in_word_count";
    SZARENA_TRY(const uint32_t count_id, Symbol(count_name, "u32", 1));
    SZARENA_TRY_VOID(FindCommon("n_local"));
    const std::vector<uint32_t> n(n_local.begin(), n_local.end());
    SZARENA_TRY_VOID(ComeToRest());
    // Output first: a program may let it share memory with the input.
    {
      std::vector<uint32_t> poison(size_t{Pes()} * call_.out_capacity);
      for (size_t i = 0; i < poison.size(); ++i) poison[i] = poison_.Word(~i);
      SZARENA_TRY_VOID(CopyIn(out, call_.out_capacity, std::move(poison)));
      answer_.bytes_in = 0;  // no part of the work
    }
    {
      std::vector<uint32_t> data(size_t{Pes()} * call_.in_capacity);
      uint64_t at = 0;
      for (uint64_t pe = 0; pe < Pes(); ++pe) at += counts[pe];
      const std::span<const uint32_t> words = Words(call_.data_offset, at);
      at = 0;
      for (uint64_t pe = 0; pe < Pes(); ++pe) {
        if (counts[pe] > call_.in_capacity) Die("a job has more words than a PE has room for");
        uint32_t* to = data.data() + pe * call_.in_capacity;
        std::copy_n(words.begin() + static_cast<std::ptrdiff_t>(at), counts[pe], to);
        for (uint64_t k = counts[pe]; k < call_.in_capacity; ++k)
          to[k] = poison_.Word(pe * call_.in_capacity + k);
        at += counts[pe];
      }
      SZARENA_TRY_VOID(CopyIn(in, call_.in_capacity, std::move(data)));
    }
    if (forward) {
      std::vector<uint32_t> poison(Pes());
      for (uint32_t pe = 0; pe < Pes(); ++pe) poison[pe] = poison_.Count(pe);
      SZARENA_TRY_VOID(CopyIn(count_id, 1, std::move(poison)));
      answer_.bytes_in -= uint64_t{Pes()} * 4;
    } else {
      SZARENA_TRY_VOID(CopyIn(count_id, 1, {counts.begin(), counts.end()}));
    }
    SZARENA_TRY_VOID(SetCommon(n));
    SZARENA_TRY_VOID(machine_->RunUntil(last_));
    answer_.copy_in_cycles = machine_->now() - rest_cycle_;
    SZARENA_TRY_VOID(CheckRested());
    const auto begin = Clock::now();
    SZARENA_TRY(const fabric::Ticket launch, machine_->Launch(function, {}));
    launched_ = true;
    const Result<void> ran = machine_->RunUntilIdle();
    answer_.run_seconds = Since(begin);
    Measure(machine_->SpanOf(launch).available);
    SZARENA_TRY_VOID(ran);
    if (!PointersKept()) return {};
    const uint64_t before = machine_->statistics().host_cycles;
    std::vector<uint32_t> got_counts = n;
    if (forward) {
      SZARENA_TRY(got_counts, CopyOut(count_id, 1));
    }
    uint32_t most = 0;
    for (uint32_t pe = 0; pe < Pes(); ++pe) {
      if (got_counts[pe] > call_.out_capacity) {
        answer_.count_fault = pe + 1;
        Put(answer_.message,
            got_counts[pe] == poison_.Count(pe)
                ? fmt::format("{}: {} was never written", PeName(pe), count_name)
                : fmt::format("{}: {} is {}, {} words are the room there", PeName(pe), count_name,
                              got_counts[pe], call_.out_capacity));
        return {};
      }
      most = std::max(most, got_counts[pe]);
    }
    std::vector<uint32_t> got;
    if (most > 0) {
      SZARENA_TRY(got, CopyOut(out, most));
    }
    answer_.copy_out_cycles = machine_->statistics().host_cycles - before;
    Answer to(*this, Pes());
    if (call_.written_wanted != 0) to.SetWritten(Written(out));
    for (uint64_t pe = 0; pe < Pes(); ++pe) to.Add({got.data() + pe * most, got_counts[pe]});
    return CheckCommon("n_local", n);
  }

  Result<void> Streaming() {
    SZARENA_TRY_VOID(Load());
    const auto rows = static_cast<uint32_t>(program_->height);
    const int last_x = program_->width - 1;
    const std::span<const uint32_t> n_row = Words(call_.n_offset, rows);
    const std::span<const uint32_t> counts = Words(call_.counts_offset, rows);
    uint64_t total = 0;
    for (const uint32_t count : counts) total += count;
    const std::span<const uint32_t> data = Words(call_.data_offset, total);
    SZARENA_TRY(const uint32_t function, Function());
    std::vector<uint32_t> n;
    for (const uint32_t row : n_row) n.insert(n.end(), static_cast<size_t>(program_->width), row);
    SZARENA_TRY_VOID(FindCommon("n_row"));
    SZARENA_TRY_VOID(ComeToRest());
    SZARENA_TRY_VOID(SetCommon(n));
    SZARENA_TRY_VOID(machine_->RunUntil(last_));
    answer_.copy_in_cycles = machine_->now() - rest_cycle_;
    SZARENA_TRY_VOID(CheckRested());
    SZARENA_TRY(const fabric::Ticket launch, machine_->Launch(function, {}));
    launched_ = true;
    SZARENA_TRY_VOID(machine_->RunUntil(launch));
    for (uint32_t y = 0; y < rows; ++y) SZARENA_TRY_VOID(machine_->OpenPort(Out(last_x, y)));
    uint64_t begin_cycle = machine_->now();
    const auto begin = Clock::now();
    uint64_t at = 0;
    for (uint32_t y = 0; y < rows; ++y) {
      const std::span<const uint32_t> words = data.subspan(at, counts[y]);
      SZARENA_TRY(const fabric::Ticket sent,
                  machine_->SendInto({0, static_cast<int>(y), Direction::kWest,
                                      static_cast<uint8_t>(call_.in_color)},
                                     {words.begin(), words.end()}));
      if (y == 0 || counts[y] > 0) begin_cycle = machine_->SpanOf(sent).begin;
      at += counts[y];
    }
    answer_.bytes_in = total * 4;
    const Result<void> ran = machine_->RunUntilIdle();
    answer_.run_seconds = Since(begin);
    Measure(std::min(begin_cycle, machine_->now()));
    Answer to(*this, rows);
    for (uint32_t y = 0; y < rows; ++y) {
      const std::vector<uint32_t> words = machine_->TakeArrived(Out(last_x, y));
      answer_.bytes_out += words.size() * 4;
      to.Add(words);
    }
    SZARENA_TRY_VOID(ran);
    if (!PointersKept()) return {};
    return CheckCommon("n_row", n);
  }
  fabric::PortAddress Out(int x, uint32_t y) const {
    return {x, static_cast<int>(y), Direction::kEast, static_cast<uint8_t>(call_.out_color)};
  }

  // Writes the parts' counts and words behind one another.
  class Answer {
   public:
    Answer(const Run& run, uint32_t parts) {
      const JobCall& call = run.call_;
      const uint64_t bytes = (2 * uint64_t{parts} + call.answer_words) * 4;
      if (call.answer_offset % 4 != 0 || call.answer_offset > run.output_.size() ||
          bytes > run.output_.size() - call.answer_offset) {
        Die("an answer reaches outside of its memory");
      }
      count_ = reinterpret_cast<uint32_t*>(run.output_.data() + call.answer_offset);
      written_ = count_ + parts;
      to_ = written_ + parts;
      room_ = call.answer_words;
    }
    void SetWritten(const std::vector<uint32_t>& words) {
      std::copy(words.begin(), words.end(), written_);
    }
    // What has no room is counted and not kept.
    void Add(std::span<const uint32_t> words) {
      *count_++ = static_cast<uint32_t>(words.size());
      const uint64_t kept = std::min<uint64_t>(words.size(), room_);
      to_ = std::copy_n(words.begin(), kept, to_);
      room_ -= kept;
    }

   private:
    uint32_t* count_;
    uint32_t* written_;
    uint32_t* to_;
    uint64_t room_;
  };

  void Measure(uint64_t begin_cycle) {
    const fabric::Statistics all = machine_->statistics();
    const uint64_t span = all.quiet_since >= begin_cycle ? all.quiet_since - begin_cycle + 1 : 0;
    answer_.launch_cycles = span;
    // What was done at load time is no part of it.
    answer_.busy_cycles = all.busy_cycles - at_rest_.busy_cycles;
    answer_.stalled_cycles = all.stalled_cycles - at_rest_.stalled_cycles;
    answer_.scalar_instructions = all.instructions - at_rest_.instructions;
    answer_.vector_elements = all.elements - at_rest_.elements;
    answer_.vector_arithmetic = all.arithmetic - at_rest_.arithmetic;
    answer_.wavelets = all.hops - at_rest_.hops;
    answer_.memory_pages = all.pages;
    const uint64_t everything = span * Pes();
    answer_.idle_cycles =
        everything - std::min(everything, answer_.busy_cycles + answer_.stalled_cycles);
    std::vector<uint64_t> work = Work();
    for (size_t pe = 0; pe < work.size(); ++pe) {
      work[pe] -= work_at_rest_[pe];
      answer_.total_work += work[pe];
      answer_.largest_work = std::max(answer_.largest_work, work[pe]);
    }
    for (const uint64_t w : work)
      answer_.pes_active += w > 0 && w * 10 >= answer_.largest_work ? 1 : 0;
  }

  void Report() {
    machine_->Stop();
    std::string text;
    for (const fabric::Trap& trap : machine_->traps()) {
      if (trap.kind == fabric::TrapKind::kIndexOutOfBounds ||
          trap.kind == fabric::TrapKind::kDsdOutOfBounds ||
          trap.kind == fabric::TrapKind::kHostOverread ||
          trap.kind == fabric::TrapKind::kHostRange) {
        ++answer_.bounds_traps;
      }
      text += trap.ToString() + "\n";
    }
    Put(answer_.traps, text);
  }

  std::shared_ptr<const bytecode::Program> program_;
  const Job& job_;
  int threads_;
  const JobCall& call_;
  const Poison poison_{call_.poison_seed, call_.poison_inverted != 0};
  std::span<const std::byte> input_;
  std::span<std::byte> output_;
  JobAnswer& answer_;
  std::unique_ptr<fabric::Fabric> machine_;
  fabric::Ticket last_ = 0;
  uint64_t rest_cycle_ = 0;  // the machine had come to rest, before the first copy
  fabric::Statistics at_rest_;
  std::vector<uint64_t> work_at_rest_;
  // The exports that are used, and where each is on each PE when the machine had come to rest.
  std::vector<std::pair<uint32_t, std::vector<uint16_t>>> symbols_;
  uint32_t n_id_ = 0;
  uint32_t eb_id_ = 0;
  uint32_t exponent_id_ = 0;
  bool launched_ = false;
};

int RunAll() {
  const std::span<std::byte> input = Map(kInputFd, PROT_READ);
  const std::span<std::byte> output = Map(kOutputFd, PROT_READ | PROT_WRITE);
  const Job& job = *reinterpret_cast<const Job*>(input.data());
  std::vector<std::shared_ptr<const bytecode::Program>> programs;
  for (uint32_t i = 0; i < job.program_count; ++i) {
    auto program =
        bytecode::FromBytes({reinterpret_cast<const uint8_t*>(input.data()) + job.program_offset[i],
                             job.program_bytes[i]});
    if (!program) Die(program.error().ToString());
    programs.push_back(std::make_shared<const bytecode::Program>(*std::move(program)));
  }
  auto* answers = reinterpret_cast<JobAnswer*>(output.data());
  const auto begin = Clock::now();
  const uint32_t workers = std::max(1u, std::min({job.at_once, job.threads, job.call_count}));
  const int threads_each = static_cast<int>(std::max(1u, job.threads / std::max(1u, job.at_once)));
  // Calls share nothing but the programs, which nobody changes. Whoever takes one runs it, so that
  // before one that ended everything there is none that was not run.
  std::atomic<uint32_t> next = 0;
  std::atomic<bool> over = false;
  const auto work = [&] {
    while (!over) {
      const uint32_t i = next++;
      if (i >= job.call_count) return;
      JobCall call = job.calls[i];
      const double left = job.total_seconds - Since(begin);
      call.max_seconds = std::min(call.max_seconds, std::max(left, 0.0));
      Run(programs.at(call.program), job, threads_each, call, input, output, answers[i]).Go();
      // A program that hangs or dies once does so again: the rest would only take time.
      if (answers[i].state == CallState::kBadProgram || answers[i].limit_exceeded != 0) over = true;
    }
  };
  std::vector<std::thread> others;
  for (uint32_t i = 1; i < workers; ++i) others.emplace_back(work);
  work();
  for (std::thread& other : others) other.join();
  return 0;
}

}  // namespace
}  // namespace szarena::target::cerebras

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.empty()) return 2;
  if (arguments[0] == "compile")
    return szarena::target::cerebras::Compile({arguments.begin() + 1, arguments.end()});
  return arguments[0] == "run" ? szarena::target::cerebras::RunAll() : 2;
}

// SPDX-License-Identifier: Apache-2.0
// szarena doctor: what this machine can run, and what is missing for the rest.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/commands.h"
#include "app/environment.h"
#include "data/json.h"
#include "field/real.h"
#include "model/settings.h"
#include "os/process.h"
#include "program/program.h"
#include "sandbox/sandbox.h"
#include "target/cerebras/free_host.h"
#include "target/cuda/toolkit.h"
#include "term/style.h"
#include "term/table.h"

namespace szarena::app {
namespace {

struct Finding {
  std::string name;
  bool found = false;
  std::string detail;  // version or place; where it is missing, what was tried
  std::string remedy;  // what to do; empty where found
};

struct Ability {
  std::string name;
  bool able = false;
  std::string detail;
};

Finding Program(const std::string& name, const std::string& program, std::string_view version_part,
                const std::string& remedy) {
  const auto path = os::FindProgram(program, true);
  if (!path) return {name, false, fmt::format("no program '{}' in PATH", program), remedy};
  const std::string version = OutputLine({*path, "--version"}, version_part);
  return {name, true, version.empty() ? *path : fmt::format("{} ({})", version, *path), ""};
}

Finding SandboxLayers() {
  const auto sandbox = sandbox::Sandbox::Probe();
  if (sandbox) return {"sandbox", true, sandbox->description(), ""};
  return {"sandbox", false, sandbox.error().ToString(),
          "./dev setup installs bubblewrap; candidates are never run without it"};
}

// Every real field is read and its checksum compared.
std::vector<Finding> RealFields() {
  struct Package {
    size_t found = 0;
    size_t all = 0;
    std::string fault;
  };
  std::map<std::string, Package> packages;
  for (const field::RealField& real : field::AllRealFields()) {
    Package& package = packages[std::string(real.package)];
    ++package.all;
    const auto loaded = field::LoadReal(real);
    if (loaded) {
      ++package.found;
    } else if (package.fault.empty()) {
      package.fault = loaded.error().ToString();
    }
  }
  std::vector<Finding> findings;
  for (const auto& [name, package] : packages) {
    const bool whole = package.found == package.all;
    std::string detail =
        fmt::format("{} of {} fields of package {}", package.found, package.all, name);
    if (!whole) detail += ": " + package.fault;
    findings.push_back({"real fields, " + name, whole, detail,
                        whole ? "" : "./dev setup, or apt-get install " + name});
  }
  return findings;
}

// As `evaluate` looks for it.
Finding CudaCompiler() {
  const auto toolkit = target::cuda::FindToolkit();
  if (toolkit)
    return {"cuda compiler", true, fmt::format("CUDA {} ({})", toolkit->release, toolkit->nvcc),
            ""};
  const std::string& why = toolkit.error().message;
  const size_t end = why.rfind("; ");
  return {"cuda compiler", false, why.substr(0, end), why.substr(end + 2)};
}

Finding Gpu() {
  const auto program = os::FindProgram("nvidia-smi", true);
  const std::string remedy = "run on a machine with an NVIDIA GPU and its driver";
  if (!program || access("/dev/nvidiactl", R_OK) != 0) {
    return {"nvidia gpu", false, "no device /dev/nvidiactl or no nvidia-smi", remedy};
  }
  const std::string device = OutputLine(
      {*program, "--query-gpu=name,driver_version,memory.total", "--format=csv,noheader"});
  if (device.empty()) return {"nvidia gpu", false, "nvidia-smi finds no device", remedy};
  return {"nvidia gpu", true, device, ""};
}

Finding PythonWithNumpy() {
  const std::string version =
      OutputLine({"/usr/bin/python3", "-c",
                  "import sys, numpy; print(sys.version.split()[0], 'numpy', numpy.__version__)"});
  if (!version.empty()) return {"python", true, version, ""};
  return {"python", false, "/usr/bin/python3 with numpy does not run",
          "./dev setup, or apt-get install python3 python3-numpy"};
}

// Host programs of candidates run under our cs_python, in the sandbox.
Finding CsPython() {
  const std::string remedy = "./dev setup, then ./dev build all: python3-dev, pybind11, numpy";
  const auto sandbox = sandbox::Sandbox::Probe();
  if (!sandbox) return {"cs_python", false, "needs the sandbox", remedy};
  const auto tools = target::cerebras::FindHostTools();
  if (!tools) return {"cs_python", false, tools.error().message, remedy};
  const auto ready = target::cerebras::CheckHostTools(*sandbox, *tools);
  if (!ready) return {"cs_python", false, ready.error().message, remedy};
  return {"cs_python", true, tools->bin + "/cs_python", ""};
}

// The vendor's SDK: its compiler is called cslc as ours, so the one beside this program does not
// count.
Finding CerebrasSdk() {
  const auto path = os::FindProgram("cslc", true);
  std::error_code ignored;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path();
  if (!path || std::filesystem::path(*path).parent_path() == self) {
    return {"cerebras sdk", false, "no vendor's cslc in PATH",
            "put the SDK's folder in PATH to compare with the real toolchain"};
  }
  return {"cerebras sdk", true, *path, ""};
}

// Services of models for which there is a key, or that need none. Keys themselves are not shown.
Finding ModelServices() {
  const auto environment = [](const std::string& name) {
    return std::getenv(name.c_str());  // NOLINT(concurrency-mt-unsafe): nothing changes it
  };
  const std::string remedy =
      "set OPENAI_API_KEY, GEMINI_API_KEY or ANTHROPIC_API_KEY (docs/agents.md)";
  const auto settings = model::ReadSettings("", environment);
  if (!settings) return {"model services", false, settings.error().ToString(), remedy};
  std::string ready;
  std::string without;
  for (const auto& [name, provider] : settings->providers) {
    const auto key = model::FindKey(name, provider.key_variable, environment);
    if (!key) return {"model services", false, key.error().ToString(), remedy};
    std::string& list = key->has_value() || !provider.needs_key ? ready : without;
    list += (list.empty() ? "" : ", ") + name;
  }
  if (ready.empty()) return {"model services", false, "no key for " + without, remedy};
  return {"model services", true,
          without.empty() ? ready : fmt::format("{} (no key for {})", ready, without), ""};
}

// Agent programs of others in PATH.
Finding AgentPrograms() {
  std::string found;
  std::string packages;
  for (const program::Program* one : program::AllPrograms()) {
    const bool there = os::FindProgram(std::string(one->executable), true).has_value();
    std::string& list = there ? found : packages;
    list += (list.empty() ? "" : " ") + std::string(there ? one->name : one->package);
  }
  const std::string remedy = packages.empty() ? "" : "npm install -g " + packages;
  if (found.empty()) return {"agent programs", false, "none in PATH", remedy};
  return {"agent programs", true, packages.empty() ? found : found + " (more: " + remedy + ")", ""};
}

bool Found(const std::vector<Finding>& findings, std::string_view name) {
  for (const Finding& finding : findings) {
    if (finding.name == name) return finding.found;
  }
  return false;
}

std::vector<Ability> Conclude(const std::vector<Finding>& findings) {
  const bool cpu = Found(findings, "c++ compiler") && Found(findings, "sandbox");
  bool fields = true;
  for (const Finding& finding : findings) {
    if (finding.name.starts_with("real fields")) fields &= finding.found;
  }
  const bool nvcc = Found(findings, "cuda compiler");
  const bool gpu = Found(findings, "nvidia gpu");
  const std::string cuda = nvcc && gpu ? "builds and runs"
                           : nvcc      ? "builds only: no GPU here"
                                       : "no CUDA compiler that can build them";
  return {{"cpu candidates", cpu,
           cpu ? "build, run sandboxed, measure" : "needs a compiler and the sandbox"},
          {"demo", cpu && fields,
           cpu && fields ? "szarena demo" : "needs cpu candidates and the real fields"},
          {"cerebras candidates", Found(findings, "sandbox"),
           !Found(findings, "sandbox") ? "needs the sandbox"
           : Found(findings, "cerebras sdk")
               ? "on the simulated wafer, cycles estimated; --toolchain sdk: on the SDK's"
               : "on the simulated wafer, cycles estimated"},
          {"cuda candidates", nvcc && gpu && cpu, cuda}};
}

data::Json ToJson(const std::vector<Finding>& findings, const std::vector<Ability>& abilities) {
  data::Json list = data::Json::MakeArray();
  for (const Finding& finding : findings) {
    list.Append(data::Json::Of(
        {{"name", finding.name},
         {"found", finding.found},
         {"detail", finding.detail},
         {"remedy", finding.remedy.empty() ? data::Json() : data::Json(finding.remedy)}}));
  }
  data::Json can = data::Json::MakeArray();
  for (const Ability& ability : abilities) {
    can.Append(data::Json::Of(
        {{"name", ability.name}, {"able", ability.able}, {"detail", ability.detail}}));
  }
  return data::Json::Of({{"machine", DescribeEnvironment()},
                         {"findings", std::move(list)},
                         {"can_run", std::move(can)}});
}

void PrintText(const std::vector<Finding>& findings, const std::vector<Ability>& abilities) {
  const bool colour = term::WantsColour(stdout);
  const auto mark = [&](bool good) {
    return good ? term::Paint("ok", term::Style::kGood, colour)
                : term::Paint("missing", term::Style::kWarning, colour);
  };
  const data::Json machine = DescribeEnvironment();
  for (const data::JsonMember& member : machine.members()) {
    fmt::print("{:10} {}\n", member.key, *member.value.string());
  }
  term::Table tools({{"tool"}, {"state"}, {"detail"}});
  for (const Finding& finding : findings) {
    tools.AddRow({finding.name, mark(finding.found), finding.detail});
  }
  fmt::print("\n{}\n", tools.Text());
  term::Table can({{"what"}, {"here"}, {"detail"}});
  for (const Ability& ability : abilities) {
    can.AddRow({ability.name,
                ability.able ? term::Paint("yes", term::Style::kGood, colour)
                             : term::Paint("no", term::Style::kWarning, colour),
                ability.detail});
  }
  fmt::print("{}", can.Text());
  bool first = true;
  for (const Finding& finding : findings) {
    if (finding.found) continue;
    if (first) fmt::print("\nto get what is missing:\n");
    first = false;
    fmt::print("  {}: {}\n", finding.name, finding.remedy);
  }
}

Result<ExitCode> Doctor(bool as_json) {
  std::vector<Finding> findings = {
      Program("c++ compiler", "g++", "g++", "./dev setup, or apt-get install g++"),
      SandboxLayers()};
  for (Finding& finding : RealFields()) findings.push_back(std::move(finding));
  findings.push_back(PythonWithNumpy());
  findings.push_back(CudaCompiler());
  findings.push_back(Gpu());
  findings.push_back(CsPython());
  findings.push_back(CerebrasSdk());
  findings.push_back(ModelServices());
  findings.push_back(AgentPrograms());
  const std::vector<Ability> abilities = Conclude(findings);
  if (as_json) {
    fmt::print("{}\n", ToJson(findings, abilities).Dump(2));
  } else {
    PrintText(findings, abilities);
  }
  return abilities[0].able ? ExitCode::kDone : ExitCode::kEnvironment;
}

}  // namespace

void AddDoctor(CLI::App& app, Action& action) {
  auto* command =
      app.add_subcommand("doctor", "What this machine can run, and what is missing for the rest");
  command->footer("Exit status 3 where not even CPU candidates can be judged.");
  auto as_json = std::make_shared<bool>(false);
  command->add_flag("--json", *as_json, "Print JSON");
  command->callback([&action, as_json] { action = [as_json] { return Doctor(*as_json); }; });
}

}  // namespace szarena::app

// trunnion doctor: what of the engine works on this machine, and for what does not, why and what helps.
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "failure.h"
#include "file.h"
#include "json_array.h"
#include "known_plugins.h"
#include "providers.h"
#include "session_options.h"
#include "text.h"
#include "verbs.h"

namespace trunnion::cli {
namespace {

constexpr const char* kFooter =
    R"(Plugins of execution providers are looked for among the Python packages of the active virtual environment, of the
user and of the system, and in the folders of TRUNNION_PLUGIN_PATH (':' between them). Each is loaded in a process of its
own, so that one that crashes is a line in the report. Exit code 1 when a plugin that --plugin names cannot be used.

  trunnion doctor
  trunnion doctor --plugin OpenVINOExecutionProvider=/opt/ep/libonnxruntime_providers_openvino_plugin.so)";

struct DoctorChoices {
  std::vector<std::string> plugins;  // NAME=PATH
  bool json = false, only_plugins = false;
};

// What one library is: loaded in this process.
Json examine(const Engine& engine, const std::string& name, const std::string& path, const char* no_device) {
  Json facts{{"name", name}, {"path", path}, {"usable", false}};
  try {
    register_library(engine, name, path);
  } catch (const Error& error) {
    facts["reason"] = error.what();
    facts["remedy"] = remedy_of(error.what());
    return facts;
  }
  const Json all = parse_json(environment_json(engine), "the engine's report");
  for (const Json& plugin : all.at("plugins"))
    if (plugin.at("name") == name) facts["factories"] = plugin.at("factories");
  bool device = false;
  for (const Json& factory : facts.at("factories")) device |= !factory.at("devices").empty();
  facts["usable"] = device;
  if (device) return facts;
  facts["reason"] = "the library loads, but finds no device that it can use";
  facts["remedy"] = no_device ? no_device : "a device that its vendor supports, with its driver";
  return facts;
}

// The same in a process of its own, where a library may do what it likes.
Json examine_apart(const std::string& name, const std::string& path) {
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  const std::string command = fmt::format("{} doctor --only-plugins --json --plugin {} 2>/dev/null", shell_quoted(self),
                                          shell_quoted(name + "=" + path));
  std::string text;
  std::FILE* const pipe = popen(command.c_str(), "r");
  if (!pipe) unusable("cannot start a process to load {}", path);
  std::array<char, 4096> block;
  while (const size_t n = std::fread(block.data(), 1, block.size(), pipe)) text.append(block.data(), n);
  const int status = pclose(pipe);
  const Json made = Json::parse(text, nullptr, false);
  if (!made.is_discarded() && made.contains("plugins") && !made["plugins"].empty()) return made["plugins"][0];
  // The shell that popen starts says 128 + n where the program died of signal n.
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : WIFSIGNALED(status) ? 128 + WTERMSIG(status) : status;
  return Json{{"name", name},
              {"path", path},
              {"usable", false},
              {"reason", code > 128 ? fmt::format("the library ends the process that loads it (signal {})", code - 128)
                                    : fmt::format("the process that loads the library ends with code {}", code)},
              {"remedy", "report it to the vendor of the library; do not load it"}};
}

std::string device_text(const Json& device) {
  return fmt::format("{} ({})", device.at("kind").get<std::string>(), device.at("hardware").get<std::string>());
}

std::string plugin_text(const Json& p) {
  const auto text = [&](const char* key) { return p.contains(key) ? p.at(key).get<std::string>() : std::string(); };
  std::string out =
      fmt::format("  {} {}\n", p.at("usable").get<bool>() ? "usable    " : "not usable", one_line(text("name")));
  if (!text("path").empty()) out += fmt::format("    library   {}\n", text("path"));
  if (p.contains("factories"))
    for (const Json& f : p.at("factories")) {
      std::vector<std::string> devices;
      for (const Json& d : f.at("devices")) devices.push_back(device_text(d));
      out += fmt::format("    provider  {} {} of {}, built with version {} of the API; devices: {}\n",
                         f.at("provider").get<std::string>(), f.at("version").get<std::string>(),
                         f.at("vendor").get<std::string>(), f.at("api_version").dump(),
                         devices.empty() ? "none" : fmt::format("{}", fmt::join(devices, ", ")));
    }
  if (!text("reason").empty()) out += fmt::format("    because   {}\n", one_line(text("reason")));
  if (!text("remedy").empty()) out += fmt::format("    remedy    {}\n", one_line(text("remedy")));
  return out;
}

std::string report(const Json& facts) {
  std::string text;
  if (facts.contains("system")) {
    const Json& s = facts.at("system");
    const Json &cpu = s.at("cpu"), &threads = s.at("threads"), &extras = s.at("extras");
    const auto string = [](const Json& j) { return j.get<std::string>(); };
    text += fmt::format("trunnion {} (version {} of ONNX Runtime's C API)\n  library   {}\n", string(s.at("version")),
                        string(s.at("abi")), string(s.at("library")));
    std::vector<std::string> features = cpu.at("features").get<std::vector<std::string>>();
    text += fmt::format(
        "processor\n  {} family {} model {}: {}\n  kernels   {}{}\n  caches    {} L1, {} L2, {} L3\n",
        string(cpu.at("vendor")), cpu.at("family").dump(), cpu.at("model").dump(),
        features.empty() ? "no vector extensions beyond the baseline" : fmt::format("{}", fmt::join(features, ", ")),
        string(cpu.at("rung_in_use")),
        cpu.at("forced").is_null()
            ? ""
            : fmt::format(" (TRUNNION_CPU={}; the processor has {})", string(cpu.at("forced")), string(cpu.at("rung"))),
        bytes_text(cpu.at("l1d_bytes").get<double>()), bytes_text(cpu.at("l2_bytes").get<double>()),
        bytes_text(cpu.at("l3_bytes").get<double>()));
    for (const Json& unit : cpu.at("unverified"))
      text += fmt::format("  unverified kernels: {}; TRUNNION_CPU=amx turns them on\n", string(unit));
    text += fmt::format("threads\n  default   {}, by {}\n  limits    {} allowed CPUs, {} physical cores, quota {}\n",
                        threads.at("default").dump(), string(threads.at("why")), threads.at("allowed_cpus").dump(),
                        threads.at("physical_cores").dump(),
                        threads.at("quota").is_null() ? "none" : threads.at("quota").dump() + " CPUs");
    if (extras.at("found").get<bool>()) {
      text += fmt::format("extras library\n  found     {}\n", string(extras.at("library")));
      for (const Json& m : extras.at("missing")) text += fmt::format("  lacks     {}\n", one_line(string(m)));
    } else {
      text += fmt::format("extras library (regular expressions and pictures)\n  not found {}\n",
                          one_line(string(extras.at("error"))));
    }
    text += "accelerators\n";
    for (const Json& a : s.at("accelerators"))
      text += fmt::format("  {} vendor {} device {} {}\n", string(a.at("kind")), string(a.at("vendor_id")),
                          string(a.at("device_id")), string(a.at("pci_bus_id")));
    if (s.at("accelerators").empty()) text += "  none that the system shows\n";
    if (!s.at("environment").empty()) text += "environment\n";
    for (const auto& [key, value] : s.at("environment").items())
      text += fmt::format("  {}={}\n", key, one_line(string(value)));
    text += "providers\n  usable     CPUExecutionProvider, built in\n";
  }
  for (const Json& p : facts.at("plugins")) text += plugin_text(p);
  std::string absent;
  if (facts.contains("not_installed"))
    for (const Json& p : facts.at("not_installed"))
      absent += fmt::format("  {}: pip install {}\n", p.at("provider").get<std::string>(),
                            p.at("package").get<std::string>());
  if (!absent.empty()) text += "not installed\n" + absent;
  if (facts.contains("not_available")) {
    text += "not available as plugins\n";
    for (const Json& p : facts.at("not_available"))
      text += fmt::format("  {}: {}; instead: {}\n", p.at("provider").get<std::string>(),
                          p.at("reason").get<std::string>(), p.at("remedy").get<std::string>());
  }
  return text;
}

int doctor(const DoctorChoices& choices) {
  const Engine engine(false);
  Json facts = Json::object();
  if (!choices.only_plugins) facts["system"] = parse_json(environment_json(engine), "the engine's report");
  facts["plugins"] = Json::array();
  bool usable = true;
  for (const std::string& text : choices.plugins) {
    const auto [name, path] = split_first(text, "--plugin", "NAME=PATH");
    const char* no_device = nullptr;
    for (const KnownPlugin& known : known_plugins())
      if (path.ends_with(known.library)) no_device = known.no_device;
    facts["plugins"].push_back(choices.only_plugins ? examine(engine, name, path, no_device)
                                                    : examine_apart(name, path));
    usable &= facts["plugins"].back().at("usable").get<bool>();
  }
  if (!choices.only_plugins) {
    facts["not_installed"] = Json::array();
    const auto folders = package_folders();
    for (const KnownPlugin& known : known_plugins()) {
      const std::string path = find_library(known, folders);
      if (path.empty())
        facts["not_installed"].push_back({{"provider", known.provider}, {"package", known.package}});
      else
        facts["plugins"].push_back(examine_apart(known.registration, path));
    }
    facts["not_available"] = Json::array();
    for (const UnavailableProvider& p : unavailable_providers())
      facts["not_available"].push_back({{"provider", p.provider}, {"reason", p.reason}, {"remedy", p.remedy}});
  }
  const std::string text = choices.json ? json_text(facts) + "\n" : report(facts);
  std::fwrite(text.data(), 1, text.size(), stdout);
  return usable ? kOk : kUnusable;
}

}  // namespace

void add_doctor(CLI::App& app, Action& action) {
  CLI::App& verb = *app.add_subcommand("doctor", "Shows what works on this machine, and what does not and why");
  const auto c = std::make_shared<DoctorChoices>();
  verb.add_option("--plugin", c->plugins, "A library of execution providers to examine; may be repeated")
      ->type_name("NAME=PATH")
      ->allow_extra_args(false);
  verb.add_flag("--only-plugins", c->only_plugins, "Examine nothing but what --plugin names, in this process");
  verb.add_flag("--json", c->json, "Print JSON");
  verb.footer(kFooter);
  verb.callback([c, &action] { action = [c] { return doctor(*c); }; });
}

}  // namespace trunnion::cli

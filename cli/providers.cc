#include "providers.h"

#include <algorithm>
#include <filesystem>

#include "failure.h"
#include "json_array.h"
#include "session_options.h"

namespace trunnion::cli {
namespace {

constexpr const char* kCpu = "CPUExecutionProvider";

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

struct Remedy {
  std::string_view part, advice;
};
// By what the loader, or the library, says.
constexpr Remedy kRemedies[] = {
    {"libcuda.so", "the driver of the NVIDIA GPU is not installed, or not visible in this container"},
    {"libnvidia-ml.so", "the driver of the NVIDIA GPU is not installed, or not visible in this container"},
    {"libcudart.so",
     "install the CUDA runtime of that version (for Python: nvidia-cuda-runtime), or put its folder "
     "into LD_LIBRARY_PATH"},
    {"libcublas", "install cuBLAS of that version, or put its folder into LD_LIBRARY_PATH"},
    {"libcudnn", "install cuDNN of that version, or put its folder into LD_LIBRARY_PATH"},
    {"libtensorrt", "put the folder of the package, with links of that name, into LD_LIBRARY_PATH"},
    {"libopenvino", "leave the library in the folder of its package: it finds libopenvino beside itself"},
    {"libvulkan.so", "install the Vulkan loader (Debian package libvulkan1)"},
    {"libgomp", "install OpenMP's runtime (Debian package libgomp1)"},
    {"CUDA Driver library not found",
     "the driver of the NVIDIA GPU is not installed, or not visible in this container"},
    {"GLIBC_", "the library is built for a newer system: a newer libc is needed"},
    {"GLIBCXX_", "the library is built for a newer compiler: a newer libstdc++ is needed"},
    {"invalid ELF header", "the file is no library for this system"},
    {"file too short", "the file is no library for this system"},
    {"wrong ELF class", "the library is for another processor"},
    {"GetProvider", "use the plugin package of that provider instead; this file works with ONNX Runtime alone"},
    {"is no plugin of execution providers",
     "name the library of a plugin; one of operators, or of ONNX Runtime itself, is none"},
    {"does not exist", "check the path, or install the package that has it"},
    {"made no factory", "ask for a build of the plugin for this version of the API"},
};

}  // namespace

std::vector<std::string> split_list(const std::string& text, char by) {
  std::vector<std::string> parts;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(by, at), text.size());
    if (end > at) parts.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

std::string remedy_of(const std::string& error) {
  for (const Remedy& r : kRemedies)
    if (error.find(r.part) != error.npos) return std::string(r.advice);
  if (error.find("cannot open shared object file") != error.npos)
    return "install the library that is missing, or put its folder into LD_LIBRARY_PATH";
  return "";
}

std::string short_name(const std::string& provider) {
  constexpr std::string_view kEnding = "ExecutionProvider";
  return provider.size() > kEnding.size() && provider.ends_with(kEnding)
             ? provider.substr(0, provider.size() - kEnding.size())
             : provider;
}

void register_library(const Engine& engine, const std::string& name, const std::string& path) {
  // The loader would look for a bare name in the folders of the system.
  std::error_code error;
  const bool here = std::filesystem::exists(path, error);
  const std::string full = here ? std::filesystem::absolute(path, error).string() : path;
  check(ort().RegisterExecutionProviderLibrary(engine.get(), name.c_str(), full.c_str()));
}

std::vector<ProviderDevice> provider_devices(const Engine& engine) {
  const OrtEpDevice* const* devices = nullptr;
  size_t count = 0;
  check(ort().GetEpDevices(engine.get(), &devices, &count));
  const Json facts = parse_json(environment_json(engine), "the engine's report");
  std::vector<ProviderDevice> all;
  for (size_t i = 0; i < count; ++i) {
    ProviderDevice d{ort().EpDevice_EpName(devices[i]), "", devices[i]};
    for (const Json& plugin : facts.at("plugins"))
      for (const Json& factory : plugin.at("factories"))
        for (const Json& device : factory.at("devices"))
          if (device.at("provider") == d.provider) d.plugin = plugin.at("name").get<std::string>();
    all.push_back(std::move(d));
  }
  return all;
}

void ProviderChoices::add_options(CLI::App& verb) {
  verb.add_option("--plugin", plugins, "A library of execution providers to load; may be repeated")
      ->type_name("NAME=PATH")
      ->allow_extra_args(false);
  verb.add_option("--provider-option", options, "An option of a provider; may be repeated")
      ->type_name("PROVIDER.KEY=VALUE")
      ->allow_extra_args(false);
}

void ProviderChoices::register_plugins(const Engine& engine) const {
  for (const std::string& text : plugins) {
    const auto [name, path] = split_first(text, "--plugin", "NAME=PATH");
    try {
      register_library(engine, name, path);
    } catch (const Error& error) {
      const std::string remedy = remedy_of(error.what());
      unusable("--plugin {}: {}{}{} (see: trunnion doctor --plugin {})", text, error.what(), remedy.empty() ? "" : "; ",
               remedy, text);
    }
  }
}

std::vector<std::string> ProviderChoices::all(const Engine& engine) const {
  std::vector<std::string> names;
  const auto devices = provider_devices(engine);
  for (const std::string& text : plugins) {
    const auto plugin = split_first(text, "--plugin", "NAME=PATH").first;
    bool found = false;
    for (const ProviderDevice& d : devices)
      if (d.plugin == plugin && !found) {
        found = true;
        names.push_back(d.provider);
      }
    if (!found)
      unusable("the plugin '{}' has no device that it can use here (see: trunnion doctor --plugin {})", plugin, text);
  }
  names.emplace_back(kCpu);
  return names;
}

std::string ProviderChoices::full_name(const Engine& engine, const std::string& name, const std::string& given) const {
  std::vector<std::string> known;
  for (const ProviderDevice& d : provider_devices(engine)) {
    if (lower(d.provider) == lower(name) || lower(short_name(d.provider)) == lower(name)) return d.provider;
    if (std::ranges::find(known, d.provider) == known.end()) known.push_back(d.provider);
  }
  unusable("{}: there is no provider '{}', only {}{}", given, name, fmt::join(known, ", "),
           plugins.empty() ? "; others come with --plugin NAME=PATH" : "");
}

std::vector<std::pair<std::string, std::string>> ProviderChoices::options_of(const Engine& engine,
                                                                             const std::string& full) const {
  std::vector<std::pair<std::string, std::string>> found;
  for (const std::string& text : options) {
    const auto [left, value] = split_first(text, "--provider-option", "PROVIDER.KEY=VALUE");
    const size_t dot = left.find('.');
    if (dot == left.npos || dot == 0 || dot + 1 == left.size())
      bad_usage("--provider-option {}: it is to be given as PROVIDER.KEY=VALUE", text);
    if (full_name(engine, left.substr(0, dot), "--provider-option " + text) == full)
      found.emplace_back(left.substr(dot + 1), value);
  }
  return found;
}

void ProviderChoices::append(const Engine& engine, const std::vector<std::string>& names,
                             SessionOptions& session) const {
  const auto devices = provider_devices(engine);
  for (const std::string& full : names) {
    std::vector<const char*> keys, values;
    const auto pairs = options_of(engine, full);
    for (const auto& [key, value] : pairs) {
      keys.push_back(key.c_str());
      values.push_back(value.c_str());
    }
    if (full == kCpu) {
      check(ort().SessionOptionsAppendExecutionProvider(session.get(), "CPU", keys.data(), values.data(), keys.size()));
      continue;
    }
    const auto at = std::ranges::find(devices, full, &ProviderDevice::provider);
    check(ort().SessionOptionsAppendExecutionProvider_V2(session.get(), engine.get(), &at->device, 1, keys.data(),
                                                         values.data(), keys.size()));
  }
}

}  // namespace trunnion::cli

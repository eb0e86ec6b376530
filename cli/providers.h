// Which execution providers a verb uses: plugins that are registered, and the ordered list for a session.
#pragma once
#include <CLI/CLI.hpp>
#include <string>
#include <utility>
#include <vector>

#include "engine.h"

namespace trunnion::cli {

// A provider that sessions can have.
struct ProviderDevice {
  std::string provider;  // "OpenVINOExecutionProvider"
  std::string plugin;    // the name that its library is registered under; empty for the built-in one
  const OrtEpDevice* device = nullptr;
};
std::vector<ProviderDevice> provider_devices(const Engine& engine);

struct ProviderChoices {
  std::vector<std::string> plugins;  // NAME=PATH
  std::vector<std::string> options;  // PROVIDER.KEY=VALUE

  void add_options(CLI::App& verb);  // --plugin, --provider-option
  // Loads the plugins; an error names the library and what to do about it.
  void register_plugins(const Engine& engine) const;
  // The names of what the plugins bring, in order, then the CPU.
  std::vector<std::string> all(const Engine& engine) const;
  // Puts providers, by their full names, on the list of a session.
  void append(const Engine& engine, const std::vector<std::string>& names, SessionOptions& options) const;
  // The full name of a provider, which may be short and in any case: "openvino", "cpu". Fails with the option that
  // `given` is and the providers that there are.
  std::string full_name(const Engine& engine, const std::string& name, const std::string& given) const;

 private:
  std::vector<std::pair<std::string, std::string>> options_of(const Engine& engine, const std::string& full) const;
};

// Loads a library of execution providers. A path is one from the current folder even where it has no '/'.
void register_library(const Engine& engine, const std::string& name, const std::string& path);

std::string short_name(const std::string& provider);  // "OpenVINO"

std::vector<std::string> split_list(const std::string& text, char by);

// What to do about a library that cannot be loaded, from the text of the error; empty where nothing is known.
std::string remedy_of(const std::string& error);

}  // namespace trunnion::cli

// The plugins that are published as Python packages, and where such packages lie on this machine.
#pragma once
#include <span>
#include <string>
#include <vector>

namespace trunnion::cli {

struct KnownPlugin {
  const char* provider;      // as sessions name it
  const char* package;       // on PyPI
  const char* library;       // inside the folder of Python packages
  const char* registration;  // the name it is best registered under: some take it as the name of their provider
  const char* no_device;     // why it may find no device, and what helps
};
std::span<const KnownPlugin> known_plugins();

// Providers of ONNX Runtime that no plugin brings, and what serves instead.
struct UnavailableProvider {
  const char *provider, *reason, *remedy;
};
std::span<const UnavailableProvider> unavailable_providers();

// Folders of Python packages: of TRUNNION_PLUGIN_PATH (':' between them) and of the virtual environment that is active,
// of the user and of the system.
std::vector<std::string> package_folders();

// The path of a plugin's library, or nothing.
std::string find_library(const KnownPlugin& plugin, const std::vector<std::string>& folders);

}  // namespace trunnion::cli

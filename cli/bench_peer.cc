// Finds and opens the libraries of other engines.
#include "bench_peer.h"

#include <dlfcn.h>

#include <cstdio>
#include <filesystem>

#include "failure.h"
#include "text.h"

namespace trunnion::cli {
namespace {

struct Package {
  const char* engine;
  const char* name;     // of the Python package
  const char* pattern;  // of the library in it
  const char* option;
};
constexpr Package kPackages[] = {
    {"onnxruntime", "onnxruntime", "capi/libonnxruntime.so*", "--onnxruntime"},
    {"openvino", "openvino", "libs/libopenvino_c.so*", "--openvino"},
};

const Package& package_of(const std::string& engine) {
  for (const Package& p : kPackages)
    if (engine == p.engine) return p;
  bad_usage("--against {}: the engines that can be compared with are onnxruntime and openvino", engine);
}

// What a program prints, first line; `ended` is how it ended.
std::string first_line_of(const std::string& command, int& ended) {
  std::FILE* pipe = popen(command.c_str(), "r");
  std::string line;
  if (!pipe) return line;
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) {
    if (c == '\n') break;
    line += static_cast<char>(c);
  }
  while (std::fgetc(pipe) != EOF) {
  }
  ended = pclose(pipe);
  return line;
}

}  // namespace

void check_engine(const std::string& engine) { static_cast<void>(package_of(engine)); }

std::string find_library(const std::string& engine, const std::string& given, const std::string& python) {
  const Package& package = package_of(engine);
  if (!given.empty()) {
    if (!std::filesystem::is_regular_file(given)) unusable("{} {}: there is no such file", package.option, given);
    return given;
  }
  // The package is found, not imported.
  const std::string script = fmt::format(
      "import importlib.util as u, glob, os\n"
      "s = u.find_spec('{}')\n"
      "d = list(s.submodule_search_locations or []) if s else []\n"
      "f = [p for x in d for p in sorted(glob.glob(os.path.join(x, '{}')))]\n"
      "print(f[-1] if f else 'no library in ' + d[0] if d else 'no package')",
      package.name, package.pattern);
  int ended = 0;
  const std::string answer =
      first_line_of(shell_quoted(python) + " -c " + shell_quoted(script) + " 2>/dev/null", ended);
  const std::string help = fmt::format("install it there (pip install {}), or give --python PROGRAM or {} PATH",
                                       package.name, package.option);
  if (answer.empty() || ended != 0) unusable("'{}' cannot be run to look for {}: {}", python, package.name, help);
  if (answer == "no package") unusable("'{}' has no package {}: {}", python, package.name, help);
  if (answer.starts_with("no library in "))
    unusable("{} (expected {}): give {} PATH", answer, package.pattern, package.option);
  return answer;
}

void* open_library(const std::string& path, bool own_symbols_first) {
  int flags = RTLD_NOW | RTLD_LOCAL;
#ifdef RTLD_DEEPBIND
  if (own_symbols_first) flags |= RTLD_DEEPBIND;
#endif
  const std::string full = std::filesystem::absolute(path).string();
  void* library = dlopen(full.c_str(), flags);
  if (!library) {
    const char* why = dlerror();
    unusable("cannot load {}: {}", path, why ? why : "unknown reason");
  }
  return library;
}

void* symbol_of(void* library, const char* name, const std::string& path) {
  void* symbol = dlsym(library, name);
  if (!symbol) unusable("{} has no function {}", path, name);
  return symbol;
}

}  // namespace trunnion::cli

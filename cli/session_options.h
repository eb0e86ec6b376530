// Options that the verbs share: how a model is loaded.
#pragma once
#include <CLI/CLI.hpp>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "engine.h"

namespace trunnion::cli {

struct LoadChoices {
  std::string model;
  std::vector<std::string> dimensions, config;  // NAME=N, KEY=VALUE
  std::string level = "all";
  int threads = 0;
  bool verbose = false;

  void add_model(CLI::App& verb);                          // MODEL, --dim, --verbose
  std::vector<CLI::Option*> add_rewrites(CLI::App& verb);  // --level, --config
  void add_threads(CLI::App& verb);                        // --threads

  // With strict configuration. Unknown levels are refused by the parser; bad NAME=N and KEY=VALUE are bad usage.
  SessionOptions options() const;

  std::map<std::string, int64_t> sizes() const;  // what --dim says

  // Fails when --dim names something that is no free dimension of the model's inputs. One without a name is INPUT.AXIS.
  void check_dimensions(const Engine& engine) const;
};

// Splits NAME=REST at the last '='; bad usage of `option` when there is none.
std::pair<std::string, std::string> split(const std::string& text, const char* option);
// The same at the first '=', for texts of the form KEY=VALUE, NAME=PATH, ...: `form` stands in the error.
std::pair<std::string, std::string> split_first(const std::string& text, const char* option, const char* form);

}  // namespace trunnion::cli

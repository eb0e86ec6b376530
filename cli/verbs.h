// The verbs of the command line; each is a file of its own that adds its options to the parser.
#pragma once
#include <CLI/CLI.hpp>
#include <functional>

namespace trunnion::cli {

// What is to be done once the command line has been read; gives the exit code.
using Action = std::function<int()>;

void add_compare(CLI::App& app, Action& action);
void add_doctor(CLI::App& app, Action& action);
void add_explain(CLI::App& app, Action& action);
void add_bench(CLI::App& app, Action& action);
void add_inspect(CLI::App& app, Action& action);
void add_operators(CLI::App& app, Action& action);
void add_run(CLI::App& app, Action& action);

}  // namespace trunnion::cli

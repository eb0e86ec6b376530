// trunnion: looks at models, runs and measures them. Reads the command line, calls a verb, turns failures into one
// line.
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string>

#include "engine.h"
#include "failure.h"
#include "verbs.h"

namespace trunnion::cli {
namespace {

constexpr const char* kFooter =
    "trunnion VERB --help describes a verb.\n"
    "Exit codes: 0 done; 1 the model or an input cannot be used; 2 the command line is wrong.";

int fail(ExitCode code, std::string_view text) {
  std::fflush(stdout);
  std::fprintf(stderr, "trunnion: %s\n", one_line(text).c_str());
  return code;
}

// A verb's name for "trunnion VERB --help", or nothing.
std::string verb_of(const CLI::App& app) {
  const auto verbs = app.get_subcommands();
  return verbs.empty() ? "" : " " + verbs.front()->get_name();
}

std::string verbs_of(const CLI::App& app) {
  std::string verbs;
  for (const CLI::App* verb : app.get_subcommands({})) verbs += (verbs.empty() ? "" : " or ") + verb->get_name();
  return verbs;
}

// The parser would only say that the word was not expected.
void check_verb(const CLI::App& app, int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-') return;
  for (const CLI::App* verb : app.get_subcommands({}))
    if (verb->get_name() == argv[1]) return;
  bad_usage("there is no verb '{}', only {} (see: trunnion --help)", argv[1], verbs_of(app));
}

int start(int argc, char** argv) {
  CLI::App app("Looks at ONNX models, runs and measures them.", "trunnion");
  app.footer(kFooter);
  app.set_version_flag(
      "--version", [] { return version_text(); }, "Print the version of the engine and of its ABI");
  Action action;
  add_inspect(app, action);
  add_run(app, action);
  add_bench(app, action);
  add_explain(app, action);
  add_compare(app, action);
  add_doctor(app, action);
  add_operators(app, action);
  check_verb(app, argc, argv);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) {
      app.exit(error);
      return kOk;
    }
    return fail(kUsage, fmt::format("{} (see: trunnion{} --help)", one_line(error.what()), verb_of(app)));
  }
  if (!action) bad_usage("a verb is needed: {} (see: trunnion --help)", verbs_of(app));
  const int code = action();
  if (std::fflush(stdout) != 0 || std::ferror(stdout)) return fail(kUnusable, "cannot write to the standard output");
  return code;
}

int run_main(int argc, char** argv) {
  try {
    return start(argc, argv);
  } catch (const Failure& failure) {
    return fail(failure.code(), failure.what());
  } catch (const trunnion::Error& error) {
    return fail(kUnusable, error.what());
  } catch (const std::bad_alloc&) {
    return fail(kUnusable, "out of memory");
  } catch (const std::exception& error) {
    return fail(kUnusable, error.what());
  }
}

}  // namespace
}  // namespace trunnion::cli

int main(int argc, char** argv) {
  const int code = trunnion::cli::run_main(argc, argv);
  std::fflush(nullptr);
  std::_Exit(code);  // threads that a plugin's libraries leave behind do not survive the usual end
}

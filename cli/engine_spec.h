// What runs a model in a comparison: a provider and settings, "cpu:optimization=none", "openvino".
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "difference.h"
#include "feeds.h"
#include "providers.h"
#include "report.h"
#include "session_options.h"

namespace trunnion::cli {

struct EngineSpec {
  std::string text;      // as it was given
  std::string provider;  // full name
  std::string level = "all", rung;
  std::vector<std::pair<std::string, std::string>> config;
  int threads = 0;
  Rounding rounding = Rounding::order;

  // NAME[:KEY=VALUE[,KEY=VALUE]...] with the keys optimization, precision, rung, threads, and those of a session's
  // configuration. Others are bad usage of `option`.
  static EngineSpec parse(const char* option, const std::string& text, const Engine& engine,
                          const ProviderChoices& providers);
};

// Runs models as a spec says. Strict: the provider stands first, and the CPU takes what is left.
class SpecRunner {
 public:
  SpecRunner(const Engine& engine, const ProviderChoices& providers, LoadChoices load, EngineSpec spec)
      : engine_(engine), providers_(providers), load_(std::move(load)), spec_(std::move(spec)) {}
  // For parts of the model, which have the sizes of --dim in them.
  SpecRunner for_parts() const {
    SpecRunner runner(*this);
    runner.load_.dimensions.clear();
    return runner;
  }

  const EngineSpec& spec() const { return spec_; }
  SessionOptions options() const;
  // Every output, in order. The placement goes to `placement`, if that is wanted.
  std::vector<Result> run(const std::string& model, const std::vector<Feed>& feeds,
                          std::string* placement = nullptr) const;

 private:
  std::vector<Result> run_apart(const std::string& model, const std::vector<Feed>& feeds) const;
  const Engine& engine_;
  const ProviderChoices& providers_;
  LoadChoices load_;
  EngineSpec spec_;
};

}  // namespace trunnion::cli

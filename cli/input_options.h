// Options that say what a model is fed, as the verbs that run one share them.
#pragma once
#include <CLI/CLI.hpp>
#include <map>
#include <string>
#include <vector>

#include "feeds.h"

namespace trunnion::cli {

struct InputChoices {
  FeedOptions feeds;
  std::vector<std::string> ranges, shapes;  // as they were given

  void add_to(CLI::App& verb);                        // --input, --shape, --seed, --range and those of pictures
  void finish(std::map<std::string, int64_t> sizes);  // reads the texts into `feeds`; what is wrong is bad usage
};

// The first run. Random inputs of the least sizes are not what every model can take: an error then says what was
// assumed.
std::vector<Value> run_first(const LoadedModel& model, const std::vector<Feed>& feeds);

}  // namespace trunnion::cli

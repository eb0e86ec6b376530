// What a model is fed: from files, else seeded random values.
#pragma once
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "array.h"
#include "engine.h"
#include "image.h"
#include "random_array.h"

namespace trunnion::cli {

struct FeedOptions {
  std::vector<std::string> files;                     // NAME=FILE, or FILE alone where that says enough
  std::vector<std::pair<std::string, Range>> ranges;  // by name; an empty name: for all others
  std::vector<std::pair<std::string, Shape>> shapes;  // of random inputs and of pictures, likewise
  std::map<std::string, int64_t> sizes;  // of free dimensions, which are called INPUT.AXIS where they have no name
  uint64_t seed = 0;
  ImageOptions image;
};

struct Feed {
  std::string name, type, source;  // source: where the values come from and what was done to them
  Shape shape;                     // of a tensor
  std::vector<Array> arrays;       // the memory that value is made on
  Value value;
  std::vector<std::string> assumed;  // free dimensions that nothing gave a size, so that they are 1
};

// One feed for each input of the model, in order, and those of initializers that a file overrides.
std::vector<Feed> make_feeds(const LoadedModel& model, const FeedOptions& options);

std::string describe(const Feed& feed);  // "x  tensor(float) [1,3] random in 0:1, seed 0"

// What LoadedModel::run takes.
struct Arguments {
  std::vector<const char*> names;
  std::vector<const OrtValue*> values;
};
Arguments arguments_of(const std::vector<Feed>& feeds);

}  // namespace trunnion::cli

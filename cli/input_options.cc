#include "input_options.h"

#include <charconv>
#include <cmath>

#include "failure.h"

namespace trunnion::cli {
namespace {

double number(std::string_view text, const std::string& whole) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value))
    bad_usage("--range {}: it is to be given as LO:HI or NAME=LO:HI", whole);
  return value;
}

std::pair<std::string, Range> range_of(const std::string& text) {
  const size_t equals = text.rfind('=');
  const std::string_view limits = std::string_view(text).substr(equals == text.npos ? 0 : equals + 1);
  const size_t colon = limits.find(':');
  if (colon == limits.npos) number("", text);
  const Range range{number(limits.substr(0, colon), text), number(limits.substr(colon + 1), text)};
  if (range.low > range.high) bad_usage("--range {}: the first number is the lower one", text);
  return {equals == text.npos ? "" : text.substr(0, equals), range};
}

std::pair<std::string, Shape> shape_of(const std::string& text) {
  const size_t equals = text.rfind('=');
  std::string_view rest = std::string_view(text).substr(equals == text.npos ? 0 : equals + 1);
  Shape shape;
  while (!rest.empty()) {
    int64_t dimension = -1;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), dimension);
    rest.remove_prefix(static_cast<size_t>(end - rest.data()));
    const bool more = rest.size() > 1 && (rest[0] == ',' || rest[0] == 'x');
    if (error != std::errc() || dimension < 0 || (!rest.empty() && !more))
      bad_usage("--shape {}: it is to be given as 1,3,48,192 or NAME=1,3,48,192", text);
    if (more) rest.remove_prefix(1);
    shape.push_back(dimension);
  }
  return {equals == text.npos ? "" : text.substr(0, equals), shape};
}

}  // namespace

void InputChoices::add_to(CLI::App& verb) {
  verb.add_option("--input", feeds.files, "A file for an input; may be repeated")
      ->type_name("NAME=FILE")
      ->allow_extra_args(false);
  verb.add_option("--shape", shapes, "Of the random values of an input, or of a picture; may be repeated")
      ->type_name("[NAME=]1,3,48,192")
      ->allow_extra_args(false);
  verb.add_option("--seed", feeds.seed, "Of the random values; default 0")
      ->check([](const std::string& text) { return text.starts_with('-') ? "a seed is not negative" : ""; })
      ->type_name("N");
  verb.add_option("--range", ranges,
                  "Of the random values, for all inputs or one; integers include both ends; default 0:1")
      ->type_name("[NAME=]LO:HI")
      ->allow_extra_args(false);
  verb.add_option("--mean", feeds.image.mean, "Subtracted from a picture's scaled pixels: one value or one a channel")
      ->delimiter(',')
      ->type_name("R,G,B")
      ->allow_extra_args(false);
  verb.add_option("--std", feeds.image.std, "A picture's pixels are divided by it at last")
      ->delimiter(',')
      ->type_name("R,G,B")
      ->allow_extra_args(false);
  verb.add_option("--scale", feeds.image.scale,
                  "A picture's pixels are multiplied by it first; default 1/255, for integers 1")
      ->type_name("X");
  verb.add_flag("--bgr", feeds.image.bgr, "A picture's channels in the order blue, green, red");
}

void InputChoices::finish(std::map<std::string, int64_t> sizes) {
  for (const std::string& text : ranges) feeds.ranges.push_back(range_of(text));
  for (const std::string& text : shapes) feeds.shapes.push_back(shape_of(text));
  for (const double s : feeds.image.std)
    if (s == 0) bad_usage("--std: a channel cannot be divided by 0");
  feeds.sizes = std::move(sizes);
}

std::vector<Value> run_first(const LoadedModel& model, const std::vector<Feed>& feeds) {
  const Arguments arguments = arguments_of(feeds);
  std::vector<std::string> assumed;
  for (const Feed& feed : feeds) assumed.insert(assumed.end(), feed.assumed.begin(), feed.assumed.end());
  try {
    return model.run(arguments.names, arguments.values);
  } catch (const Error& error) {
    if (assumed.empty()) throw;
    unusable("{} (nothing gave the free dimensions {} a size, so they are 1: see --shape and --dim)", error.what(),
             fmt::join(assumed, ", "));
  }
}

}  // namespace trunnion::cli

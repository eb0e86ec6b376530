#include "random_array.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "failure.h"

namespace trunnion::cli {
namespace {

uint64_t hash(const std::string& text) {
  uint64_t h = 14695981039346656037ull;  // FNV-1a
  for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 1099511628211ull;
  return h;
}

}  // namespace

Array random_array(DataType type, Shape shape, Range range, uint64_t seed, const std::string& name) {
  const ElementFacts& facts = element_facts(type);
  if (facts.kind == ElementKind::text || facts.kind == ElementKind::none)
    unusable("input '{}' is a tensor({}), for which there are no random values: give it with --input", name,
             facts.name);
  std::mt19937_64 generator(seed ^ hash(name));
  const auto unit = [&] { return static_cast<double>(generator() >> 11) * 0x1p-53; };
  const size_t count = element_count(shape, "input '" + name + "'");
  std::vector<std::byte> bytes(storage_bytes(type, count));
  if (!is_integer(type)) {
    const auto real = [&] { return range.low + unit() * (range.high - range.low); };
    for (size_t i = 0; i < count; ++i) {
      if (!store_number(type, bytes.data(), i, real()))
        unusable("the range {:g}:{:g} has values that input '{}', a tensor({}), cannot hold", range.low, range.high,
                 name, facts.name);
      if (facts.kind == ElementKind::complex) store_number(type, bytes.data(), i, real(), 1);
    }
    return make_array(type, std::move(shape), std::move(bytes));
  }
  const double low = std::max(std::ceil(range.low), static_cast<double>(least(type)));
  const double high = std::min(std::floor(range.high), static_cast<double>(greatest(type)));
  if (low > high)
    unusable("the range {:g}:{:g} has no value for input '{}', a tensor({})", range.low, range.high, name, facts.name);
  const auto first = static_cast<Integer>(low);
  const auto span = std::min(static_cast<Integer>(high), greatest(type)) - first + 1;
  for (size_t i = 0; i < count; ++i)
    store_integer(type, bytes.data(), i, first + static_cast<Integer>(generator()) % span);
  return make_array(type, std::move(shape), std::move(bytes));
}

}  // namespace trunnion::cli

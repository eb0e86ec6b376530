// Permutations of dimensions for elements of each size.
#include <fmt/format.h>

#include <vector>

#include "kernels/transpose.h"
#include "measured.h"

namespace trunnion::bench {
namespace {

using namespace kernels;

void add_case(const char* name, std::vector<int64_t> dims, std::vector<int64_t> perm, size_t size) {
  int64_t bytes = static_cast<int64_t>(size);
  for (const int64_t d : dims) bytes *= d;
  add(fmt::format("{}/{}B", name, size), {0, 2.0 * static_cast<double>(bytes)}, [=] {
    TransposePlan plan;
    const bool valid = transpose_plan(dims.data(), perm.data(), static_cast<int>(dims.size()), size, plan);
    const auto x = buffer<char>(bytes), y = buffer<char>(bytes);
    return [=] {
      if (valid) transpose(plan, x.get(), y.get(), 0, plan.units);
    };
  });
}

}  // namespace

void suite() {
  for (const size_t size : {1, 2, 4, 8}) {
    add_case("2d_1024", {1024, 1024}, {1, 0}, size);
    add_case("2d_128x768", {128, 768}, {1, 0}, size);
    add_case("0213_128x12x64", {1, 128, 12, 64}, {0, 2, 1, 3}, size);
    add_case("0231_12x128x64", {1, 12, 128, 64}, {0, 1, 3, 2}, size);
    add_case("nchw_nhwc_64_56", {1, 64, 56, 56}, {0, 2, 3, 1}, size);
    add_case("nhwc_nchw_64_56", {1, 56, 56, 64}, {0, 3, 1, 2}, size);
    add_case("nchw_nhwc_3_224", {1, 3, 224, 224}, {0, 2, 3, 1}, size);
    add_case("shuffle_2x58_28", {1, 2, 58, 784}, {0, 2, 1, 3}, size);
  }
}

}  // namespace trunnion::bench

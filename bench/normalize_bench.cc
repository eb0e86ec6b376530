// Softmax and the normalizations.
#include <fmt/format.h>

#include "kernels/norm.h"
#include "kernels/softmax.h"
#include "measured.h"

namespace trunnion::bench {
namespace {

using namespace kernels;

constexpr int64_t kRows[][2] = {{128, 768}, {1536, 128}, {64, 4096}, {1, 1000}, {8400, 16}};

template <class F>
void add_rows(const char* name, double passes, F run) {
  for (const auto& [rows, cols] : kRows) {
    const int64_t r = rows, c = cols;
    add(fmt::format("{}/{}x{}", name, r, c), {0, 4.0 * passes * static_cast<double>(r * c)}, [=] {
      const auto x = random_floats(r * c), y = random_floats(r * c), z = random_floats(r * c), w = random_floats(c);
      return [=] { run(x.get(), y.get(), z.get(), w.get(), r, c); };
    });
  }
}

}  // namespace

void suite() {
  using In = const float*;
  add_rows("softmax", 2, [](In x, float* y, In, In, int64_t r, int64_t c) { softmax().rows(x, y, r, c); });
  add_rows("log_softmax", 2, [](In x, float* y, In, In, int64_t r, int64_t c) { softmax().log_rows(x, y, r, c); });
  add_rows("softmax_columns", 2,
           [](In x, float* y, In, In, int64_t r, int64_t c) { softmax().strided(x, y, 1, r, c); });
  add_rows("layer", 2, [](In x, float* y, In, In w, int64_t r, int64_t c) {
    norm().layer(x, w, w, y, nullptr, nullptr, r, c, 1e-5f);
  });
  add_rows("rms", 2, [](In x, float* y, In, In w, int64_t r, int64_t c) { norm().rms(x, w, y, nullptr, r, c, 1e-5f); });
  add_rows("skip_layer", 3, [](In x, float* y, In z, In w, int64_t r, int64_t c) {
    norm().skip(x, z, nullptr, w, w, y, nullptr, nullptr, nullptr, r, c, r, 1e-5f, false);
  });
  add_rows("moments", 1, [](In x, float* y, In, In, int64_t r, int64_t c) { norm().moments(x, r * c, y, y + 1); });
  add_rows("scale_shift_columns", 2,
           [](In x, float* y, In, In w, int64_t r, int64_t c) { norm().scale_shift_columns(x, y, r, c, w, w); });
}

}  // namespace trunnion::bench

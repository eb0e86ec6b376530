#include "kernels/recurrent_state.h"

#include "kernels/rung_test.h"

namespace trunnion::kernels {
namespace {

TEST(RecurrentState, UpdateAndRead) {
  for_each_rung([] {
    for (int64_t cols : {0, 1, 3, 8, 15, 16, 17, 64, 70})
      for (int64_t rows : {0, 1, 5})
        for (int mode = 0; mode < 6; ++mode) {
          const int64_t stride = cols + 3;
          const bool decays = mode % 3 != 0, by_row = mode % 3 == 2, corrects = mode >= 3;
          auto state = random_floats(static_cast<size_t>(rows * stride), -1, 1, 1);
          const auto decay = random_floats(static_cast<size_t>(rows + 1), 0, 1, 2),
                     key = random_floats(static_cast<size_t>(rows), -1, 1, 3),
                     value = random_floats(static_cast<size_t>(cols), -1, 1, 4),
                     query = random_floats(static_cast<size_t>(rows), -1, 1, 5);
          std::vector<double> want(state.begin(), state.end());
          for (int64_t c = 0; c < cols; ++c) {
            double given = 0;
            for (int64_t r = 0; r < rows; ++r) {
              double& x = want[static_cast<size_t>(r * stride + c)];
              if (decays) x *= decay[static_cast<size_t>(by_row ? r : 0)];
              given += x * key[static_cast<size_t>(r)];
            }
            const double update =
                corrects ? 0.25 * (value[static_cast<size_t>(c)] - given) : value[static_cast<size_t>(c)];
            for (int64_t r = 0; r < rows; ++r)
              want[static_cast<size_t>(r * stride + c)] += key[static_cast<size_t>(r)] * update;
          }
          StateStep s{state.data(), rows,       cols,         stride,   decays ? decay.data() : nullptr,
                      by_row,       key.data(), value.data(), corrects, 0.25f};
          std::vector<float> first(static_cast<size_t>(cols) + 1, 7);
          if (mode % 2 == 0) {
            s.query = query.data();
            s.scale = 0.5f;
            s.y = first.data();
          }
          recurrent_state().update(s);
          for (size_t i = 0; i < want.size(); ++i) ASSERT_NEAR(state[i], want[i], 2e-6) << i;
          std::vector<float> y(static_cast<size_t>(cols) + 1, 7);
          recurrent_state().read(state.data(), rows, cols, stride, query.data(), 0.5f, y.data());
          for (int64_t c = 0; c < cols; ++c) {
            double sum = 0;
            for (int64_t r = 0; r < rows; ++r)
              sum += 0.5 * query[static_cast<size_t>(r)] * state[static_cast<size_t>(r * stride + c)];
            ASSERT_NEAR(y[static_cast<size_t>(c)], sum, 2e-6);
          }
          EXPECT_EQ(y.back(), 7);
          EXPECT_EQ(first.back(), 7);
          for (size_t c = 0; mode % 2 == 0 && c < first.size(); ++c) ASSERT_NEAR(first[c], y[c], 2e-6);
        }
  });
}

}  // namespace
}  // namespace trunnion::kernels

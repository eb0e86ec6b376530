// DFT, STFT, windows and the mel matrix.
#include <complex>

#include "ops/test_tensors.h"

namespace trunnion::ops::test {
namespace {

using Complex = std::complex<double>;

std::vector<Complex> transform(const std::vector<Complex>& x, bool inverse) {
  const size_t n = x.size();
  std::vector<Complex> y(n);
  for (size_t k = 0; k < n; ++k) {
    for (size_t i = 0; i < n; ++i)
      y[k] +=
          x[i] * std::polar(1.0, (inverse ? 2 : -2) * M_PI * static_cast<double>(i * k % n) / static_cast<double>(n));
    if (inverse) y[k] /= static_cast<double>(n);
  }
  return y;
}

TEST(Dft, AnyLength) {
  for (int64_t n : {1, 2, 3, 5, 8, 12, 17, 30, 64}) {
    std::vector<double> v;
    std::vector<Complex> x;
    for (int64_t i = 0; i < n; ++i) {
      x.push_back({static_cast<double>(i * 7 % 11 - 5), static_cast<double>(i * 3 % 5)});
      v.push_back(x.back().real());
      v.push_back(x.back().imag());
    }
    for (bool inverse : {false, true}) {
      const auto y = values<double>(output({.op = "DFT",
                                            .opset = 17,
                                            .inputs = {tensor<double>({1, n, 2}, v)},
                                            .attrs = {{"inverse", int64_t{inverse}}}}));
      const auto want = transform(x, inverse);
      for (int64_t k = 0; k < n; ++k) {
        EXPECT_NEAR(y[2 * k], want[k].real(), 1e-10) << n;
        EXPECT_NEAR(y[2 * k + 1], want[k].imag(), 1e-10) << n;
      }
    }
  }
}

TEST(Dft, OneSidedAndBack) {
  const Tensor x = tensor<float>({1, 6, 1}, {1, 2, 4, -1, 0, 3});
  const auto half = output({.op = "DFT", .opset = 20, .inputs = {x}, .attrs = {{"onesided", int64_t{1}}}});
  EXPECT_EQ(shape(half), (Ints{1, 4, 2}));
  EXPECT_NEAR(values<float>(half)[0], 9, 1e-5);
  const auto back = output(
      {.op = "DFT", .opset = 20, .inputs = {half}, .attrs = {{"onesided", int64_t{1}}, {"inverse", int64_t{1}}}});
  EXPECT_EQ(shape(back), (Ints{1, 6, 1}));
  for (int i = 0; i < 6; ++i) EXPECT_NEAR(values<float>(back)[i], x.data<float>()[i], 1e-5);
  // Another axis, and a length that cuts or pads.
  const auto y =
      output({.op = "DFT",
              .opset = 20,
              .inputs = {tensor<float>({2, 2, 1}, {1, 2, 3, 4}), tensor<int64_t>({}, {4}), tensor<int64_t>({}, {0})}});
  EXPECT_EQ(shape(y), (Ints{4, 2, 2}));
  EXPECT_NEAR(values<float>(y)[0], 4, 1e-5);
  EXPECT_NEAR(values<float>(y)[2], 6, 1e-5);
  EXPECT_NE(
      failure({.op = "DFT", .opset = 20, .inputs = {x, Tensor(), tensor<int64_t>({}, {2})}}).find("real and imaginary"),
      std::string::npos);
}

TEST(Stft, Frames) {
  const Tensor x = tensor<float>({1, 6, 1}, {1, 2, 3, 4, 5, 6});
  const auto y =
      output({.op = "STFT", .opset = 17, .inputs = {x, tensor<int64_t>({}, {2}), tensor<float>({2}, {1, 2})}});
  EXPECT_EQ(shape(y), (Ints{1, 3, 2, 2}));
  EXPECT_EQ(values<float>(y), (Floats{5, 0, -3, 0, 11, 0, -5, 0, 17, 0, -7, 0}));
  EXPECT_EQ(shape(output({.op = "STFT",
                          .opset = 17,
                          .inputs = {x, tensor<int64_t>({}, {1}), Tensor(), tensor<int64_t>({}, {4})},
                          .attrs = {{"onesided", int64_t{0}}}})),
            (Ints{1, 3, 4, 2}));
  EXPECT_NE(
      failure({.op = "STFT", .opset = 17, .inputs = {x, tensor<int64_t>({}, {1}), Tensor(), tensor<int64_t>({}, {7})}})
          .find("longer than the signal"),
      std::string::npos);
}

TEST(Windows, Values) {
  const auto window = [](const char* op, bool periodic) {
    return values<float>(output(
        {.op = op, .opset = 17, .inputs = {tensor<int32_t>({}, {4})}, .attrs = {{"periodic", int64_t{periodic}}}}));
  };
  EXPECT_NEAR(window("HannWindow", true)[1], .5, 1e-6);
  EXPECT_NEAR(window("HannWindow", true)[2], 1, 1e-6);
  EXPECT_NEAR(window("HannWindow", false)[3], 0, 1e-6);
  EXPECT_NEAR(window("HammingWindow", true)[0], 4 / 46., 1e-6);
  EXPECT_NEAR(window("BlackmanWindow", true)[2], 1, 1e-6);
  EXPECT_NEAR(window("BlackmanWindow", false)[1], .63, 1e-6);
}

TEST(Dft, ShapeWhereTheAxisIsNotKnown) {
  const OpRun whole{.op = "DFT", .opset = 20};
  EXPECT_EQ(inferred(whole, {fact({2, 10, 1}), {}, fact({}, DType::i64)}), "{2,10,2}");
  EXPECT_EQ(inferred(whole, {fact({2, 10, 1}), fact({}, DType::i64), fact({}, DType::i64)}), "{?,?,2}");
}

TEST(MelWeightMatrix, Triangles) {
  const auto y = output({.op = "MelWeightMatrix",
                         .opset = 17,
                         .inputs = {tensor<int32_t>({}, {8}), tensor<int32_t>({}, {16}), tensor<int32_t>({}, {8192}),
                                    tensor<float>({}, {0}), tensor<float>({}, {4096})}});
  EXPECT_EQ(shape(y), (Ints{9, 8}));
  const auto v = values<float>(y);
  EXPECT_EQ(Floats(v.begin(), v.begin() + 16), (Floats{1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0}));
  EXPECT_EQ(Floats(v.begin() + 32, v.begin() + 40), (Floats{0, 0, 0, 0, 0, 0, 1, 0}));
}

TEST(DFT, ComplexSignalsOfHandyLengthsAgainstTheSum) {
  for (const int64_t n : {1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 16, 20, 30, 32, 45, 48, 64, 100})
    for (const bool inverse : {false, true}) {
      Floats x(static_cast<size_t>(2 * n));
      for (size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<float>(i * i % 17));
      auto t = Tensor::allocate(DType::f32, std::vector<int64_t>{1, n, 2});
      ASSERT_TRUE(t.ok());
      std::copy(x.begin(), x.end(), t->data<float>());
      const auto y =
          values<float>(output({.op = "DFT", .opset = 17, .inputs = {*t}, .attrs = {{"inverse", int64_t{inverse}}}}));
      for (int64_t k = 0; k < n; ++k) {
        double re = 0, im = 0;
        for (int64_t i = 0; i < n; ++i) {
          const double angle =
              (inverse ? 2 : -2) * 3.14159265358979323846 * static_cast<double>(i * k % n) / static_cast<double>(n);
          const double a = x[static_cast<size_t>(2 * i)], b = x[static_cast<size_t>(2 * i + 1)];
          re += a * std::cos(angle) - b * std::sin(angle);
          im += a * std::sin(angle) + b * std::cos(angle);
        }
        const double scale = inverse ? 1.0 / static_cast<double>(n) : 1.0;
        EXPECT_NEAR(y[static_cast<size_t>(2 * k)], re * scale, 3e-5) << n << " " << k;
        EXPECT_NEAR(y[static_cast<size_t>(2 * k + 1)], im * scale, 3e-5) << n << " " << k;
      }
    }
}

}  // namespace
}  // namespace trunnion::ops::test

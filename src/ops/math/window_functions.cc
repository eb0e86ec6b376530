// HannWindow, HammingWindow, BlackmanWindow and MelWeightMatrix (ai.onnx 17): tables for signal processing.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "ops/dispatch.h"
#include "ops/op.h"
#include "ops/shape.h"

namespace trunnion::ops {
namespace {

constexpr DTypes kIndex = DType::i32 | DType::i64;

Result<DType> read_type(const ir::Node& n) {
  const int64_t code = n.attr("output_datatype", 1);
  const auto type = dtype_from_code(code);
  if (!type || !kNumeric.has(*type))
    return invalid_argument("attribute output_datatype is {}, expected a number type", code);
  return *type;
}

Status infer_window(const ir::Node& n, ir::Facts& f) {
  TRN_ASSIGN(const DType type, read_type(n));
  const auto size = f.dims(0);
  if (size && size->size() != 1) return invalid_argument("size has {} elements, needs one", size->size());
  if (size && (*size)[0].is_int() && (*size)[0].value() < 0)
    return invalid_argument("size is {}, expected at least 0", (*size)[0].value());
  f.set(0, type, SymShape{size ? (*size)[0] : Dim()});
  return {};
}

template <class T>
T number(double v) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(to_int64(v));
  else
    return static_cast<T>(static_cast<Compute<T>>(v));
}

// a0 - a1 cos(2 pi i / n) + a2 cos(4 pi i / n), n = size, or size - 1 for symmetric ones.
class WindowKernel final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& node) {
    const bool periodic = node.attr("periodic", 1) != 0;
    if (node.op_type() == "HannWindow") return std::unique_ptr<Kernel>(new WindowKernel(periodic, {0.5, 0.5, 0}));
    if (node.op_type() == "HammingWindow")
      return std::unique_ptr<Kernel>(new WindowKernel(periodic, {25.0 / 46, 1 - 25.0 / 46, 0}));
    return std::unique_ptr<Kernel>(new WindowKernel(periodic, {0.42, 0.5, 0.08}));
  }

  Status run(KernelContext& ctx) const override {
    const TensorView& y = ctx.out(0);
    const double n = static_cast<double>(periodic_ ? y.count : y.count - 1);
    return dispatch<kNumeric.bits()>(y.dtype, [&]<class T>() {
      for (int64_t i = 0; i < y.count; ++i) {
        const double angle = 2 * std::numbers::pi * static_cast<double>(i) / n;
        y.as<T>()[i] = number<T>(n == 0 ? 1.0 : a_.zero - a_.one * std::cos(angle) + a_.two * std::cos(2 * angle));
      }
    });
  }

 private:
  struct Factors {
    double zero, one, two;
  };
  WindowKernel(bool periodic, Factors a) : periodic_(periodic), a_(a) {}
  bool periodic_;
  Factors a_;
};

Status infer_mel(const ir::Node& n, ir::Facts& f) {
  TRN_ASSIGN(const DType type, read_type(n));
  Dim sizes[2];
  for (int i = 0; i < 2; ++i) {
    const auto v = f.dims(i);
    if (v && v->size() != 1) return invalid_argument("input {} has {} elements, needs one", i, v->size());
    if (v && (*v)[0].is_int() && (*v)[0].value() < 0)
      return invalid_argument("input {} is {}, expected at least 0", i, (*v)[0].value());
    if (v) sizes[i] = (*v)[0];
  }
  f.set(0, type, SymShape{floor_div(sizes[1], Dim(2)) + Dim(1), sizes[0]});
  return {};
}

class MelKernel final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node&) { return std::unique_ptr<Kernel>(new MelKernel); }

  Status run(KernelContext& ctx) const override {
    double in[5];
    for (int i = 0; i < 5; ++i) {
      const TensorView& v = ctx.in(i);
      if (v.count != 1) return invalid_argument("input {} has {} elements, needs one", i, v.count);
      TRN_TRY((dispatch<(kIndex | kFloats).bits()>(
          v.dtype, [&]<class T>() { in[i] = static_cast<double>(static_cast<Compute<T>>(*v.as<T>())); })));
    }
    const TensorView& y = ctx.out(0);
    if (!(in[2] > 0)) return invalid_argument("sample_rate is {}, expected a positive number", in[2]);
    const int64_t rows = y.dim(0), bands = y.dim(1);
    const auto mel = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
    const double low = mel(in[3]), step = (mel(in[4]) - low) / static_cast<double>(bands + 2);
    const auto edge = [&](int64_t i) {
      const double hertz = 700 * (std::pow(10, (low + static_cast<double>(i) * step) / 2595) - 1);
      return to_int64(std::floor((in[1] + 1) * hertz / in[2]));
    };
    return dispatch<kNumeric.bits()>(y.dtype, [&]<class T>() {
      std::fill_n(y.as<T>(), y.count, T{});
      const auto put = [&](int64_t row, int64_t band, double v) {
        if (row >= 0 && row < rows) y.as<T>()[row * bands + band] = number<T>(v);
      };
      for (int64_t b = 0; b < bands; ++b) {
        const int64_t left = edge(b), center = edge(b + 1), right = edge(b + 2);
        if (left == center)
          put(center, b, 1);
        else
          for (int64_t r = std::max<int64_t>(left, 0); r <= std::min(center, rows - 1); ++r)
            put(r, b, static_cast<double>(r - left) / static_cast<double>(center - left));
        for (int64_t r = std::max<int64_t>(center, 0); r < std::min(right, rows); ++r)
          put(r, b, static_cast<double>(right - r) / static_cast<double>(right - center));
      }
    });
  }
};

constexpr OpDef kDefs[] = {
    {"HannWindow", infer_window, cpu<WindowKernel>(kIndex), {.reviewed = 17}},
    {"HammingWindow", infer_window, cpu<WindowKernel>(kIndex), {.reviewed = 17}},
    {"BlackmanWindow", infer_window, cpu<WindowKernel>(kIndex), {.reviewed = 17}},
    {"MelWeightMatrix", infer_mel, cpu<MelKernel>(kIndex), {.reviewed = 17}},
};

}  // namespace

TRUNNION_OPS(window_functions, kDefs);
}  // namespace trunnion::ops

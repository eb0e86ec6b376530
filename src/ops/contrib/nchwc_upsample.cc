// Upsample (com.microsoft.nchwc 1): height and width times whole numbers, nearest or bilinear; every block of channels
// is a picture with channels last.
#include <algorithm>
#include <vector>

#include "ops/contrib/nchwc_detail.h"
#include "ops/shape.h"

namespace trunnion::ops {
namespace {

struct Params {
  enum class Coords : uint8_t { asymmetric, half_pixel, align_corners } coords = Coords::asymmetric;
  bool linear = false;
  int64_t scale[2] = {1, 1};  // height, width
};
Result<Params> read(const ir::Node& n) {
  Params p;
  const std::string mode = n.attr("mode", "nearest"), coords = n.attr("coordinate_transformation_mode", "asymmetric");
  if (mode != "nearest" && mode != "linear")
    return invalid_argument("attribute mode is '{}', expected nearest or linear", mode);
  p.linear = mode == "linear";
  if (coords == "half_pixel")
    p.coords = Params::Coords::half_pixel;
  else if (coords == "align_corners")
    p.coords = Params::Coords::align_corners;
  else if (coords != "asymmetric")
    return invalid_argument("attribute coordinate_transformation_mode is '{}', which is unknown", coords);
  const auto scales = n.ints("scales");
  if (scales.empty()) return p;
  if (scales.size() != 4 || scales[0] != 1 || scales[1] != 1 || scales[2] < 1 || scales[3] < 1 ||
      scales[2] > INT32_MAX || scales[3] > INT32_MAX)
    return invalid_argument("attribute scales is [{}], expected [1,1,height,width]", fmt::join(scales, ","));
  p.scale[0] = scales[2];
  p.scale[1] = scales[3];
  return p;
}

Status infer(const ir::Node& n, ir::Facts& f) {
  TRN_ASSIGN(const Params p, read(n));
  f.set(0, f.dtype(0));
  TRN_TRY(expect_rank(f, 0, 4));
  if (!f.has_rank(0)) return {};
  SymShape y = f.in(0).shape();
  y[2] = y[2] * Dim(p.scale[0]);
  y[3] = y[3] * Dim(p.scale[1]);
  f.set(0, f.dtype(0), std::move(y));
  return {};
}

// What an output position reads along one axis.
struct Tap {
  int64_t low, high;
  float weight;  // of high
};

class NchwcUpsampleCpu final : public Kernel {
 public:
  struct State final : KernelState {
    std::vector<Tap> rows, cols;
  };

  static Result<std::unique_ptr<Kernel>> make(const ir::Node& n) {
    TRN_ASSIGN(const Params p, read(n));
    return std::unique_ptr<Kernel>(new NchwcUpsampleCpu(p, nchwc_block(n)));
  }

  Result<std::unique_ptr<KernelState>> prepare(PrepareContext& ctx) const override {
    auto s = std::make_unique<State>();
    if (ctx.out(0).count == 0) return std::unique_ptr<KernelState>(std::move(s));
    s->rows = taps(ctx.in(0).dim(2), p_.scale[0]);
    s->cols = taps(ctx.in(0).dim(3), p_.scale[1]);
    return std::unique_ptr<KernelState>(std::move(s));
  }

  Status run(KernelContext& ctx) const override {
    const State& s = *ctx.state<State>();
    const TensorView &x = ctx.in(0), &y = ctx.out(0);
    if (y.count == 0) return {};
    if (x.dim(1) % block_ != 0)
      return invalid_argument("{} channels are no multiple of the block of {}", x.dim(1), block_);
    const int64_t pictures = x.dim(0) * x.dim(1) / block_, rows = y.dim(2), width = x.dim(3) * block_;
    ctx.parallel_for(pictures * rows, std::max<int64_t>(1, 16384 / (y.dim(3) * block_)),
                     [&](int64_t begin, int64_t end) {
                       for (int64_t i = begin; i < end; ++i) {
                         const float* picture = x.as<float>() + i / rows * x.dim(2) * width;
                         const Tap& v = s.rows[static_cast<size_t>(i % rows)];
                         row(picture + v.low * width, picture + v.high * width, v.weight, s.cols,
                             y.as<float>() + i * y.dim(3) * block_);
                       }
                     });
    return {};
  }

 private:
  NchwcUpsampleCpu(Params p, int64_t block) : p_(p), block_(block) {}

  std::vector<Tap> taps(int64_t in, int64_t scale) const {
    std::vector<Tap> out;
    const int64_t count = in * scale;
    for (int64_t o = 0; o < count; ++o) {
      if (!p_.linear || scale == 1) {
        out.push_back({o / scale, o / scale, 0});
        continue;
      }
      const auto at = static_cast<float>(o), factor = static_cast<float>(scale);
      using Coords = Params::Coords;
      const float v = p_.coords == Coords::align_corners
                          ? at * static_cast<float>(in - 1) / static_cast<float>(count - 1)
                      : p_.coords == Coords::half_pixel ? std::max(0.0f, (at + 0.5f) / factor - 0.5f)
                                                        : at / factor;
      const int64_t low = std::min(static_cast<int64_t>(v), in - 1), high = std::min(low + 1, in - 1);
      out.push_back({low, high, v - static_cast<float>(low)});
    }
    return out;
  }

  void row(const float* top, const float* bottom, float below, const std::vector<Tap>& cols, float* y) const {
    for (const Tap& h : cols) {
      const float *a = top + h.low * block_, *b = top + h.high * block_, *c = bottom + h.low * block_,
                  *d = bottom + h.high * block_;
      if (!p_.linear) {
        y = std::copy_n(a, block_, y);
        continue;
      }
      for (int64_t i = 0; i < block_; ++i) {
        const float upper = a[i] + (b[i] - a[i]) * h.weight, lower = c[i] + (d[i] - c[i]) * h.weight;
        *y++ = upper + (lower - upper) * below;
      }
    }
  }

  Params p_;
  int64_t block_;
};

constexpr OpDef kDefs[] = {
    {"Upsample",
     infer,
     cpu<NchwcUpsampleCpu>(kF32),
     {.reviewed = 1},
     "com.microsoft.nchwc",
     "com.microsoft.nchwc::Upsample 1 (X:T) -> (Y:T) {coordinate_transformation_mode:s='asymmetric', mode:s='nearest', "
     "scales:is} T=f32"},
};

}  // namespace

TRUNNION_OPS(nchwc_upsample, kDefs);

}  // namespace trunnion::ops

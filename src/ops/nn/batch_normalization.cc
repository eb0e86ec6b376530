// BatchNormalization (ai.onnx 1, 6, 7, 9, 14, 15): y = scale (x - mean) / sqrt(var + epsilon) + B by channel, with
// given statistics, or (training) with those of the batch, which then also update the running ones.
#include <algorithm>
#include <cmath>

#include "kernels/convert.h"
#include "kernels/norm.h"
#include "ops/dispatch.h"
#include "ops/shape.h"
#include "ops/widen.h"

namespace trunnion::ops {
namespace {

struct Params {
  float epsilon, momentum;
  bool training;
  bool spatial;  // false: statistics for every position of the image, not per channel
};
Params read(const ir::Node& n) {
  Params p{n.attr("epsilon", 1e-5f), n.attr("momentum", 0.9f), false, true};
  if (n.since() >= 14) {
    p.training = n.attr("training_mode", 0) != 0;
  } else {  // the number of outputs tells
    for (int i = 1; i < 5; ++i) p.training |= n.output(i) != nullptr;
  }
  if (n.since() < 9) p.spatial = n.attr("spatial", 1) != 0;
  return p;
}

Status infer(const ir::Node& n, ir::Facts& f) {
  const Params p = read(n);
  f.set(0, f.dtype(0));
  // Statistics have the type and shape of the running ones that come in.
  for (int i = 1; i < f.outputs(); ++i) {
    const int from = n.since() >= 14 ? 2 + i : i % 2 ? 3 : 4;
    f.set(i, f.dtype(from), f.has_rank(from) ? std::optional<SymShape>(f.in(from).shape()) : std::nullopt);
  }
  if (!f.has_rank(0)) return {};
  const SymShape& x = f.in(0).shape();
  if (x.empty()) return invalid_argument("input 0 is a scalar, needs at least 1 dimension");
  const Dim channels = x.size() > 1 ? x[1] : Dim(1);
  for (int i = 1; i < 5 && p.spatial; ++i) {
    TRN_TRY(expect_rank(f, i, 1));
    if (f.has_rank(i) && channels.is_int() && f.in(i).dim(0).is_int() && !(f.in(i).dim(0) == channels))
      return invalid_argument("input {} has {} elements, but input 0 of shape {} has {} channels", i,
                              f.in(i).dim(0).value(), shape_text(x), channels.value());
  }
  f.set(0, f.dtype(0), x);
  return {};
}

struct BatchState final : KernelState {
  int64_t images = 1, channels = 1, plane = 1;
  size_t size = 4;  // of the type of computation
};

class BatchKernel final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& node) {
    return std::unique_ptr<Kernel>(new BatchKernel(read(node)));
  }

  Result<std::unique_ptr<KernelState>> prepare(PrepareContext& ctx) const override {
    auto s = std::make_unique<BatchState>();
    const TensorView& x = ctx.in(0);
    s->images = x.dim(0);
    s->channels = p_.spatial ? (x.rank > 1 ? x.dim(1) : 1) : product(x.shape(), 1, x.rank);
    s->plane = p_.spatial && x.rank > 2 ? product(x.shape(), 2, x.rank) : 1;
    s->size = size_of(x.dtype);
    for (int i = 1; i < 5; ++i)
      if (ctx.in(i).count != s->channels)
        return invalid_argument("input {} has {} elements, needs {}", i, ctx.in(i).count, s->channels);
    ctx.request_scratch(static_cast<size_t>(8 * s->channels) * s->size);
    return std::unique_ptr<KernelState>(std::move(s));
  }

  Status run(KernelContext& ctx) const override {
    return ctx.in(0).dtype == DType::f64 ? run_typed<double>(ctx) : run_typed<float>(ctx);
  }

 private:
  explicit BatchKernel(Params p) : p_(p) {}

  template <class T>
  Status run_typed(KernelContext& ctx) const {
    const auto& s = *ctx.state<BatchState>();
    const int64_t c = s.channels;
    T* room = reinterpret_cast<T*>(ctx.scratch());
    const T* in[4];  // scale, B, mean, var as T
    for (int i = 0; i < 4; ++i) in[i] = as<T>(ctx.in(i + 1), room + i * c);
    T *factor = room + 4 * c, *shift = room + 5 * c;
    const T *mean = in[2], *var = in[3];
    if (p_.training) {
      T *m = room + 6 * c, *v = room + 7 * c;
      moments(ctx, s, ctx.in(0).as<T>(), m, v);
      write_statistics(ctx, in[2], in[3], m, v, c);
      mean = m;
      var = v;
    }
    for (int64_t i = 0; i < c; ++i) {
      const double f = in[0][i] / std::sqrt(static_cast<double>(var[i]) + p_.epsilon);
      factor[i] = static_cast<T>(f);
      shift[i] = static_cast<T>(in[1][i] - mean[i] * f);
    }
    const T* x = ctx.in(0).as<T>();
    T* y = ctx.out(0).as<T>();
    if (s.plane == 1) {
      ctx.parallel_for(s.images, 32768 / std::max<int64_t>(c, 1) + 1, [&](int64_t begin, int64_t end) {
        if constexpr (std::is_same_v<T, float>)
          kernels::norm().scale_shift_columns(x + begin * c, y + begin * c, end - begin, c, factor, shift);
        else
          for (int64_t i = begin * c; i < end * c; ++i) y[i] = x[i] * factor[i % c] + shift[i % c];
      });
      return {};
    }
    ctx.parallel_for(s.images * c, 32768 / std::max<int64_t>(s.plane, 1) + 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const T *from = x + i * s.plane, f = factor[i % c], b = shift[i % c];
        T* to = y + i * s.plane;
        if constexpr (std::is_same_v<T, float>)
          kernels::norm().scale_shift(from, to, s.plane, f, b);
        else
          for (int64_t k = 0; k < s.plane; ++k) to[k] = from[k] * f + b;
      }
    });
    return {};
  }

  template <class T>
  static const T* as(const TensorView& v, T* room) {
    if (v.dtype == DTypeOf<T>::value) return v.as<T>();
    kernels::convert(elem(v.dtype), elem(DTypeOf<T>::value))(v.data, room, static_cast<size_t>(v.count), {});
    return room;
  }

  // Mean and population variance of every channel over the batch.
  template <class T>
  static void moments(KernelContext& ctx, const BatchState& s, const T* x, T* mean, T* var) {
    const double n = static_cast<double>(s.images) * static_cast<double>(s.plane);
    ctx.parallel_for(s.channels, 32768 / std::max<int64_t>(s.plane * s.images, 1) + 1, [&](int64_t begin, int64_t end) {
      for (int64_t c = begin; c < end; ++c) {
        const auto each = [&](auto&& fn) {
          double sum = 0;
          for (int64_t i = 0; i < s.images; ++i) {
            const T* plane = x + (i * s.channels + c) * s.plane;
            for (int64_t k = 0; k < s.plane; ++k) sum += fn(static_cast<double>(plane[k]));
          }
          return sum / n;
        };
        const double m = each([](double v) { return v; });
        mean[c] = static_cast<T>(m);
        var[c] = static_cast<T>(each([m](double v) { return (v - m) * (v - m); }));
      }
    });
  }

  // Outputs 1 and 2: running = momentum * running + (1 - momentum) * batch. 3 and 4, in old versions: the batch's.
  template <class T>
  void write_statistics(KernelContext& ctx, const T* old_mean, const T* old_var, const T* mean, const T* var,
                        int64_t channels) const {
    for (int o = 1; o < 5; ++o) {
      if (!ctx.has_out(o)) continue;
      const T *before = o % 2 ? old_mean : old_var, *now = o % 2 ? mean : var;
      const TensorView& y = ctx.out(o);
      for (int64_t i = 0; i < std::min(channels, y.count); ++i) {
        const double v = o < 3 ? static_cast<double>(before[i]) * p_.momentum +
                                     static_cast<double>(now[i]) * (1 - static_cast<double>(p_.momentum))
                               : static_cast<double>(now[i]);
        if (y.dtype == DType::f64)
          y.as<double>()[i] = v;
        else
          y.as<float>()[i] = static_cast<float>(v);
      }
    }
  }

  Params p_;
};

constexpr OpDef kDefs[] = {
    {"BatchNormalization", infer, cpu_widened<BatchKernel>(kFloats), {.reviewed = 15, .in_place = {{0, 0}}}}};

}  // namespace

TRUNNION_OPS(batch_normalization, kDefs);
}  // namespace trunnion::ops

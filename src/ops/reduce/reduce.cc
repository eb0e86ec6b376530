// ReduceSum, ReduceMean, ReduceMax, ... (ai.onnx 1 to 28). The axes are an attribute at first, an input since 13
// (ReduceSum) or 18 (the others). No axes: all of them, or with noop_with_empty_axes a reduction over none.
#include "kernels/reduce.h"

#include <algorithm>
#include <cmath>

#include "kernels/transpose.h"
#include "ops/dispatch.h"
#include "ops/shape.h"
#include "ops/widen.h"

namespace trunnion::ops {
namespace {

using kernels::ReduceOp;

struct Params {
  ReduceOp op;
  bool axes_input;
  std::vector<int64_t> axes;
  bool keepdims, noop;
};

constexpr std::string_view kNames[] = {"ReduceSum",       "ReduceMean", "ReduceMax", "ReduceMin",    "ReduceProd",
                                       "ReduceSumSquare", "ReduceL1",   "ReduceL2",  "ReduceLogSum", "ReduceLogSumExp"};

Params read(const ir::Node& n) {
  Params p;
  p.op = static_cast<ReduceOp>(std::find(std::begin(kNames), std::end(kNames), n.op_type()) - std::begin(kNames));
  p.axes_input = n.since() >= (p.op == ReduceOp::sum ? 13 : 18);
  if (!p.axes_input) p.axes = n.ints("axes");
  p.keepdims = n.attr("keepdims", 1) != 0;
  p.noop = p.axes_input && n.attr("noop_with_empty_axes", 0) != 0;
  return p;
}

// One flag per dimension.
Result<std::vector<bool>> reduced_flags(const Params& p, std::span<const int64_t> axes, int rank) {
  std::vector<bool> flags(static_cast<size_t>(rank), axes.empty() && !p.noop);
  TRN_ASSIGN(const auto normal, normalize_axes(axes, std::max(rank, 1), "axis"));
  if (rank > 0)
    for (int a : normal) flags[a] = true;
  return flags;
}

// The axes when they are known; nullopt when they are elements that are not there yet.
std::optional<std::vector<int64_t>> known_axes(const Params& p, const ir::Facts& f) {
  if (!p.axes_input) return p.axes;
  if (!f.has(1)) return std::vector<int64_t>();
  return f.ints(1);
}

Dim combine(ReduceOp op, const Dim& a, const Dim& b) {
  switch (op) {
    case ReduceOp::sum:
      return a + b;
    case ReduceOp::prod:
      return a * b;
    case ReduceOp::max:
      return dim_max(a, b);
    case ReduceOp::min:
      return dim_min(a, b);
    default:
      return {};
  }
}

void infer_content(const Params& p, ir::Facts& f) {
  if (f.dtype(0) != DType::i64 && f.dtype(0) != DType::i32) return;
  const auto x = f.dims(0);
  if (!x || x->empty()) return;
  Dim total = (*x)[0];
  for (size_t i = 1; i < x->size(); ++i) total = combine(p.op, total, (*x)[i]);
  if (p.op > ReduceOp::prod || p.op == ReduceOp::mean || total.is_unknown()) return;
  if (f.dtype(0) == DType::i32 && total.is_int() && total.value() != static_cast<int32_t>(total.value())) return;
  f.out(0).content = std::vector<Dim>{total};
}

Status infer(const ir::Node& n, ir::Facts& f) {
  const Params p = read(n);
  const auto axes = known_axes(p, f);
  if (p.axes_input && f.has_rank(1) && f.in(1).rank() > 1)
    return invalid_argument("axes have shape {}, need rank 1", shape_text(f.in(1).shape()));
  f.set(0, f.dtype(0));
  if (!f.has_rank(0)) return {};
  const SymShape& x = f.in(0).shape();
  if (!axes) {
    if (p.keepdims) {
      f.set(0, f.dtype(0), unknown_shape(f.in(0).rank()));
    } else if (f.has_rank(1) && f.in(1).rank() == 1 && f.in(1).dim(0).is_int()) {
      const int64_t count = f.in(1).dim(0).value() ? f.in(1).dim(0).value() : p.noop ? 0 : f.in(0).rank();
      if (count <= f.in(0).rank()) f.set(0, f.dtype(0), unknown_shape(static_cast<int>(f.in(0).rank() - count)));
    }
    return {};
  }
  TRN_ASSIGN(const auto flags, reduced_flags(p, *axes, f.in(0).rank()));
  SymShape out;
  for (size_t i = 0; i < x.size(); ++i)
    if (!flags[i])
      out.push_back(x[i]);
    else if (p.keepdims)
      out.push_back(Dim(1));
  f.set(0, f.dtype(0), std::move(out));
  if (x.size() == 1 && flags[0]) infer_content(p, f);
  return {};
}

// What follows from the shape of the input and the axes.
struct Plan final : KernelState {
  kernels::ReduceShape shape;
  // The reduced dimensions are not neighbours: one group of them after the other, the innermost first, in `op` and then
  // `join`; or, where that is not the same, they are moved to the end first.
  std::vector<kernels::ReduceShape> stages;
  ReduceOp first, join;
  bool permute = false;
  kernels::TransposePlan transpose;
  // Few long rows: cut into chunks, whatever the number of threads.
  int64_t chunks = 0;
};
constexpr int64_t kChunk = 1 << 16;

class ReduceKernel final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& node) {
    return std::unique_ptr<Kernel>(new ReduceKernel(read(node)));
  }

  Result<std::unique_ptr<KernelState>> prepare(PrepareContext& ctx) const override {
    const TensorView& x = ctx.in(0);
    if (p_.axes_input && ctx.has_in(1) && !ctx.in(1).data) {  // the axes come with the run: room for the worst case
      ctx.request_scratch(x.bytes() + static_cast<size_t>(x.count / kChunk + 1) * sizeof(float));  // stages need less
      return std::unique_ptr<KernelState>();
    }
    auto plan = std::make_unique<Plan>();
    TRN_TRY(make_plan(x, axes(ctx), *plan));
    ctx.request_scratch((plan->permute || !plan->stages.empty() ? x.bytes() : 0) +
                        static_cast<size_t>(plan->chunks * plan->shape.outer) * sizeof(float));
    return std::unique_ptr<KernelState>(std::move(plan));
  }

  Status run(KernelContext& ctx) const override {
    const TensorView &x = ctx.in(0), &y = ctx.out(0);
    const Plan* plan = ctx.state<Plan>();
    Plan here;
    if (!plan) {
      TRN_TRY(make_plan(x, axes(ctx), here));
      plan = &here;
    }
    const auto fn = kernels::reduce(p_.op, elem(x.dtype));
    if (!fn) return not_implemented("element type {} has no kernel", dtype_name(x.dtype));
    if (y.count != plan->shape.outer * plan->shape.inner)
      return invalid_argument("output has {} elements, the axes give {}", y.count,
                              plan->shape.outer * plan->shape.inner);
    if (y.count == 0) return {};
    const auto* from = ctx.in(0).as<const std::byte>();
    std::byte* scratch = ctx.scratch();
    if (!plan->stages.empty()) {
      staged(ctx, *plan, from, x, y, scratch);
      return {};
    }
    if (plan->permute && x.count > 0) {
      const auto& t = plan->transpose;
      ctx.parallel_for(t.units, 65536 / std::max<int64_t>(t.unit_bytes, 1) + 1,
                       [&](int64_t begin, int64_t end) { kernels::transpose(t, from, scratch, begin, end); });
      from = scratch;
      scratch += x.bytes();
    }
    if (plan->chunks)
      chunked(ctx, reinterpret_cast<const float*>(from), y.as<float>(), plan->shape, plan->chunks,
              reinterpret_cast<float*>(scratch));
    else
      split(ctx, fn, from, y.as<std::byte>(), plan->shape, static_cast<int64_t>(size_of(x.dtype)));
    return {};
  }

 private:
  explicit ReduceKernel(Params p) : p_(std::move(p)) {}

  template <class Context>
  Shape axes(const Context& ctx) const {
    if (!p_.axes_input) return Shape(std::span<const int64_t>(p_.axes));
    return ctx.has_in(1) ? read_ints(ctx.in(1)) : Shape();
  }

  Status make_plan(const TensorView& x, std::span<const int64_t> axes, Plan& plan) const {
    TRN_ASSIGN(const auto flags, reduced_flags(p_, axes, x.rank));
    SmallVector<bool, 8> reduced;
    for (bool b : flags) reduced.push_back(b);
    if (!kernels::reduce_shape(x.dims, reduced.data(), x.rank, plan.shape)) {
      plan.permute = x.count == 0 || !make_stages(x, reduced, plan);
      Shape perm;
      plan.shape = {};
      for (int pass = 0; pass < 2; ++pass)
        for (int d = 0; d < x.rank; ++d)
          if (reduced[d] == (pass == 1)) {
            perm.push_back(d);
            (pass ? plan.shape.axis : plan.shape.outer) *= x.dim(d);
          }
      if (!plan.permute) return {};
      if (!kernels::transpose_plan(x.dims, perm.data(), x.rank, size_of(x.dtype), plan.transpose))
        return not_implemented("rank {} is more than this kernel takes", x.rank);
    }
    const bool associative = p_.op <= ReduceOp::l1;
    if (x.dtype == DType::f32 && associative && plan.shape.inner == 1 && plan.shape.outer < 8 &&
        plan.shape.axis >= 4 * kChunk)
      plan.chunks = (plan.shape.axis + kChunk - 1) / kChunk;
    return {};
  }

  // False when the operation of parts of the parts is not that of the whole.
  bool make_stages(const TensorView& x, std::span<const bool> reduced, Plan& plan) const {
    const bool real = x.dtype == DType::f32 || x.dtype == DType::f64;
    if (p_.op == ReduceOp::log_sum_exp || (p_.op > ReduceOp::l1 && !real) || (p_.op == ReduceOp::mean && !real))
      return false;
    const bool squares = p_.op == ReduceOp::l2 || p_.op == ReduceOp::sum_square, l1 = p_.op == ReduceOp::l1;
    const bool sums = squares || l1 || p_.op == ReduceOp::mean || p_.op == ReduceOp::log_sum;
    plan.join = sums ? ReduceOp::sum : p_.op;
    plan.first = squares ? ReduceOp::sum_square : l1 ? ReduceOp::l1 : plan.join;
    Shape dims(x.shape());
    for (int d = x.rank; d-- > 0;) {
      if (!reduced[d] || dims[d] == 1) continue;
      kernels::ReduceShape s{1, 1, 1, 1};
      for (int i = d + 1; i < x.rank; ++i) s.inner *= dims[i];
      int begin = d;
      for (; begin >= 0 && (reduced[begin] || dims[begin] == 1); --begin)
        if (reduced[begin]) {
          s.axis *= dims[begin];
          dims[begin] = 1;
        }
      for (int i = 0; i <= begin; ++i) s.outer *= dims[i];
      s.stride = s.inner;
      plan.stages.push_back(s);
    }
    return true;
  }

  // Every stage at least halves the elements: results lie in turn in the two halves of scratch.
  void staged(KernelContext& ctx, const Plan& plan, const std::byte* from, const TensorView& x, const TensorView& y,
              std::byte* scratch) const {
    const int64_t size = static_cast<int64_t>(size_of(x.dtype));
    for (size_t i = 0; i < plan.stages.size(); ++i) {
      std::byte* to = i + 1 == plan.stages.size() ? y.as<std::byte>() : scratch + (i % 2 ? x.count / 2 * size : 0);
      split(ctx, kernels::reduce(i ? plan.join : plan.first, elem(x.dtype)), from, to, plan.stages[i], size);
      from = to;
    }
    if (p_.op != ReduceOp::mean && p_.op != ReduceOp::l2 && p_.op != ReduceOp::log_sum) return;
    const double n = static_cast<double>(x.count / y.count);
    (void)dispatch<(DType::f32 | DType::f64).bits()>(x.dtype, [&]<class T>() {
      T* v = y.as<T>();
      for (int64_t i = 0; i < y.count; ++i) {
        if (p_.op == ReduceOp::mean) v[i] = static_cast<T>(static_cast<double>(v[i]) / n);
        if (p_.op == ReduceOp::l2) v[i] = std::sqrt(v[i]);
        if (p_.op == ReduceOp::log_sum) v[i] = std::log(v[i]);
      }
    });
  }

  static void split(KernelContext& ctx, kernels::ReduceFn fn, const std::byte* x, std::byte* y,
                    const kernels::ReduceShape& s, int64_t size) {
    constexpr int64_t kPiece = 32768;  // elements
    if (s.outer >= ctx.threads() || s.inner == 1) {
      ctx.parallel_for(s.outer, kPiece / std::max<int64_t>(s.axis * s.inner, 1) + 1, [&](int64_t begin, int64_t end) {
        kernels::ReduceShape part = s;
        part.outer = end - begin;
        fn(x + begin * s.axis * s.stride * size, y + begin * s.stride * size, part);
      });
      return;
    }
    for (int64_t o = 0; o < s.outer; ++o)
      ctx.parallel_for(s.inner, std::max<int64_t>(kPiece / std::max<int64_t>(s.axis, 1), 16),
                       [&](int64_t begin, int64_t end) {
                         kernels::ReduceShape part = s;
                         part.outer = 1;
                         part.inner = end - begin;
                         fn(x + (o * s.axis * s.stride + begin) * size, y + (o * s.stride + begin) * size, part);
                       });
  }

  void chunked(KernelContext& ctx, const float* x, float* y, const kernels::ReduceShape& s, int64_t chunks,
               float* partial) const {
    const bool mean = p_.op == ReduceOp::mean;
    const auto first = kernels::reduce(mean ? ReduceOp::sum : p_.op, kernels::Elem::f32);
    const bool sums = mean || p_.op == ReduceOp::sum_square || p_.op == ReduceOp::l1;
    const auto second = kernels::reduce(sums ? ReduceOp::sum : p_.op, kernels::Elem::f32);
    ctx.parallel_for(s.outer * chunks, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t at = i % chunks * kChunk;
        first(x + i / chunks * s.axis + at, partial + i, {1, std::min(kChunk, s.axis - at), 1, 1});
      }
    });
    second(partial, y, {s.outer, chunks, 1, 1});
    if (mean)
      for (int64_t o = 0; o < s.outer; ++o) y[o] /= static_cast<float>(s.axis);
  }

  Params p_;
};

constexpr DTypes kSums = kFloats | DType::i32 | DType::i64 | DType::u32 | DType::u64;
constexpr DTypes kExtremes = kSums | DType::i8 | DType::u8 | DType::i16 | DType::u16 | DType::boolean;
constexpr OpDef kDefs[] = {
    {"ReduceSum", infer, cpu_widened<ReduceKernel>(kSums), {.reviewed = 13}},
    {"ReduceMean", infer, cpu_widened<ReduceKernel>(kSums), {.reviewed = 18}},
    {"ReduceMax", infer, cpu_widened<ReduceKernel>(kExtremes), {.reviewed = 20}},
    {"ReduceMin", infer, cpu_widened<ReduceKernel>(kExtremes), {.reviewed = 20}},
    {"ReduceProd", infer, cpu_widened<ReduceKernel>(kSums), {.reviewed = 18}},
    {"ReduceSumSquare", infer, cpu_widened<ReduceKernel>(kSums), {.reviewed = 18}},
    {"ReduceL1", infer, cpu_widened<ReduceKernel>(kSums), {.reviewed = 18}},
    {"ReduceL2", infer, cpu_widened<ReduceKernel>(kSums), {.reviewed = 18}},
    {"ReduceLogSum", infer, cpu_widened<ReduceKernel>(kSums), {.reviewed = 28}},
    {"ReduceLogSumExp", infer, cpu_widened<ReduceKernel>(kSums), {.reviewed = 28}},
};

}  // namespace

TRUNNION_OPS(reduce, kDefs);
}  // namespace trunnion::ops

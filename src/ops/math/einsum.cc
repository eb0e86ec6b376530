// Einsum (ai.onnx 12, 28). Diagonals and sums inside one input first, then inputs are contracted one after the other as
// batched matrix products.
#include <algorithm>
#include <map>

#include "kernels/copy.h"
#include "kernels/gemm.h"
#include "kernels/reduce.h"
#include "ops/dispatch.h"
#include "ops/math/einsum_detail.h"
#include "ops/move.h"
#include "ops/shape.h"
#include "ops/tiles.h"
#include "ops/widen.h"

namespace trunnion::ops {
namespace {

Status infer(const ir::Node& n, ir::Facts& f) {
  TRN_ASSIGN(const auto equation, parse_equation(n.attr("equation", "")));
  f.set(0, f.dtype(0));
  std::vector<int> ranks;
  for (int i = 0; i < f.inputs(); ++i) {
    if (!f.has_rank(i)) return {};
    ranks.push_back(f.in(i).rank());
  }
  TRN_ASSIGN(const auto terms, expand_equation(equation, ranks));
  std::map<int, Dim> sizes;
  for (size_t i = 0; i + 1 < terms.size(); ++i)
    for (size_t d = 0; d < terms[i].size(); ++d) {
      const Dim& size = f.in(static_cast<int>(i)).dim(static_cast<int>(d));
      const auto [at, fresh] = sizes.emplace(terms[i][d], size);
      if (fresh || at->second == size || size.is_int(1)) continue;
      if (at->second.is_int(1)) {
        at->second = size;
      } else if (at->second.is_int() && size.is_int()) {
        return invalid_argument("input {} has size {} where the same label has size {} before", i, size.value(),
                                at->second.value());
      } else if (!at->second.is_int()) {
        at->second = size.is_int() ? size : Dim();
      }
    }
  SymShape out;
  for (int l : terms.back()) out.push_back(sizes.count(l) ? sizes[l] : Dim(1));
  f.set(0, f.dtype(0), std::move(out));
  return {};
}

constexpr size_t kInput = static_cast<size_t>(-1);

// A tensor on the way: an input, or something in scratch.
struct Operand {
  int input = -1;
  size_t at = kInput;             // in scratch
  std::vector<int> labels;        // distinct
  std::map<int, int64_t> stride;  // of every label; 0 where it is repeated
};

struct Step {
  enum class Kind : uint8_t { copy, sum, product } kind;
  Operand a, b;                              // where from (b: product only)
  kernels::CopyShape copy;                   // copy: a -> to
  size_t to = 0;                             // kInput: the output
  int64_t batches = 1, m = 1, n = 1, k = 1;  // sum: m rows of k
  int64_t a_row = 0, a_k = 0, b_k = 0, b_n = 0;
  kernels::GemmGrid grid;
  int64_t elements = 1;  // of the result
};

struct Plan final : KernelState {
  std::vector<Step> steps;
  size_t gemm_at = 0, gemm_stride = 0;
};

class EinsumKernel final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& node) {
    TRN_ASSIGN(auto equation, parse_equation(node.attr("equation", "")));
    return std::unique_ptr<Kernel>(new EinsumKernel(std::move(equation)));
  }

  Result<std::unique_ptr<KernelState>> prepare(PrepareContext& ctx) const override;

  Status run(KernelContext& ctx) const override {
    const Plan& plan = *ctx.state<Plan>();
    return dispatch<(kNumeric.bits() & ~kHalf.bits())>(ctx.out(0).dtype, [&]<class T>() {
      for (const Step& s : plan.steps) step<T>(ctx, plan, s);
    });
  }

 private:
  static constexpr DTypes kHalf = DType::f16 | DType::bf16;
  explicit EinsumKernel(EinsumEquation e) : equation_(std::move(e)) {}

  template <class T>
  static const T* source(KernelContext& ctx, const Operand& o) {
    return o.at == kInput ? ctx.in(o.input).as<T>() : reinterpret_cast<const T*>(ctx.scratch() + o.at);
  }

  template <class T>
  static void step(KernelContext& ctx, const Plan& plan, const Step& s) {
    T* to = s.to == kInput ? ctx.out(0).as<T>() : reinterpret_cast<T*>(ctx.scratch() + s.to);
    if (s.elements == 0) return;
    const T* a = source<T>(ctx, s.a);
    if (s.kind == Step::Kind::copy) return copy_strided(ctx, a, to, s.copy, DTypeOf<T>::value);
    if (s.kind == Step::Kind::sum) {
      ctx.parallel_for(s.m, 16384 / std::max<int64_t>(s.k, 1) + 1, [&](int64_t begin, int64_t end) {
        if constexpr (std::is_same_v<T, float>)
          kernels::reduce(kernels::ReduceOp::sum, kernels::Elem::f32)(a + begin * s.k, to + begin,
                                                                      {end - begin, s.k, 1, 1});
        else
          for (int64_t i = begin; i < end; ++i) to[i] = dot(a + i * s.k, 1, a, 0, s.k, false);
      });
      return;
    }
    const T* b = source<T>(ctx, s.b);
    if constexpr (std::is_same_v<T, float>) {
      for_each_tile(ctx, s.batches * s.grid.count(), ctx.scratch() + plan.gemm_at, plan.gemm_stride,
                    [&](int64_t i, std::byte* own) {
                      const int64_t batch = i / s.grid.count();
                      kernels::GemmArgs g;
                      g.m = s.m;
                      g.n = s.n;
                      g.k = s.k;
                      g.a = a + batch * s.m * s.k;
                      g.a_row_stride = s.a_row;
                      g.a_k_stride = s.a_k;
                      g.b = b + batch * s.n * s.k;
                      g.b_k_stride = s.b_k;
                      g.b_n_stride = s.b_n;
                      g.c = to + batch * s.m * s.n;
                      g.ldc = s.n;
                      kernels::gemm_tile(g, s.grid, i % s.grid.count(), own);
                    });
    } else {
      ctx.parallel_for(s.batches * s.m, 16384 / std::max<int64_t>(s.n * s.k, 1) + 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const T *row = a + i / s.m * s.m * s.k + i % s.m * s.a_row, *matrix = b + i / s.m * s.n * s.k;
          for (int64_t j = 0; j < s.n; ++j) to[i * s.n + j] = dot(row, s.a_k, matrix + j * s.b_n, s.b_k, s.k, true);
        }
      });
    }
  }

  // Sum of a[i] (times b[i]); integers wrap around.
  template <class T>
  static T dot(const T* a, int64_t a_step, const T* b, int64_t b_step, int64_t n, bool multiply) {
    using Sum = std::conditional_t<std::is_integral_v<T>, uint64_t, T>;
    Sum sum = 0;
    for (int64_t i = 0; i < n; ++i)
      sum += multiply ? static_cast<Sum>(a[i * a_step]) * static_cast<Sum>(b[i * b_step])
                      : static_cast<Sum>(a[i * a_step]);
    return static_cast<T>(sum);
  }

  EinsumEquation equation_;
};

// Makes the steps.
class Planner {
 public:
  Planner(Plan& plan, DType type, int threads) : plan_(plan), size_(size_of(type)), threads_(threads) {}

  Status build(const std::vector<EinsumTerm>& terms, PrepareContext& ctx);
  size_t scratch() const { return end_; }

 private:
  int64_t size_of_all(const std::vector<int>& labels) const {
    int64_t n = 1;
    for (int l : labels) n *= sizes_.at(l);
    return n;
  }
  size_t take(int64_t elements) {
    const size_t at = end_;
    end_ += (static_cast<size_t>(elements) * size_ + 63) / 64 * 64;
    return at;
  }
  bool is_dense(const Operand& o, const std::vector<int>& order) const {
    int64_t step = 1;
    for (size_t i = order.size(); i-- > 0; step *= sizes_.at(order[i]))
      if (sizes_.at(order[i]) != 1 && o.stride.at(order[i]) != step) return false;
    return true;
  }
  Operand dense(size_t at, const std::vector<int>& order) const {
    Operand o;
    o.at = at;
    o.labels = order;
    int64_t step = 1;
    for (size_t i = order.size(); i-- > 0; step *= sizes_.at(order[i])) o.stride[order[i]] = step;
    return o;
  }
  // The operand with its elements in that order, copied where needed (or where `to` is given).
  Status arrange(Operand& o, const std::vector<int>& order, bool to_output = false);
  Status sum(Operand& o, const std::vector<int>& kept);
  Status multiply(const Operand& a, const Operand& b, const std::vector<int>& wanted, bool last, Operand& out);

  Plan& plan_;
  size_t size_;
  int threads_;
  size_t end_ = 0;
  std::map<int, int64_t> sizes_;
};

bool contains(const std::vector<int>& v, int l) { return std::find(v.begin(), v.end(), l) != v.end(); }

Status Planner::arrange(Operand& o, const std::vector<int>& order, bool to_output) {
  if (!to_output && is_dense(o, order)) {
    o.labels = order;
    return {};
  }
  TRN_TRY(expect_copy_rank(static_cast<int64_t>(order.size())));
  Step s{.kind = Step::Kind::copy};
  s.elements = size_of_all(order);
  s.a = o;
  s.to = to_output ? kInput : take(s.elements);
  Operand result = dense(s.to, order);
  s.copy.rank = static_cast<int>(order.size());
  for (size_t i = 0; i < order.size(); ++i) {
    s.copy.dim[i] = sizes_.at(order[i]);
    s.copy.src_stride[i] = o.stride.at(order[i]);
    s.copy.dst_stride[i] = result.stride.at(order[i]);
  }
  plan_.steps.push_back(std::move(s));
  o = std::move(result);
  return {};
}

Status Planner::sum(Operand& o, const std::vector<int>& kept) {
  std::vector<int> order = kept;
  for (int l : o.labels)
    if (!contains(kept, l)) order.push_back(l);
  if (order.size() == kept.size()) return {};
  TRN_TRY(arrange(o, order));
  Step s{.kind = Step::Kind::sum};
  s.a = o;
  s.m = s.elements = size_of_all(kept);
  s.k = size_of_all({order.begin() + static_cast<std::ptrdiff_t>(kept.size()), order.end()});
  s.to = take(s.m);
  o = dense(s.to, kept);
  plan_.steps.push_back(std::move(s));
  return {};
}

Status Planner::multiply(const Operand& first, const Operand& second, const std::vector<int>& wanted, bool last,
                         Operand& out) {
  Operand a = first, b = second;
  const auto only = [](const Operand& x, const Operand& y) {
    std::vector<int> r;
    for (int l : x.labels)
      if (!contains(y.labels, l)) r.push_back(l);
    return r;
  };
  std::vector<int> m = only(a, b), n = only(b, a), batch, k;
  for (int l : a.labels)
    if (contains(b.labels, l)) (contains(wanted, l) ? batch : k).push_back(l);
  // As the result wants it: its last label belongs to the columns.
  if (last && !wanted.empty() && contains(m, wanted.back())) {
    std::swap(a, b);
    std::swap(m, n);
  }
  if (last)
    for (auto* group : {&batch, &m, &n})
      std::sort(group->begin(), group->end(), [&](int x, int y) {
        return std::find(wanted.begin(), wanted.end(), x) < std::find(wanted.begin(), wanted.end(), y);
      });
  const auto join = [&](const std::vector<int>& x, const std::vector<int>& y) {
    std::vector<int> r = batch;
    r.insert(r.end(), x.begin(), x.end());
    r.insert(r.end(), y.begin(), y.end());
    return r;
  };
  Step s{.kind = Step::Kind::product};
  s.batches = size_of_all(batch);
  s.m = size_of_all(m);
  s.n = size_of_all(n);
  s.k = size_of_all(k);
  const bool a_swapped = !is_dense(a, join(m, k)) && is_dense(a, join(k, m));
  TRN_TRY(arrange(a, a_swapped ? join(k, m) : join(m, k)));
  const bool b_swapped = !is_dense(b, join(k, n)) && is_dense(b, join(n, k));
  TRN_TRY(arrange(b, b_swapped ? join(n, k) : join(k, n)));
  s.a_row = a_swapped ? 1 : s.k;
  s.a_k = a_swapped ? s.m : 1;
  s.b_k = b_swapped ? 1 : s.n;
  s.b_n = b_swapped ? s.k : 1;
  s.a = a;
  s.b = b;
  s.elements = s.batches * s.m * s.n;
  const std::vector<int> order = join(m, n);
  s.to = last && order == wanted ? kInput : take(s.elements);
  if (size_ == sizeof(float) && s.elements > 0) {
    const auto per_batch = static_cast<int>(std::max<int64_t>(1, (threads_ + s.batches - 1) / s.batches));
    s.grid = kernels::gemm_grid(s.m, s.n, s.k, per_batch);
    const size_t stride = (kernels::gemm_scratch_size(s.n, s.k) + 63) / 64 * 64;
    plan_.gemm_stride = std::max(plan_.gemm_stride, stride);
  }
  out = dense(s.to, order);
  plan_.steps.push_back(std::move(s));
  return {};
}

Status Planner::build(const std::vector<EinsumTerm>& terms, PrepareContext& ctx) {
  const size_t count = terms.size() - 1;
  const std::vector<int>& wanted = terms.back();
  for (size_t i = 0; i < count; ++i)
    for (size_t d = 0; d < terms[i].size(); ++d) {
      const int64_t size = ctx.in(static_cast<int>(i)).dim(static_cast<int>(d));
      const auto [at, fresh] = sizes_.emplace(terms[i][d], size);
      if (!fresh && at->second == 1) at->second = size;
      if (size != 1 && at->second != size)
        return invalid_argument("input {} has size {} where the same label has size {} before", i, size, at->second);
    }
  std::vector<Operand> operands;
  for (size_t i = 0; i < count; ++i) {
    Operand o;
    o.input = static_cast<int>(i);
    const auto dims = ctx.in(o.input).shape();
    const Shape strides = row_major_strides(dims);
    for (size_t d = 0; d < terms[i].size(); ++d) {
      const int l = terms[i][d];
      if (!contains(o.labels, l)) o.labels.push_back(l);
      if (dims[d] != 1)
        o.stride[l] += strides[d];  // a repeated label walks the diagonal
      else
        o.stride[l] += 0;
    }
    operands.push_back(std::move(o));
  }
  const auto needed = [&](int l, size_t from) {
    if (contains(wanted, l)) return true;
    for (size_t i = from; i < operands.size(); ++i)
      if (contains(operands[i].labels, l)) return true;
    return false;
  };
  for (size_t i = 0; i < count; ++i) {
    std::vector<int> kept;
    for (int l : operands[i].labels) {
      bool keep = contains(wanted, l);
      for (size_t j = 0; j < count; ++j) keep |= j != i && contains(operands[j].labels, l);
      if (keep) kept.push_back(l);
    }
    TRN_TRY(sum(operands[i], kept));
  }
  Operand now = operands[0];
  for (size_t i = 1; i < count; ++i) {
    std::vector<int> keep = wanted;
    if (i + 1 < count) {
      keep.clear();
      for (const Operand* o : {&now, &operands[i]})
        for (int l : o->labels)
          if (needed(l, i + 1) && !contains(keep, l)) keep.push_back(l);
    }
    Operand next;
    TRN_TRY(multiply(now, operands[i], keep, i + 1 == count, next));
    now = std::move(next);
  }
  // An ellipsis of the output that no input has dimensions for does not occur: it was written out with the widest.
  if (now.at != kInput || now.input >= 0) TRN_TRY(arrange(now, wanted, true));
  return {};
}

Result<std::unique_ptr<KernelState>> EinsumKernel::prepare(PrepareContext& ctx) const {
  std::vector<int> ranks;
  for (int i = 0; i < ctx.inputs(); ++i) ranks.push_back(ctx.in(i).rank);
  TRN_ASSIGN(const auto terms, expand_equation(equation_, ranks));
  auto plan = std::make_unique<Plan>();
  Planner planner(*plan, ctx.in(0).dtype, ctx.threads());
  TRN_TRY(planner.build(terms, ctx));
  plan->gemm_at = planner.scratch();
  ctx.request_scratch(planner.scratch() + plan->gemm_stride * static_cast<size_t>(ctx.threads()));
  return std::unique_ptr<KernelState>(std::move(plan));
}

constexpr OpDef kDefs[] = {{"Einsum", infer, cpu_widened<EinsumKernel>(kNumeric), {.reviewed = 28}}};

}  // namespace

TRUNNION_OPS(einsum, kDefs);
}  // namespace trunnion::ops

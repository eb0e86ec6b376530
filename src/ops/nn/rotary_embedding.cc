// RotaryEmbedding (ai.onnx 23): rotates pairs of each head's elements by angles that follow from the token's position.
#include <algorithm>

#include "ops/dispatch.h"
#include "ops/nn/rotary_detail.h"
#include "ops/shape.h"
#include "ops/widen.h"

namespace trunnion::ops {
namespace {

struct Params {
  bool interleaved;
  int64_t rotated, heads;  // 0: the whole head; from the input's shape
};
Params read(const ir::Node& n) {
  return {n.attr("interleaved", 0) != 0, n.attr("rotary_embedding_dim", 0), n.attr("num_heads", 0)};
}

// x as tokens (batch, position) of heads.
struct Layout {
  int64_t batch, tokens, heads, head;  // head: elements
  int64_t token_step, head_step;
  int64_t rotated;
};

Result<Layout> layout(const Params& p, std::span<const int64_t> x) {
  Layout l{};
  if (x.size() == 4) {
    l = {x[0], x[2], x[1], x[3], x[3], x[2] * x[3], 0};
  } else if (x.size() == 3) {
    if (p.heads < 1) return invalid_argument("an input of 3 dimensions needs the attribute num_heads");
    if (x[2] % p.heads) return invalid_argument("the hidden size {} does not divide into {} heads", x[2], p.heads);
    l = {x[0], x[1], p.heads, x[2] / p.heads, x[2], x[2] / p.heads, 0};
  } else {
    return invalid_argument("input 0 has shape {}, needs 3 or 4 dimensions", shape_text(x));
  }
  l.rotated = p.rotated > 0 ? p.rotated : l.head;
  if (l.rotated > l.head || l.rotated % 2)
    return invalid_argument("{} elements of a head of {} cannot be rotated: an even number is needed", l.rotated,
                            l.head);
  return l;
}

Status infer(const ir::Node& n, ir::Facts& f) {
  const Params p = read(n);
  f.set(0, f.dtype(0));
  const int cache_rank = f.has(3) ? 2 : 3;
  for (int i : {1, 2}) TRN_TRY(expect_rank(f, i, cache_rank));
  TRN_TRY(expect_rank(f, 3, 2));
  if (!f.has_rank(0)) return {};
  f.set(0, f.dtype(0), f.in(0).shape());
  const auto x = f.in(0).concrete();
  if (!x) return {};
  TRN_ASSIGN(const Layout l, layout(p, *x));
  for (int i : {1, 2}) {
    if (!f.has_rank(i)) continue;
    const SymShape& c = f.in(i).shape();
    const bool fits =
        (!c.back().is_int() || c.back().value() >= l.rotated / 2) &&
        (cache_rank == 2 || ((!c[0].is_int() || c[0].is_int(l.batch)) && (!c[1].is_int() || c[1].is_int(l.tokens))));
    if (!fits)
      return invalid_argument("input {} of shape {} does not go with {} rotated elements of an input of shape {}", i,
                              shape_text(c), l.rotated, shape_text(*x));
  }
  if (f.has_rank(3)) {
    const SymShape& ids = f.in(3).shape();
    if ((ids[0].is_int() && !ids[0].is_int(l.batch)) || (ids[1].is_int() && !ids[1].is_int(l.tokens)))
      return invalid_argument("position_ids of shape {} do not go with an input of shape {}", shape_text(ids),
                              shape_text(*x));
  }
  return {};
}

class RotaryKernel final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& node) {
    return std::unique_ptr<Kernel>(new RotaryKernel(read(node)));
  }

  Status run(KernelContext& ctx) const override {
    TRN_ASSIGN(const Layout l, layout(p_, ctx.in(0).shape()));
    const TensorView &cos = ctx.in(1), &sin = ctx.in(2);
    // The caches may be wider than what is rotated.
    const int64_t half = l.rotated / 2, width = cos.dim(cos.rank - 1),
                  rows = width ? std::min(cos.count, sin.count) / width : 0;
    if (width < half || sin.dim(sin.rank - 1) != width)
      return invalid_argument("caches of {} and {} columns for {} angles", width, sin.dim(sin.rank - 1), half);
    const int64_t* ids = ctx.has_in(3) ? ctx.in(3).as<int64_t>() : nullptr;
    if (ids ? ctx.in(3).count != l.batch * l.tokens : rows < l.batch * l.tokens)
      return invalid_argument("there are not as many positions as the {} tokens of the input", l.batch * l.tokens);
    for (int64_t i = 0; ids && i < ctx.in(3).count; ++i)
      if (ids[i] < 0 || ids[i] >= rows)
        return invalid_argument("position_ids[{}] is {}, but the caches have {} rows", i, ids[i], rows);
    if (ctx.in(0).count == 0) return {};
    const Rotation rotation{l.rotated, l.head, p_.interleaved};
    ctx.parallel_for(
        l.batch * l.tokens, 8192 / std::max<int64_t>(l.heads * l.head, 1) + 1, [&](int64_t begin, int64_t end) {
          for (int64_t t = begin; t < end; ++t) {
            const int64_t row = (ids ? ids[t] : t) * width;
            const int64_t at = t / l.tokens * l.tokens * l.heads * l.head + t % l.tokens * l.token_step;
            for (int64_t h = 0; h < l.heads; ++h)
              rotate(rotation, ctx.in(0).as<float>() + at + h * l.head_step,
                     ctx.out(0).as<float>() + at + h * l.head_step, cos.as<float>() + row, sin.as<float>() + row);
          }
        });
    return {};
  }

 private:
  explicit RotaryKernel(Params p) : p_(p) {}

  Params p_;
};

constexpr OpDef kDefs[] = {
    {"RotaryEmbedding", infer, cpu_widened<RotaryKernel>(kF32 | DType::f16 | DType::bf16), {.reviewed = 23}}};

}  // namespace

TRUNNION_OPS(rotary_embedding, kDefs);
}  // namespace trunnion::ops

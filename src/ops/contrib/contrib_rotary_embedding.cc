// RotaryEmbedding and MRotaryEmbedding (com.microsoft 1): pairs of a head's elements are rotated by the angles of the
// token's position. The second takes three positions of a token, each for its share of the angles.
#include <algorithm>

#include "ops/dispatch.h"
#include "ops/nn/rotary_detail.h"
#include "ops/shape.h"
#include "ops/widen.h"

namespace trunnion::ops {
namespace {

enum Input { kX, kPositions, kCos, kSin };

struct Params {
  bool interleaved, three, mixed;  // three: positions of time, height and width; mixed: their angles alternate
  int64_t heads, rotated;          // 0: not given
  std::vector<int64_t> sections;
};
Result<Params> read(const ir::Node& n) {
  Params p{n.attr("interleaved", 0) != 0, n.op_type() == "MRotaryEmbedding", n.attr("mrope_layout", 0) == 1,
           n.attr("num_heads", 0),        n.attr("rotary_embedding_dim", 0), n.ints("mrope_section")};
  if (p.heads < 0 || p.rotated < 0)
    return invalid_argument("num_heads {} and rotary_embedding_dim {} may not be negative", p.heads, p.rotated);
  if (p.rotated > 0 && p.heads == 0) return invalid_argument("rotary_embedding_dim needs num_heads");
  if (p.three) {
    if (p.sections.size() != 3 || *std::min_element(p.sections.begin(), p.sections.end()) < 0)
      return invalid_argument("mrope_section is {}, expected three lengths",
                              shape_text(std::span<const int64_t>(p.sections)));
    if (n.attr("mrope_layout", 0) < 0 || n.attr("mrope_layout", 0) > 1)
      return invalid_argument("attribute mrope_layout is {}, expected 0 or 1", n.attr("mrope_layout", 0));
  }
  return p;
}

// The input as tokens (batch, position) of heads.
struct Layout {
  int64_t batch, tokens, heads, head;  // head: elements
  int64_t batch_step, token_step, head_step;
  int64_t rotated;
};
Result<Layout> layout(const Params& p, std::span<const int64_t> x, std::span<const int64_t> cos) {
  Layout l{};
  if (cos.size() != 2) return invalid_argument("cos_cache has shape {}, needs 2 dimensions", shape_text(cos));
  if (x.size() == 4) {
    l = {x[0], x[2], x[1], x[3], x[1] * x[2] * x[3], x[3], x[2] * x[3], 0};
  } else if (x.size() == 3) {
    const int64_t head = p.heads == 0 ? 2 * cos[1] : x[2] / p.heads;
    if (head == 0 || x[2] % head)
      return invalid_argument("the hidden size {} does not divide into heads of {} elements", x[2], head);
    l = {x[0], x[1], x[2] / head, head, x[1] * x[2], x[2], head, 0};
  } else {
    return invalid_argument("input 0 has shape {}, needs 3 or 4 dimensions", shape_text(x));
  }
  l.rotated = p.rotated > 0 ? p.rotated : l.head;
  if (l.rotated > l.head || l.rotated % 2)
    return invalid_argument("{} elements of a head of {} cannot be rotated: an even number is needed", l.rotated,
                            l.head);
  if (cos[1] != l.rotated / 2)
    return invalid_argument("cos_cache has {} columns, expected {} for {} rotated elements", cos[1], l.rotated / 2,
                            l.rotated);
  if (p.three && p.sections[0] + p.sections[1] + p.sections[2] != l.rotated / 2)
    return invalid_argument("mrope_section {} does not sum to {} angles",
                            shape_text(std::span<const int64_t>(p.sections)), l.rotated / 2);
  return l;
}

Status infer(const ir::Node& n, ir::Facts& f) {
  TRN_ASSIGN(const Params p, read(n));
  f.set(0, f.dtype(kX));
  for (int i : {kCos, kSin}) TRN_TRY(expect_rank(f, i, 2));
  if (!f.has_rank(kX)) return {};
  f.set(0, f.dtype(kX), f.in(kX).shape());
  const auto x = f.in(kX).concrete();
  const auto cos = f.has_rank(kCos) ? f.in(kCos).concrete() : std::nullopt;
  if (!x || !cos) return {};
  TRN_ASSIGN(const Layout l, layout(p, *x, *cos));
  if (const auto sin = f.has_rank(kSin) ? f.in(kSin).concrete() : std::nullopt; sin && !(*sin == *cos))
    return invalid_argument("cos_cache and sin_cache have shapes {} and {}", shape_text(*cos), shape_text(*sin));
  if (const auto ids = f.has_rank(kPositions) ? f.in(kPositions).concrete() : std::nullopt) {
    const int64_t all = l.batch * l.tokens;
    const bool fits = p.three ? ids->size() == 3 && (*ids)[0] == 3 && product(*ids) == 3 * all
                              : (ids->size() <= 1 && product(*ids) == 1) || (ids->size() == 2 && product(*ids) == all);
    if (!fits)
      return invalid_argument("position_ids of shape {} do not go with an input of shape {}", shape_text(*ids),
                              shape_text(*x));
  }
  return {};
}

class RotaryCpu final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& n) {
    TRN_ASSIGN(Params p, read(n));
    return std::unique_ptr<Kernel>(new RotaryCpu(std::move(p)));
  }

  Result<std::unique_ptr<KernelState>> prepare(PrepareContext& ctx) const override {
    // The angles of one token's three positions, put together.
    if (p_.three)
      ctx.request_scratch(static_cast<size_t>(ctx.in(kX).count) / std::max<size_t>(1, last_dim(ctx.in(kX))) *
                          static_cast<size_t>(ctx.in(kCos).dim(1)) * 2 * sizeof(float));
    return std::unique_ptr<KernelState>();
  }

  Status run(KernelContext& ctx) const override {
    const TensorView &x = ctx.in(kX), &y = ctx.out(0), &ids = ctx.in(kPositions), &cos = ctx.in(kCos);
    TRN_ASSIGN(const Layout l, layout(p_, x.shape(), cos.shape()));
    const int64_t half = l.rotated / 2, rows = cos.dim(0), all = l.batch * l.tokens;
    const bool one = !p_.three && ids.count == 1;
    if (!one && ids.count != (p_.three ? 3 : 1) * all)
      return invalid_argument("position_ids has {} elements for {} tokens", ids.count, all);
    if (x.count == 0) return {};
    const auto* id = ids.as<const int64_t>();
    for (int64_t i = 0; i < ids.count; ++i)
      if (id[i] < 0 || id[i] >= rows || (one && id[i] + l.tokens > rows))
        return invalid_argument("position_ids[{}] is {}, but the caches have {} rows", i, id[i], rows);
    const auto *c = cos.as<const float>(), *s = ctx.in(kSin).as<const float>();
    const Rotation rotation{l.rotated, l.head, p_.interleaved};
    const int64_t work = std::max<int64_t>(l.heads * l.head, 1);
    ctx.parallel_for(all, 8192 / work + 1, [&](int64_t begin, int64_t end) {
      for (int64_t t = begin; t < end; ++t) {
        const int64_t at = t / l.tokens * l.batch_step + t % l.tokens * l.token_step;
        const int64_t row = (one ? id[0] + t % l.tokens : id[t]) * half;
        const float *cos_row = c + row, *sin_row = s + row;
        if (p_.three) {
          float* own = reinterpret_cast<float*>(ctx.scratch()) + t * 2 * half;
          mix(id, all, t, half, c, own);
          mix(id, all, t, half, s, own + half);
          cos_row = own;
          sin_row = own + half;
        }
        for (int64_t h = 0; h < l.heads; ++h)
          rotate(rotation, x.as<const float>() + at + h * l.head_step, y.as<float>() + at + h * l.head_step, cos_row,
                 sin_row);
      }
    });
    return {};
  }

 private:
  explicit RotaryCpu(Params p) : p_(std::move(p)) {}

  static size_t last_dim(const TensorView& t) { return static_cast<size_t>(t.rank ? t.dim(t.rank - 1) : 1); }

  // Which of a token's positions gives angle i.
  int stream(int64_t i) const {
    const auto& s = p_.sections;
    if (!p_.mixed) return i < s[0] ? 0 : i < s[0] + s[1] ? 1 : 2;
    return i % 3 != 0 && i < 3 * s[static_cast<size_t>(i % 3)] ? static_cast<int>(i % 3) : 0;
  }

  void mix(const int64_t* ids, int64_t all, int64_t t, int64_t half, const float* cache, float* to) const {
    for (int64_t i = 0; i < half; ++i) to[i] = cache[ids[stream(i) * all + t] * half + i];
  }

  Params p_;
};

constexpr OpDef kDefs[] = {
    {"RotaryEmbedding",
     infer,
     cpu_widened<RotaryCpu>(DType::f32 | DType::f16 | DType::bf16),
     {.reviewed = 1, .in_place = {{0, 0}}},
     "com.microsoft",
     "com.microsoft::RotaryEmbedding 1 (input:T, position_ids:M, cos_cache:T, sin_cache:T) -> (output:T) {scale:f, "
     "interleaved:i, rotary_embedding_dim:i, num_heads:i, is_packed_batching:i} T=f32|f16|bf16 M=i64"},
    {"MRotaryEmbedding",
     infer,
     cpu_widened<RotaryCpu>(DType::f32 | DType::f16 | DType::bf16),
     {.reviewed = 1, .in_place = {{0, 0}}},
     "com.microsoft",
     "com.microsoft::MRotaryEmbedding 1 (input:T, position_ids:M, cos_cache:T, sin_cache:T) -> (output:T) {scale:f, "
     "interleaved:i, rotary_embedding_dim:i, num_heads:i, is_packed_batching:i, mrope_section!:is, mrope_layout:i} "
     "T=f32|f16|bf16 M=i64"},
};

}  // namespace

TRUNNION_OPS(contrib_rotary_embedding, kDefs);

}  // namespace trunnion::ops

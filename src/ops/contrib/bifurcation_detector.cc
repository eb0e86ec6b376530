// BifurcationDetector (com.microsoft 1): takes over predicted tokens as far as they follow the source (and one more),
// then looks for the place in the source where the end of the result stands once.
#include <algorithm>

#include "ops/dispatch.h"
#include "ops/op.h"
#include "ops/shape.h"

namespace trunnion::ops {
namespace {

Status infer(const ir::Node& n, ir::Facts& f) {
  const int64_t low = n.attr("min_ngram_size", 1), high = n.attr("max_ngram_size", 3);
  if (low < 1 || high < low) return invalid_argument("n-gram sizes from {} to {}", low, high);
  for (int i : {0, 1, 3}) TRN_TRY(expect_rank(f, i, 1));
  f.set(0, DType::i64, f.has(3) || !f.has_rank(1) ? unknown_shape(1) : f.in(1).shape());
  f.set(1, DType::i64, f.has_rank(2) ? std::optional(f.in(2).shape()) : std::nullopt);
  return {};
}

class BifurcationCpu final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& n) {
    return std::unique_ptr<Kernel>(new BifurcationCpu(n.attr("min_ngram_size", 1), n.attr("max_ngram_size", 3)));
  }

  Status run(KernelContext& ctx) const override {
    const TensorView &source = ctx.in(0), &current = ctx.in(1), &previous = ctx.in(2);
    const auto* src = source.as<const int64_t>();
    int64_t taken = 0;
    if (ctx.has_in(3)) {
      const int64_t at = previous.count > 0 ? *previous.as<const int64_t>() : -1;
      if (at < 0 || at > source.count)
        return invalid_argument("prev_suffix_match_idx is {}, expected 0 to {}", at, source.count);
      if (ctx.in(3).count != source.count + 1 - at)
        return invalid_argument("pred_tokens has {} elements, expected {}", ctx.in(3).count, source.count + 1 - at);
      const auto* predicted = ctx.in(3).as<const int64_t>();
      taken = std::mismatch(src + at, src + source.count, predicted).second - predicted + 1;
    }
    const int64_t dims[] = {current.count + taken};
    TRN_ASSIGN(TensorView* const tokens, ctx.allocate_output(0, DType::i64, dims));
    auto* to = tokens->as<int64_t>();
    std::copy_n(current.as<const int64_t>(), current.count, to);
    if (taken > 0) std::copy_n(ctx.in(3).as<const int64_t>(), taken, to + current.count);
    TRN_ASSIGN(TensorView* const index, ctx.allocate_output(1, DType::i64, previous.shape()));
    if (index->count > 0) {
      std::fill_n(index->as<int64_t>(), index->count, 0);
      *index->as<int64_t>() = find_end(src, source.count, to, dims[0]);
    }
    return {};
  }

 private:
  BifurcationCpu(int64_t low, int64_t high) : low_(low), high_(high) {}

  // Behind the place of the tokens' last n-gram in the source, for the longest n that is found; -1 when there are more.
  int64_t find_end(const int64_t* src, int64_t count, const int64_t* tokens, int64_t length) const {
    int64_t found = -1;
    const int64_t *end = src + count, *last = tokens + length;
    for (int64_t n = low_; n <= high_ && n <= length; ++n) {
      const auto* at = std::search(src, end, last - n, last);
      if (at == end) break;
      found = at - src + n;
      if (found >= count) break;
      if (std::search(at + 1, end, last - n, last) != end) found = -1;
    }
    return found;
  }

  int64_t low_, high_;
};

constexpr OpDef kDefs[] = {
    {"BifurcationDetector",
     infer,
     cpu<BifurcationCpu>(DTypes(DType::i64)),
     {.reviewed = 1, .dynamic = true},
     "com.microsoft",
     "com.microsoft::BifurcationDetector 1 (src_tokens:T, cur_tokens:T, prev_suffix_match_idx:T, pred_tokens?:T) -> "
     "(tokens:T, suffix_match_idx:T) {min_ngram_size:i=1, max_ngram_size:i=3} T=i64"},
};

}  // namespace

TRUNNION_OPS(bifurcation_detector, kDefs);

}  // namespace trunnion::ops

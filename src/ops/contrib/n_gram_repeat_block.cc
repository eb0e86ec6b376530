// NGramRepeatBlock (com.microsoft 1): the score of a token that would repeat an n-gram of its row becomes -inf.
#include <algorithm>
#include <cstring>
#include <limits>

#include "ops/dispatch.h"
#include "ops/op.h"
#include "ops/shape.h"

namespace trunnion::ops {
namespace {

Status infer(const ir::Node& n, ir::Facts& f) {
  if (n.attr("ngram_size", 0) < 1)
    return invalid_argument("attribute ngram_size is {}, expected 1 or more", n.attr("ngram_size", 0));
  for (int i : {0, 1}) TRN_TRY(expect_rank(f, i, 2));
  f.set(0, f.dtype(1));
  if (!f.has_rank(1)) return {};
  f.set(0, f.dtype(1), f.in(1).shape());
  if (f.has_rank(0) && f.in(0).dim(0).is_int() && f.in(1).dim(0).is_int() && !(f.in(0).dim(0) == f.in(1).dim(0)))
    return invalid_argument("input_ids and scores have {} and {} rows", f.in(0).dim(0).value(), f.in(1).dim(0).value());
  return {};
}

class NGramCpu final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& n) {
    return std::unique_ptr<Kernel>(new NGramCpu(n.attr("ngram_size", 0)));
  }

  Status run(KernelContext& ctx) const override {
    const TensorView &ids = ctx.in(0), &scores = ctx.in(1), &out = ctx.out(0);
    const int64_t length = ids.dim(1), words = scores.dim(1);
    if (out.data != scores.data && out.count > 0) std::memcpy(out.data, scores.data, out.bytes());
    for (int64_t b = 0; b < ids.dim(0); ++b) {
      const auto* row = ids.as<const int64_t>() + b * length;
      const auto* last = row + length - (size_ - 1);  // what a repeated n-gram begins with
      for (int64_t i = 0; i + size_ <= length; ++i) {
        if (!std::equal(row + i, row + i + size_ - 1, last)) continue;
        const int64_t token = row[i + size_ - 1];
        if (token < 0 || token >= words)
          return invalid_argument("input_ids[{},{}] is {}, expected 0 to {}", b, i + size_ - 1, token, words - 1);
        out.as<float>()[b * words + token] = -std::numeric_limits<float>::infinity();
      }
    }
    return {};
  }

 private:
  explicit NGramCpu(int64_t size) : size_(size) {}
  int64_t size_;
};

constexpr OpDef kDefs[] = {
    {"NGramRepeatBlock",
     infer,
     cpu<NGramCpu>(DTypes(DType::f32), 1),
     {.reviewed = 1, .in_place = {{0, 1}}},
     "com.microsoft",
     "com.microsoft::NGramRepeatBlock 1 (input_ids:Tid, scores:T) -> (scores_out:T) {ngram_size!:i} Tid=i64 T=f32"},
};

}  // namespace

TRUNNION_OPS(n_gram_repeat_block, kDefs);

}  // namespace trunnion::ops

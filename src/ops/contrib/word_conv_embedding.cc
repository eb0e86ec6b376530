// WordConvEmbedding (com.microsoft 1): a vector for every word, which is a row of character numbers (0: none). The
// characters' embeddings are convolved along the word, and the largest tanh of every filter is kept.
#include <algorithm>
#include <cmath>

#include "ops/op.h"
#include "ops/shape.h"

namespace trunnion::ops {
namespace {

enum Input { kSequence, kWeights, kBias, kCharacters };

Status expect(const ir::Node& n, const char* name, const Dim& found) {
  const int64_t wanted = n.attr(name, -1);
  if (wanted == -1 || !found.is_int() || found.value() == wanted) return {};
  return invalid_argument("attribute {} is {}, the weights have {}", name, wanted, found.value());
}

Status infer(const ir::Node& n, ir::Facts& f) {
  f.set(0, f.dtype(kWeights));
  TRN_TRY(expect_rank(f, kSequence, 2));
  TRN_TRY(expect_rank(f, kWeights, 4));
  TRN_TRY(expect_rank(f, kBias, 1));
  TRN_TRY(expect_rank(f, kCharacters, 2));
  SymShape y = unknown_shape(2);
  if (f.has_rank(kSequence)) y[0] = f.in(kSequence).dim(0);
  if (f.has_rank(kWeights)) {
    const SymShape& w = f.in(kWeights).shape();
    y[1] = w[0];
    TRN_TRY(expect(n, "embedding_size", w[0]));
    TRN_TRY(expect(n, "conv_window_size", w[2]));
    TRN_TRY(expect(n, "char_embedding_size", w[3]));
    bool fits = !w[1].is_int() || w[1].is_int(1);
    if (f.has_rank(kCharacters)) {
      const Dim& size = f.in(kCharacters).dim(1);
      fits = fits && (!size.is_int() || !w[3].is_int() || size.value() == w[3].value());
    }
    if (f.has_rank(kBias)) {
      const Dim& size = f.in(kBias).dim(0);
      fits = fits && (!size.is_int() || !w[0].is_int() || size.value() == w[0].value());
    }
    if (f.has_rank(kSequence) && f.in(kSequence).dim(1).is_int() && w[2].is_int())
      fits = fits && f.in(kSequence).dim(1).value() >= w[2].value() && w[2].value() > 0;
    if (!fits)
      return invalid_argument(
          "weights of shape {} (filters, 1, window, embedding) do not fit the words, the bias or the characters "
          "(shapes {}, {}, {})",
          shape_text(w), f.has_rank(kSequence) ? shape_text(f.in(kSequence).shape()) : "?",
          f.has_rank(kBias) ? shape_text(f.in(kBias).shape()) : "?",
          f.has_rank(kCharacters) ? shape_text(f.in(kCharacters).shape()) : "?");
  }
  f.set(0, f.dtype(kWeights), std::move(y));
  return {};
}

class WordConvEmbeddingCpu final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node&) {
    return std::unique_ptr<Kernel>(new WordConvEmbeddingCpu);
  }

  Status run(KernelContext& ctx) const override {
    const TensorView &words = ctx.in(kSequence), &w = ctx.in(kWeights), &table = ctx.in(kCharacters), &y = ctx.out(0);
    const int64_t length = words.dim(1), filters = w.dim(0), window = w.dim(2), size = w.dim(3);
    for (int64_t i = 0; i < words.count; ++i) {
      const int32_t c = words.as<int32_t>()[i];
      if (c < 0 || c >= table.dim(0))
        return invalid_argument("Sequence[{},{}] is {}, there are {} characters", i / length, i % length, c,
                                table.dim(0));
    }
    if (y.count == 0) return {};
    const int64_t work = filters * window * size * length;
    ctx.parallel_for(words.dim(0), std::max<int64_t>(1, 65536 / std::max<int64_t>(1, work)),
                     [&](int64_t begin, int64_t end) {
                       for (int64_t i = begin; i < end; ++i)
                         word(words.as<int32_t>() + i * length, length, w, ctx.in(kBias).as<float>(), table.as<float>(),
                              y.as<float>() + i * filters);
                     });
    return {};
  }

 private:
  static void word(const int32_t* chars, int64_t length, const TensorView& w, const float* bias, const float* table,
                   float* y) {
    const int64_t filters = w.dim(0), window = w.dim(2), size = w.dim(3);
    // A word has as many characters as it has numbers above 0, none if it does not begin with one.
    const int64_t used = chars[0] > 0 ? std::count_if(chars, chars + length, [](int32_t c) { return c > 0; }) : 0;
    if (used == 0) {
      std::fill_n(y, filters, 0.0f);
      return;
    }
    const int64_t places = std::max(used, window) - window + 1;
    for (int64_t f = 0; f < filters; ++f) {
      float best = -1;  // no tanh is below
      for (int64_t at = 0; at < places; ++at) {
        float sum = 0;
        for (int64_t k = 0; k < window; ++k) {
          const float *row = table + chars[at + k] * size, *weight = w.as<float>() + (f * window + k) * size;
          for (int64_t e = 0; e < size; ++e) sum += row[e] * weight[e];
        }
        best = std::max(best, std::tanh(sum + bias[f]));
      }
      y[f] = best;
    }
  }
};

constexpr OpDef kDefs[] = {
    {"WordConvEmbedding",
     infer,
     cpu<WordConvEmbeddingCpu>(kF32, kWeights),
     {.reviewed = 1},
     "com.microsoft",
     "com.microsoft::WordConvEmbedding 1 (Sequence:i32, W:T1, B:T1, C:T1) -> (Y:T1) {char_embedding_size:i, "
     "conv_window_size:i, embedding_size:i} T1=f32"}};

}  // namespace

TRUNNION_OPS(word_conv_embedding, kDefs);

}  // namespace trunnion::ops

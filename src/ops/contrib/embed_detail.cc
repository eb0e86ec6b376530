#include "ops/contrib/embed_detail.h"

#include <algorithm>
#include <vector>

#include "kernels/binary.h"
#include "kernels/norm.h"
#include "ops/shape.h"

namespace trunnion::ops {
namespace {

Status expect_ids(const ir::Facts& f, int i, const Dim& batch, const Dim& length, bool repeats) {
  if (!f.has_rank(i)) return {};
  TRN_TRY(expect_rank(f, i, 2));
  const Dim &b = f.in(i).dim(0), &l = f.in(i).dim(1);
  const bool fits = (!b.is_int() || !batch.is_int() || b == batch || (repeats && b.is_int(1))) &&
                    (!l.is_int() || !length.is_int() || l == length);
  if (fits) return {};
  return invalid_argument("input {} has shape {}, expected {}", i, shape_text(f.in(i).shape()),
                          shape_text(SymShape{batch, length}));
}

// Indices are checked before any row is read.
Status check_ids(const TensorView& ids, const char* what, int64_t rows) {
  for (int64_t i = 0; i < ids.count; ++i)
    if (const int32_t v = ids.as<const int32_t>()[i]; v < 0 || v >= rows)
      return invalid_argument("{}[{}] is {}, but the embedding has {} rows", what, i, v, rows);
  return {};
}

}  // namespace

Status infer_embed(ir::Facts& f, const EmbedInputs& in, DType out) {
  f.set(0, out);
  f.set(1, DType::i32);
  f.set(2, out);
  if (f.has(in.segments) != f.has(in.segment_table))
    return invalid_argument("segment ids and the segment embedding must be both there or both absent");
  Dim hidden;
  for (int i : {in.word_table, in.position_table, in.segment_table}) {
    if (!f.has_rank(i)) continue;
    TRN_TRY(expect_rank(f, i, 2));
    const Dim& d = f.in(i).dim(1);
    if (d.is_int() && hidden.is_int() && !(d == hidden))
      return invalid_argument("embeddings have {} and {} columns", hidden.value(), d.value());
    if (!hidden.is_int()) hidden = d;
  }
  for (int i : {in.gamma, in.beta}) {
    TRN_TRY(expect_rank(f, i, 1));
    if (f.has_rank(i) && f.in(i).dim(0).is_int() && hidden.is_int() && !(f.in(i).dim(0) == hidden))
      return invalid_argument("input {} has {} elements, the embeddings have {} columns", i, f.in(i).dim(0).value(),
                              hidden.value());
  }
  if (!f.has_rank(in.words)) return {};
  TRN_TRY(expect_rank(f, in.words, 2));
  const Dim batch = f.in(in.words).dim(0), length = f.in(in.words).dim(1);
  TRN_TRY(expect_ids(f, in.segments, batch, length, false));
  TRN_TRY(expect_ids(f, in.mask, batch, length, false));
  TRN_TRY(expect_ids(f, in.positions, batch, length, true));
  f.set(0, out, SymShape{batch, length, hidden});
  f.set(1, DType::i32, SymShape{batch});
  f.set(2, out, SymShape{batch, length, hidden});
  return {};
}

int64_t embed_scratch(int64_t hidden) { return 3 * hidden; }

Status run_embed(KernelContext& ctx, const EmbedInputs& in, const float* gamma, const float* beta, float epsilon,
                 EmbedRow row) {
  const TensorView &words = ctx.in(in.words), &y = ctx.out(0);
  const int64_t length = words.dim(1), hidden = y.dim(2);
  TRN_TRY(check_ids(words, "input_ids", ctx.in(in.word_table).dim(0)));
  const bool segments = ctx.has_in(in.segments), given = ctx.has_in(in.positions);
  if (segments) TRN_TRY(check_ids(ctx.in(in.segments), "segment_ids", ctx.in(in.segment_table).dim(0)));
  if (given)
    TRN_TRY(check_ids(ctx.in(in.positions), "position_ids", ctx.in(in.position_table).dim(0)));
  else if (length > ctx.in(in.position_table).dim(0))
    return invalid_argument("{} positions, but the position embedding has {} rows", length,
                            ctx.in(in.position_table).dim(0));
  const auto* word = words.as<const int32_t>();
  const auto* segment = segments ? ctx.in(in.segments).as<const int32_t>() : nullptr;
  const auto* position = given ? ctx.in(in.positions).as<const int32_t>() : nullptr;
  const int64_t positions = given ? ctx.in(in.positions).count : 1;
  float* sum = ctx.has_out(2) ? ctx.out(2).as<float>() : nullptr;
  if (ctx.has_out(1)) {
    auto* index = ctx.out(1).as<int32_t>();
    for (int64_t b = 0; b < words.dim(0); ++b) {
      const auto* mask = ctx.has_in(in.mask) ? ctx.in(in.mask).as<const int32_t>() + b * length : nullptr;
      index[b] = mask ? static_cast<int32_t>(std::count(mask, mask + length, 1)) : 0;
    }
  }
  if (y.count == 0) return {};
  const auto add = kernels::binary(kernels::BinaryOp::add, kernels::Elem::f32, kernels::BinaryShape::vector_vector);
  ctx.parallel_for(words.count, 8192 / hidden + 1, [&](int64_t begin, int64_t end) {
    std::vector<float> own(static_cast<size_t>(embed_scratch(hidden)));
    for (int64_t t = begin; t < end; ++t) {
      const int64_t at = position ? position[t % positions] : t % length;
      const float* w = row(in.word_table, word[t], own.data());
      const float* p = row(in.position_table, at, own.data() + hidden);
      float* total = sum ? sum + t * hidden : y.as<float>() + t * hidden;
      add(w, p, total, static_cast<size_t>(hidden));
      if (segment)
        add(total, row(in.segment_table, segment[t], own.data() + 2 * hidden), total, static_cast<size_t>(hidden));
      kernels::norm().layer(total, gamma, beta, y.as<float>() + t * hidden, nullptr, nullptr, 1, hidden, epsilon);
    }
  });
  return {};
}

}  // namespace trunnion::ops

#include "ops/contrib/key_mask_detail.h"

#include <algorithm>

#include "ops/shape.h"

namespace trunnion::ops {

Result<KeyMask> KeyMask::of(std::span<const int64_t> dims, int64_t batch, int64_t queries, int64_t total) {
  KeyMask m{Form::none, batch, queries, total};
  if (dims.size() == 1 && (dims[0] == batch || dims[0] == 3 * batch + 2)) {
    m.form = Form::ends;
  } else if (dims.size() == 1 && dims[0] == 2 * batch) {
    m.form = Form::ends_and_starts;
  } else if (dims.size() == 2 && dims[0] == batch && dims[1] == total) {
    m.form = Form::keys;
  } else if (dims.size() == 3 && dims[0] == batch && dims[1] == queries && dims[2] == total) {
    m.form = Form::rows;
  } else if (dims.size() == 4) {
    return not_implemented("a mask of 4 dimensions ({}) is not supported", shape_text(dims));
  } else {
    return invalid_argument("the mask has shape {}: expected {{{}}}, {{{}}}, {{{},{}}} or {{{},{},{}}}",
                            shape_text(dims), batch, 2 * batch, batch, total, batch, queries, total);
  }
  return m;
}

AttentionBias KeyMask::fill(KernelContext& ctx, const int32_t* mask, float filter, float* to) const {
  if (form == Form::none) return {};
  ctx.parallel_for(rows(), 65536 / std::max<int64_t>(total, 1) + 1, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      float* row = to + r * total;
      if (form == Form::keys || form == Form::rows) {
        for (int64_t i = 0; i < total; ++i) row[i] = mask[r * total + i] > 0 ? 0 : filter;
        continue;
      }
      const int64_t last = std::clamp<int64_t>(mask[r], 0, total);
      const int64_t first = form == Form::ends ? 0 : std::clamp<int64_t>(mask[batch + r], 0, total);
      std::fill(row, row + total, 0.0f);
      std::fill(row + last, row + total, filter);
      std::fill(row, row + first, filter);
    }
  });
  return {to, form == Form::rows ? queries * total : total, 0, form == Form::rows ? total : 0};
}

Status check_key_mask(const SymShape& mask, const Dim& batch, const Dim& queries, const Dim& total) {
  const SymShape wanted[] = {{batch}, {batch, total}, {batch, queries, total}};
  if (mask.size() == 4) return not_implemented("a mask of 4 dimensions ({}) is not supported", shape_text(mask));
  if (mask.empty() || mask.size() > 4)
    return invalid_argument("the mask has shape {}: expected 1 to 3 dimensions", shape_text(mask));
  if (mask.size() == 1) return {};  // several forms: told apart when the sizes are known
  const SymShape& want = wanted[mask.size() - 1];
  for (size_t i = 0; i < mask.size(); ++i)
    if (mask[i].is_int() && want[i].is_int() && !(mask[i] == want[i]))
      return invalid_argument("the mask has shape {}, expected {}", shape_text(mask), shape_text(want));
  return {};
}

}  // namespace trunnion::ops

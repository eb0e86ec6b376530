// NonMaxSuppression (ai.onnx 10, 11): keeps the boxes of every class that do not overlap a better one too much.
#include <algorithm>
#include <cmath>

#include "ops/op.h"
#include "ops/shape.h"

namespace trunnion::ops {
namespace {

Status infer(const ir::Node&, ir::Facts& f) {
  TRN_TRY(expect_rank(f, 0, 3));
  TRN_TRY(expect_rank(f, 1, 3));
  if (f.has_rank(0) && f.in(0).dim(2).is_int() && !f.in(0).dim(2).is_int(4))
    return invalid_argument("boxes have shape {}, need 4 numbers each", shape_text(f.in(0).shape()));
  if (f.has_rank(0) && f.has_rank(1))
    for (const auto& [b, s] : {std::pair(0, 0), std::pair(1, 2)})
      if (f.in(0).dim(b).is_int() && f.in(1).dim(s).is_int() && !(f.in(0).dim(b) == f.in(1).dim(s)))
        return invalid_argument("boxes of shape {} do not go with scores of shape {}", shape_text(f.in(0).shape()),
                                shape_text(f.in(1).shape()));
  f.set(0, DType::i64, SymShape{Dim(), Dim(3)});
  return {};
}

struct Box {
  float top, left, bottom, right, area;
};
Box read_box(const float* b, bool center) {
  float top, left, bottom, right;
  if (center) {
    left = b[0] - b[2] / 2;
    right = b[0] + b[2] / 2;
    top = b[1] - b[3] / 2;
    bottom = b[1] + b[3] / 2;
  } else {  // two corners in any order
    top = std::min(b[0], b[2]);
    bottom = std::max(b[0], b[2]);
    left = std::min(b[1], b[3]);
    right = std::max(b[1], b[3]);
  }
  return {top, left, bottom, right, (bottom - top) * (right - left)};
}
bool overlap(const Box& a, const Box& b, float threshold) {
  const float height = std::min(a.bottom, b.bottom) - std::max(a.top, b.top),
              width = std::min(a.right, b.right) - std::max(a.left, b.left);
  if (!(height > 0) || !(width > 0)) return false;
  const float both = height * width, either = a.area + b.area - both;
  return a.area > 0 && b.area > 0 && either > 0 && both / either > threshold;
}

class NmsKernel final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& node) {
    return std::unique_ptr<Kernel>(new NmsKernel(node.attr("center_point_box", 0) != 0));
  }

  Status run(KernelContext& ctx) const override {
    const TensorView &boxes = ctx.in(0), &scores = ctx.in(1);
    if (boxes.rank != 3 || scores.rank != 3 || boxes.dim(2) != 4 || boxes.dim(0) != scores.dim(0) ||
        boxes.dim(1) != scores.dim(2))
      return invalid_argument("boxes of shape {} do not go with scores of shape {}", shape_text(boxes.shape()),
                              shape_text(scores.shape()));
    const int64_t images = scores.dim(0), classes = scores.dim(1), count = scores.dim(2);
    int64_t most = 0;
    float iou = 0, least = 0;
    TRN_TRY(read_scalar(ctx, 2, most));
    TRN_TRY(read_scalar(ctx, 3, iou));
    TRN_TRY(read_scalar(ctx, 4, least));
    if (!(iou >= 0 && iou <= 1)) return invalid_argument("iou_threshold is {}, expected a value in [0, 1]", iou);
    most = std::clamp<int64_t>(most, 0, count);
    const bool filter = ctx.has_in(4) && ctx.in(4).count > 0;

    std::vector<std::vector<int64_t>> kept(static_cast<size_t>(most ? images * classes : 0));
    ctx.parallel_for(
        static_cast<int64_t>(kept.size()), 8192 / std::max<int64_t>(count, 1) + 1, [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i)
            kept[static_cast<size_t>(i)] = select(boxes.as<float>() + i / classes * count * 4,
                                                  scores.as<float>() + i * count, count, most, iou, filter, least);
        });
    int64_t total = 0;
    for (const auto& k : kept) total += static_cast<int64_t>(k.size());
    const int64_t dims[] = {total, 3};
    TRN_ASSIGN(TensorView * y, ctx.allocate_output(0, DType::i64, dims));
    int64_t* to = y->as<int64_t>();
    for (size_t i = 0; i < kept.size(); ++i)
      for (int64_t b : kept[i]) {
        *to++ = static_cast<int64_t>(i) / classes;
        *to++ = static_cast<int64_t>(i) % classes;
        *to++ = b;
      }
    return {};
  }

 private:
  explicit NmsKernel(bool center) : center_(center) {}

  template <class T>
  static Status read_scalar(KernelContext& ctx, int i, T& out) {
    if (!ctx.has_in(i) || ctx.in(i).count == 0) return {};
    if (ctx.in(i).count != 1) return invalid_argument("input {} has {} elements, needs one", i, ctx.in(i).count);
    out = *ctx.in(i).as<T>();
    return {};
  }

  std::vector<int64_t> select(const float* boxes, const float* scores, int64_t count, int64_t most, float iou,
                              bool filter, float least) const {
    struct Candidate {
      float score;
      int64_t box;
    };
    // Best first; of equal scores the first box. A heap, as often only few are looked at.
    const auto worse = [](const Candidate& a, const Candidate& b) {
      return a.score != b.score ? a.score < b.score : a.box > b.box;
    };
    std::vector<Candidate> heap;
    for (int64_t i = 0; i < count; ++i)
      if (!std::isnan(scores[i]) && (!filter || scores[i] > least)) heap.push_back({scores[i], i});
    std::make_heap(heap.begin(), heap.end(), worse);
    std::vector<Box> taken;
    std::vector<int64_t> out;
    while (!heap.empty() && static_cast<int64_t>(out.size()) < most) {
      std::pop_heap(heap.begin(), heap.end(), worse);
      const int64_t i = heap.back().box;
      heap.pop_back();
      const Box box = read_box(boxes + i * 4, center_);
      if (std::any_of(taken.begin(), taken.end(), [&](const Box& b) { return overlap(b, box, iou); })) continue;
      taken.push_back(box);
      out.push_back(i);
    }
    return out;
  }

  bool center_;
};

constexpr OpDef kDefs[] = {{"NonMaxSuppression", infer, cpu<NmsKernel>(kF32), {.reviewed = 11, .dynamic = true}}};

}  // namespace

TRUNNION_OPS(non_max_suppression, kDefs);
}  // namespace trunnion::ops

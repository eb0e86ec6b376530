// Transpose (ai.onnx 1 ... 25): permutes the dimensions; without perm it reverses them.
#include "kernels/transpose.h"

#include <algorithm>

#include "kernels/convert.h"
#include "ops/dispatch.h"
#include "ops/move.h"
#include "ops/op.h"
#include "ops/shape.h"

namespace trunnion::ops {
namespace {

using kernels::TransposePlan;

struct Params {
  std::vector<int64_t> perm;  // empty: reversed
  bool given;

  Result<std::vector<int64_t>> for_rank(int64_t rank) const {
    std::vector<int64_t> p = perm;
    if (!given) {
      for (int64_t i = rank; i-- > 0;) p.push_back(i);
      return p;
    }
    std::vector<bool> seen(static_cast<size_t>(rank));
    bool good = static_cast<int64_t>(p.size()) == rank;
    for (int64_t& v : p) {
      if (v < 0) v += rank;
      good = good && v >= 0 && v < rank && !seen[v];
      if (good) seen[v] = true;
    }
    if (!good) return invalid_argument("perm [{}] is no permutation of {} axes", fmt::join(perm, ","), rank);
    return p;
  }
};
Params read(const ir::Node& n) { return {n.ints("perm"), n.has_attr("perm")}; }

Status infer(const ir::Node& n, ir::Facts& f) {
  if (!f.has(0)) return {};
  const Params p = read(n);
  if (!f.has_rank(0)) {
    f.set(0, f.dtype(0), p.given ? std::optional(unknown_shape(static_cast<int>(p.perm.size()))) : std::nullopt);
    return {};
  }
  TRN_ASSIGN(const auto perm, p.for_rank(f.in(0).rank()));
  SymShape out;
  for (int64_t d : perm) out.push_back(f.in(0).dim(static_cast<int>(d)));
  f.set(0, f.dtype(0), std::move(out));
  f.out(0).content = f.in(0).content;  // rank 0 or 1
  return {};
}

struct TransposeState final : KernelState {
  TransposePlan plan;          // of whole bytes
  kernels::CopyShape strings;  // strings move by strides
  bool packed = false;         // sub-byte types: unpacked to bytes, moved, packed again
  int64_t grain = 1;
};

class TransposeKernel final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& node) {
    return std::unique_ptr<Kernel>(new TransposeKernel(read(node)));
  }

  Result<std::unique_ptr<KernelState>> prepare(PrepareContext& ctx) const override {
    const TensorView& x = ctx.in(0);
    auto s = std::make_unique<TransposeState>();
    TRN_TRY(expect_copy_rank(x.rank));
    TRN_ASSIGN(const auto perm, p_.for_rank(x.rank));
    s->packed = is_sub_byte(x.dtype);
    if (s->packed) ctx.request_scratch(2 * static_cast<size_t>(x.count));
    if (x.dtype == DType::string) {
      const Shape in = row_major_strides(x.shape());
      s->strings.rank = x.rank;
      for (int d = 0; d < x.rank; ++d) {
        s->strings.dim[d] = x.dim(static_cast<int>(perm[d]));
        s->strings.src_stride[d] = in[perm[d]];
      }
      kernels::contiguous_strides(s->strings.dim, x.rank, s->strings.dst_stride);
    } else {
      const size_t size = s->packed ? 1 : size_of(x.dtype);
      if (!kernels::transpose_plan(x.dims, perm.data(), x.rank, size, s->plan))
        return not_implemented("shape {} with perm [{}] is not supported", shape_text(x.shape()), fmt::join(perm, ","));
      s->grain = std::max<int64_t>(1, 65536 / std::max<int64_t>(1, s->plan.unit_bytes));
    }
    return std::unique_ptr<KernelState>(std::move(s));
  }

  Status run(KernelContext& ctx) const override {
    const auto& s = *ctx.state<TransposeState>();
    const TensorView& x = ctx.in(0);
    TensorView& y = ctx.out(0);
    if (x.count == 0) return {};
    if (x.dtype == DType::string) {
      copy_strided(ctx, x.data, y.data, s.strings, x.dtype);
      return {};
    }
    const void* from = x.data;
    void* to = y.data;
    if (s.packed) {
      auto* wide = reinterpret_cast<uint8_t*>(ctx.scratch());
      kernels::unpack_bits(x.as<const uint8_t>(), wide, static_cast<size_t>(x.count), elem(x.dtype));
      from = wide;
      to = wide + x.count;
    }
    ctx.parallel_for(s.plan.units, s.grain,
                     [&](int64_t begin, int64_t end) { kernels::transpose(s.plan, from, to, begin, end); });
    if (s.packed)
      kernels::pack_bits(static_cast<const uint8_t*>(to), y.as<uint8_t>(), static_cast<size_t>(x.count), elem(x.dtype));
    return {};
  }

 private:
  explicit TransposeKernel(Params p) : p_(std::move(p)) {}
  Params p_;
};

constexpr OpDef kDefs[] = {{"Transpose", infer, cpu<TransposeKernel>(kAllTypes), {.reviewed = 25}}};

}  // namespace

TRUNNION_OPS(transpose, kDefs);
}  // namespace trunnion::ops

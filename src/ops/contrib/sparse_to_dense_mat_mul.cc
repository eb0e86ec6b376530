// SparseToDenseMatMul (com.microsoft 1): alpha * A' B' of a sparse matrix (coordinates or compressed rows) and a dense
// one; transA and transB swap dimensions.
#include <algorithm>

#include "ops/dispatch.h"
#include "ops/op.h"
#include "ops/shape.h"

namespace trunnion::ops {
namespace {

struct Params {
  bool trans_a, trans_b;
  float alpha;
};
Params read(const ir::Node& n) { return {n.attr("transA", 0) != 0, n.attr("transB", 0) != 0, n.attr("alpha", 1.0f)}; }

Status infer(const ir::Node& n, ir::Facts& f) {
  const Params p = read(n);
  TRN_TRY(expect_rank(f, 0, 2));
  TRN_TRY(expect_rank(f, 1, 2));
  SymShape y = unknown_shape(2);
  if (f.has_rank(0)) y[0] = f.in(0).dim(p.trans_a ? 1 : 0);
  if (f.has_rank(1)) y[1] = f.in(1).dim(p.trans_b ? 0 : 1);
  if (f.has_rank(0) && f.has_rank(1)) {
    const Dim &ka = f.in(0).dim(p.trans_a ? 0 : 1), &kb = f.in(1).dim(p.trans_b ? 1 : 0);
    if (ka.is_int() && kb.is_int() && ka.value() != kb.value())
      return invalid_argument("the inner dimensions are {} and {}", ka.value(), kb.value());
  }
  f.set(0, f.dtype(1), std::move(y));
  return {};
}

class SparseToDenseMatMulCpu final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& n) {
    return std::unique_ptr<Kernel>(new SparseToDenseMatMulCpu(read(n)));
  }

  Status run(KernelContext& ctx) const override {
    const Value value = ctx.input_value(0);
    if (value.kind() != Value::Kind::sparse_tensor) return invalid_argument("input 0 is no sparse tensor");
    const SparseTensor& a = value.sparse();
    const TensorView& b = ctx.in(1);
    if (a.dense_shape.size() != 2) return invalid_argument("input 0 has rank {}, needs 2", a.dense_shape.size());
    if (a.values.dtype() != b.dtype) return invalid_argument("the two inputs have different element types");
    if (b.rank != 2) return invalid_argument("input 1 has rank {}, needs 2", b.rank);
    const int64_t inner = a.dense_shape[p_.trans_a ? 0 : 1],
                  dims[] = {a.dense_shape[p_.trans_a ? 1 : 0], b.dim(p_.trans_b ? 0 : 1)};
    if (inner != b.dim(p_.trans_b ? 1 : 0))
      return invalid_argument("the inner dimensions are {} and {}", inner, b.dim(p_.trans_b ? 1 : 0));
    TRN_ASSIGN(TensorView * out, ctx.allocate_output(0, b.dtype, dims));
    const TensorView& y = *out;
    constexpr DTypes kTypes = DType::f32 | DType::f64 | DType::i32 | DType::i64 | DType::u32 | DType::u64;
    return dispatch<kTypes.bits()>(b.dtype, [&]<class T>() -> Status {
      std::fill_n(y.as<T>(), y.count, T(0));
      return each(a, [&](int64_t row, int64_t col, int64_t entry) -> Status {
        if (p_.trans_a) std::swap(row, col);
        const int64_t n = dims[1];
        if (row < 0 || row >= dims[0] || col < 0 || col >= inner)
          return invalid_argument("entry {} of the sparse input stands at ({}, {}), outside of {} x {}", entry, row,
                                  col, dims[0], inner);
        const T v = static_cast<T>(a.values.data<T>()[entry] * static_cast<T>(p_.alpha));
        T* to = y.as<T>() + row * n;
        for (int64_t j = 0; j < n; ++j)
          to[j] = static_cast<T>(to[j] + v * b.as<T>()[p_.trans_b ? j * b.dim(1) + col : col * n + j]);
        return {};
      });
    });
  }

 private:
  explicit SparseToDenseMatMulCpu(Params p) : p_(p) {}

  // fn(row, column, entry) for all entries.
  template <class F>
  static Status each(const SparseTensor& a, F&& fn) {
    const int64_t count = a.values.count(), cols = a.dense_shape[1];
    const auto* at = a.indices.data<int64_t>();
    if (a.format == SparseTensor::Format::coo) {
      const bool linear = a.indices.rank() == 1;
      if (a.indices.count() != count * (linear ? 1 : 2) || (linear && count > 0 && cols < 1))
        return invalid_argument("{} sparse values have {} indices", count, a.indices.count());
      for (int64_t i = 0; i < count; ++i)
        TRN_TRY(linear ? fn(at[i] / cols, at[i] % cols, i) : fn(at[2 * i], at[2 * i + 1], i));
      return {};
    }
    if (a.format != SparseTensor::Format::csr) return not_implemented("a sparse input in blocks");
    const auto* begin = a.outer_indices.data<int64_t>();
    if (a.indices.count() != count || (count > 0 && a.outer_indices.count() != a.dense_shape[0] + 1))
      return invalid_argument("{} sparse values have {} inner and {} outer indices", count, a.indices.count(),
                              a.outer_indices.count());
    for (int64_t row = 0; count > 0 && row < a.dense_shape[0]; ++row)
      for (int64_t i = begin[row]; i < begin[row + 1]; ++i) {
        if (i < 0 || i >= count) return invalid_argument("outer index {} is {}, there are {} values", row, i, count);
        TRN_TRY(fn(row, at[i], i));
      }
    return {};
  }

  Params p_;
};

constexpr OpDef kDefs[] = {
    {"SparseToDenseMatMul",
     infer,
     cpu<SparseToDenseMatMulCpu>(DType::f32 | DType::f64 | DType::i32 | DType::i64 | DType::u32 | DType::u64, 1),
     {.reviewed = 1, .dynamic = true},
     "com.microsoft",
     "com.microsoft::SparseToDenseMatMul 1 (A:T, B:T1) -> (Y:T1) {alpha:f=1, transA:i=0, transB:i=0} "
     "T=sparse(f32|f64|i64|i32|u64|u32) T1=f32|f64|i64|i32|u64|u32"}};

}  // namespace

TRUNNION_OPS(sparse_to_dense_mat_mul, kDefs);

}  // namespace trunnion::ops

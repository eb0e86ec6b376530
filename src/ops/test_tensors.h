// Tensors and checks that operator tests share beyond op_test.h.
#pragma once
#include <cmath>
#include <cstring>

#include "kernels/convert.h"
#include "ops/dispatch.h"
#include "ops/op_test.h"

namespace trunnion::ops::test {

// A tensor of any plain or packed type from its bytes.
template <class T>
Tensor raw(DType type, std::initializer_list<int64_t> dims, const std::vector<T>& data) {
  auto t = Tensor::allocate(type, std::vector<int64_t>(dims));
  EXPECT_TRUE(t.ok());
  EXPECT_EQ(t->bytes(), data.size() * sizeof(T));
  if (!data.empty()) std::memcpy(t->raw(), data.data(), t->bytes());
  return *t;
}
template <class T>
std::vector<T> raw_values(const Value& v) {
  std::vector<T> out(v.tensor().bytes() / sizeof(T));
  if (!out.empty()) std::memcpy(out.data(), v.tensor().raw(), v.tensor().bytes());
  return out;
}

inline Tensor half(std::initializer_list<int64_t> dims, const std::vector<float>& values) {
  std::vector<uint16_t> bits;
  for (float v : values) bits.push_back(Half(v).bits);
  return raw(DType::f16, dims, bits);
}
inline Tensor bfloat(std::initializer_list<int64_t> dims, const std::vector<float>& values) {
  std::vector<uint16_t> bits;
  for (float v : values) bits.push_back(Bfloat(v).bits);
  return raw(DType::bf16, dims, bits);
}
// Elements of an f16 or bf16 tensor.
inline std::vector<float> widened(const Value& v) {
  std::vector<float> out;
  for (uint16_t b : raw_values<uint16_t>(v))
    out.push_back(v.tensor().dtype() == DType::f16 ? kernels::f16_to_f32(b) : kernels::bf16_to_f32(b));
  return out;
}
inline std::vector<std::string> texts(const Value& v) {
  EXPECT_EQ(v.tensor().dtype(), DType::string);
  auto s = v.tensor().span<std::string>();
  return {s.begin(), s.end()};
}

// The outputs, or a failure with the message (then empty values).
inline std::vector<Value> outputs(const OpRun& op) {
  auto r = run(op);
  EXPECT_TRUE(r.ok()) << r.status().message();
  return r.ok() ? std::move(r).value() : std::vector<Value>(static_cast<size_t>(op.outputs), Value(Tensor()));
}
inline Value output(const OpRun& op) { return outputs(op)[0]; }

// The message of a run that must fail.
inline std::string failure(const OpRun& op) {
  const auto r = run(op);
  EXPECT_FALSE(r.ok());
  return r.status().message();
}

// "{N,3}" of output i as infer sees it; "?" without a rank, the error's text when there is one.
inline std::string inferred(const OpRun& op, const std::vector<ir::Fact>& facts, int i = 0) {
  const auto r = infer(op, facts);
  if (!r.ok()) return r.status().message();
  return (*r)[i].has_rank() ? shape_text((*r)[i].shape()) : "?";
}
// Its content in the same form.
inline std::string content(const OpRun& op, const std::vector<ir::Fact>& facts, int i = 0) {
  const auto r = infer(op, facts);
  if (!r.ok()) return r.status().message();
  return (*r)[i].content ? shape_text(*(*r)[i].content) : "none";
}
inline Dim symbol(const char* name) { return Dim::symbol(name); }
inline ir::Fact fact(SymShape shape, DType type = DType::f32) { return ir::Fact::tensor(type, std::move(shape)); }
// A rank-1 int64 tensor with that content.
inline ir::Fact content_fact(std::vector<Dim> values) {
  ir::Fact f = ir::Fact::tensor(DType::i64, SymShape{Dim(static_cast<int64_t>(values.size()))});
  f.content = std::move(values);
  return f;
}

using Ints = std::vector<int64_t>;
using Floats = std::vector<float>;

}  // namespace trunnion::ops::test

// FusedElementwise: what a tape gives is what its steps give one by one, bit by bit.
#include "kernels/binary.h"
#include "kernels/unary.h"
#include "ops/test_tensors.h"

namespace trunnion::ops::test {
namespace {

using Strings = std::vector<std::string>;

OpRun tape(std::vector<Value> inputs, Strings ops, Ints args, Floats numbers = {}) {
  if (numbers.empty()) numbers.resize(2 * ops.size());
  return {.op = "FusedElementwise",
          .opset = 1,
          .inputs = std::move(inputs),
          .attrs = {{"ops", std::move(ops), {}}, {"args", std::move(args), {}}, {"numbers", std::move(numbers), {}}},
          .domain = "trunnion"};
}

Tensor wave(std::vector<int64_t> dims, float step = 0.37f) {
  auto t = Tensor::allocate(DType::f32, dims);
  EXPECT_TRUE(t.ok());
  for (int64_t i = 0; i < t->count(); ++i) t->data<float>()[i] = 3 * std::sin(step * static_cast<float>(i));
  return *t;
}

OpRun plain(const char* op, std::vector<Value> inputs, std::vector<ir::Attr> attrs = {}) {
  return {.op = op, .opset = 21, .inputs = std::move(inputs), .attrs = std::move(attrs)};
}

TEST(FusedElementwise, ByHand) {
  // (x + 1) * (2 - x), then at most 2
  const OpRun run = tape({tensor<float>({4}, {0, 1, 2, 3}), tensor<float>({}, {1}), tensor<float>({1}, {2})},
                         {"add", "sub", "mul", "clip"}, {0, 1, 2, 0, 3, 4, 5, 0}, {0, 0, 0, 0, 0, 0, -5, 1.5f});
  EXPECT_EQ(values<float>(output(run)), (Floats{1.5f, 1.5f, 0, -4}));
}

// tanh(a * b + c) - |a| against the operators one after the other.
TEST(FusedElementwise, BitsOfTheSteps) {
  const std::vector<std::vector<int64_t>> shapes[] = {{{4, 700}, {4, 700}, {700}},
                                                      {{3, 5, 40}, {3, 1, 1}, {5, 1}},
                                                      {{2, 3, 200}, {3, 1}, {2, 1, 1}},
                                                      {{1}, {1}, {1}},
                                                      {{3, 1, 7}, {4, 1}, {2, 1, 1, 1}},
                                                      {{5, 1000}, {}, {5, 1}},
                                                      {{2, 3, 4, 5}, {2, 1, 4, 1}, {5}},
                                                      {{1, 64}, {64}, {64}},
                                                      {{0, 3}, {3}, {}}};
  for (const auto& s : shapes) {
    const Tensor a = wave(s[0]), b = wave(s[1], 0.7f), c = wave(s[2], 1.3f);
    const Value product = output(plain("Mul", {a, b})), sum = output(plain("Add", {product, c}));
    const Value want = output(plain("Sub", {output(plain("Tanh", {sum})), output(plain("Abs", {a}))}));
    const Value got = output(tape({a, b, c}, {"mul", "add", "tanh", "abs", "sub"}, {0, 1, 3, 2, 4, 0, 0, 0, 5, 6}));
    EXPECT_EQ(shape(got), shape(want));
    EXPECT_EQ(raw_values<uint32_t>(got), raw_values<uint32_t>(want)) << shape_text(a.shape());
  }
}

TEST(FusedElementwise, SingleElementsAmongBlocks) {
  // A chain of single elements joins a block; where its result goes may not be where it lies.
  const Tensor x = wave({1000}), s = tensor<float>({1}, {0.25f});
  const Value want =
      output(plain("Sub", {output(plain("Exp", {s})), output(plain("Mul", {x, output(plain("Neg", {s}))}))}));
  const Value got = output(tape({x, s}, {"exp", "neg", "mul", "sub"}, {1, 0, 1, 0, 0, 3, 2, 4}));
  EXPECT_EQ(raw_values<uint32_t>(got), raw_values<uint32_t>(want));
}

TEST(FusedElementwise, MoreResultsThanSlots) {
  Strings ops;
  Ints args;
  for (int i = 0; i < 14; ++i) {
    ops.push_back("exp");
    args.insert(args.end(), {i, 0});
  }
  for (int i = 0; i < 14; ++i) {
    ops.push_back("add");
    args.insert(args.end(), {1 + i, i == 0 ? 0 : 14 + i});
  }
  EXPECT_NE(failure(tape({wave({8})}, ops, args)).find("more than 12 intermediate results"), std::string::npos);
}

TEST(FusedElementwise, RefusesWhatIsNoTape) {
  EXPECT_NE(failure(tape({wave({2})}, {"frob"}, {0, 0})).find("'frob', which is no element-wise operation"),
            std::string::npos);
  EXPECT_NE(failure(tape({wave({2})}, {"add"}, {0, 1})).find("step 0 reads 0 and 1, there are 1 values before it"),
            std::string::npos);
  EXPECT_NE(failure(tape({wave({2}), wave({3})}, {"add"}, {0, 1})).find("{2}"), std::string::npos);
}

TEST(FusedElementwise, Infer) {
  const OpRun run = tape({}, {"add", "relu"}, {0, 1, 2, 0});
  EXPECT_EQ(inferred(run, {fact({symbol("N"), 3}), fact({3})}), "{N,3}");
}

}  // namespace
}  // namespace trunnion::ops::test

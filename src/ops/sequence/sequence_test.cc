#include "ops/test_tensors.h"

namespace trunnion::ops::test {
namespace {

Value sequence(std::vector<Tensor> tensors, DType type = DType::f32) {
  Sequence s;
  s.element = Type::tensor(type);
  for (Tensor& t : tensors) s.items.emplace_back(std::move(t));
  return Value(std::move(s));
}
Value result(const OpRun& op) {
  auto r = run(op);
  EXPECT_TRUE(r.ok()) << r.status().message();
  return r.ok() ? (*r)[0] : Value(Sequence{});
}
// Elements of a sequence of float vectors.
std::vector<Floats> items(const Value& v) {
  std::vector<Floats> out;
  EXPECT_EQ(v.kind(), Value::Kind::sequence);
  for (const Value& item : v.sequence().items) out.push_back(values<float>(item));
  return out;
}

const Tensor a = tensor<float>({2}, {1, 2}), b = tensor<float>({1}, {3}), c = tensor<float>({3}, {4, 5, 6});

TEST(Sequence, ConstructEmptyLength) {
  EXPECT_EQ(items(result({.op = "SequenceConstruct", .inputs = {a, b}})), (std::vector<Floats>{{1, 2}, {3}}));
  const Value e = result({.op = "SequenceEmpty", .attrs = {{"dtype", int64_t{7}}}});
  EXPECT_EQ(e.type().text(), "seq(tensor(int64))");
  EXPECT_EQ(values<int64_t>(output({.op = "SequenceLength", .inputs = {e}})), (Ints{0}));
  EXPECT_EQ(values<int64_t>(output({.op = "SequenceLength", .inputs = {sequence({a, b, c})}})), (Ints{3}));
}

TEST(Sequence, AtInsertErase) {
  const Value s = sequence({a, b, c});
  EXPECT_EQ(values<float>(output({.op = "SequenceAt", .inputs = {s, tensor<int64_t>({}, {-1})}})), (Floats{4, 5, 6}));
  EXPECT_NE(failure({.op = "SequenceAt", .inputs = {s, tensor<int32_t>({}, {3})}}).find("position 3"),
            std::string::npos);
  EXPECT_EQ(items(result({.op = "SequenceInsert", .inputs = {s, b}})),
            (std::vector<Floats>{{1, 2}, {3}, {4, 5, 6}, {3}}));
  EXPECT_EQ(items(result({.op = "SequenceInsert", .inputs = {s, b, tensor<int64_t>({}, {-2})}})),
            (std::vector<Floats>{{1, 2}, {3}, {3}, {4, 5, 6}}));
  EXPECT_EQ(items(result({.op = "SequenceInsert", .inputs = {s, b, tensor<int64_t>({}, {3})}})),
            (std::vector<Floats>{{1, 2}, {3}, {4, 5, 6}, {3}}));
  EXPECT_FALSE(run({.op = "SequenceInsert", .inputs = {s, b, tensor<int64_t>({}, {4})}}).ok());
  EXPECT_FALSE(run({.op = "SequenceInsert", .inputs = {s, tensor<int64_t>({1}, {1})}}).ok());
  EXPECT_EQ(items(result({.op = "SequenceErase", .inputs = {s}})), (std::vector<Floats>{{1, 2}, {3}}));
  EXPECT_EQ(items(result({.op = "SequenceErase", .inputs = {s, tensor<int64_t>({}, {0})}})),
            (std::vector<Floats>{{3}, {4, 5, 6}}));
  EXPECT_FALSE(run({.op = "SequenceErase", .inputs = {sequence({})}}).ok());
}

TEST(Sequence, SplitAndConcat) {
  const Tensor x = tensor<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  Value s = result({.op = "SplitToSequence", .inputs = {x, tensor<int64_t>({}, {2})}, .attrs = {{"axis", int64_t{1}}}});
  EXPECT_EQ(items(s), (std::vector<Floats>{{1, 2, 4, 5}, {3, 6}}));
  EXPECT_EQ(values<float>(output({.op = "ConcatFromSequence", .inputs = {s}, .attrs = {{"axis", int64_t{-1}}}})),
            (Floats{1, 2, 3, 4, 5, 6}));
  s = result({.op = "SplitToSequence", .inputs = {x}, .attrs = {{"axis", int64_t{-2}}, {"keepdims", int64_t{0}}}});
  EXPECT_EQ(items(s), (std::vector<Floats>{{1, 2, 3}, {4, 5, 6}}));
  EXPECT_EQ(shape(s.sequence().items[0]), (Ints{3}));
  const auto y =
      output({.op = "ConcatFromSequence", .inputs = {s}, .attrs = {{"axis", int64_t{1}}, {"new_axis", int64_t{1}}}});
  EXPECT_EQ(shape(y), (Ints{3, 2}));
  EXPECT_EQ(values<float>(y), (Floats{1, 4, 2, 5, 3, 6}));
  s = result({.op = "SplitToSequence", .inputs = {strings({3}, {"a", "b", "c"}), tensor<int32_t>({2}, {1, 2})}});
  EXPECT_EQ(texts(s.sequence().items[1]), (std::vector<std::string>{"b", "c"}));
  EXPECT_NE(failure({.op = "SplitToSequence", .inputs = {x, tensor<int64_t>({2}, {1, 2})}}).find("sum up to 3"),
            std::string::npos);
  EXPECT_NE(failure({.op = "ConcatFromSequence", .inputs = {sequence({a, x})}, .attrs = {{"axis", int64_t{0}}}})
                .find("element 1"),
            std::string::npos);
  EXPECT_FALSE(run({.op = "ConcatFromSequence", .inputs = {sequence({})}, .attrs = {{"axis", int64_t{0}}}}).ok());
}

TEST(Optional, ElementsAndNone) {
  const Value some = result({.op = "Optional", .opset = 18, .inputs = {a}});
  EXPECT_EQ(values<float>(some), (Floats{1, 2}));
  const auto none = run({.op = "Optional", .opset = 18, .attrs = {{"type", Type::tensor(DType::f32)}}});
  ASSERT_TRUE(none.ok()) << none.status().message();
  EXPECT_FALSE((*none)[0].has_value());
  EXPECT_EQ(values<float>(output({.op = "OptionalGetElement", .opset = 18, .inputs = {a}})), (Floats{1, 2}));
  EXPECT_EQ(items(result({.op = "OptionalGetElement", .opset = 18, .inputs = {sequence({b})}})),
            (std::vector<Floats>{{3}}));
  EXPECT_EQ(values<bool>(output({.op = "OptionalHasElement", .opset = 18, .inputs = {a}})), (std::vector<bool>{true}));
  EXPECT_EQ(values<bool>(output({.op = "OptionalHasElement", .opset = 18, .inputs = {sequence({})}})),
            (std::vector<bool>{true}));
  EXPECT_EQ(values<bool>(output({.op = "OptionalHasElement", .opset = 18})), (std::vector<bool>{false}));
}

}  // namespace
}  // namespace trunnion::ops::test

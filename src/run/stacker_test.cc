// Stacking the results of iterations: along any axis, in either direction, of all kinds of elements.
#include "run/stacker.h"

#include "run/test_program.h"

namespace trunnion::run::test {
namespace {

Result<Tensor> stack(const std::vector<Tensor>& pieces, int64_t axis, bool reverse, int64_t expected = -1) {
  Stacker s(expected);
  for (const auto& t : pieces) TRN_TRY(s.add(t.view()));
  EXPECT_EQ(s.pieces(), static_cast<int64_t>(pieces.size()));
  return std::move(s).finish(axis, reverse, DType::f32, Shape{7});
}

std::vector<Tensor> pairs(int n) {
  std::vector<Tensor> out;
  for (int i = 0; i < n; ++i) out.push_back(counting({2, 2}, 10 * static_cast<float>(i)));
  return out;
}

TEST(Stacker, AlongTheFirstAxis) {
  for (int64_t expected : {int64_t{-1}, int64_t{3}, int64_t{1}, INT64_MAX}) {
    const auto t = stack(pairs(3), 0, false, expected);
    ASSERT_TRUE(t.ok());
    EXPECT_EQ(t->shape(), (Shape{3, 2, 2}));
    EXPECT_EQ(floats_of(*t), (Floats{0, 1, 2, 3, 10, 11, 12, 13, 20, 21, 22, 23}));
  }
}

TEST(Stacker, AlongOtherAxesAndBackwards) {
  EXPECT_EQ(floats_of(*stack(pairs(3), 0, true)), (Floats{20, 21, 22, 23, 10, 11, 12, 13, 0, 1, 2, 3}));
  for (int64_t axis : {1, -2}) {
    const auto t = stack(pairs(3), axis, false);
    EXPECT_EQ(t->shape(), (Shape{2, 3, 2}));
    EXPECT_EQ(floats_of(*t), (Floats{0, 1, 10, 11, 20, 21, 2, 3, 12, 13, 22, 23}));
  }
  for (int64_t axis : {2, -1}) {
    const auto t = stack(pairs(2), axis, true);
    EXPECT_EQ(t->shape(), (Shape{2, 2, 2}));
    EXPECT_EQ(floats_of(*t), (Floats{10, 0, 11, 1, 12, 2, 13, 3}));
  }
  for (int64_t axis : {3, -4}) EXPECT_EQ(stack(pairs(2), axis, false).status().code(), Code::invalid_argument);
}

TEST(Stacker, ScalarsManyOfThem) {
  Stacker s;
  for (int64_t i = 0; i < 5000; ++i) ASSERT_TRUE(s.add(ints({}, {i}).view()).ok());
  const auto t = std::move(s).finish(0, false, DType::f32, Shape{});
  EXPECT_EQ(t->shape(), (Shape{5000}));
  EXPECT_EQ(t->dtype(), DType::i64);
  for (int64_t i = 0; i < 5000; ++i) ASSERT_EQ(t->data<int64_t>()[i], i);
}

TEST(Stacker, Strings) {
  const std::string lengthy(100, 'x');
  const auto t = stack({strings({2}, {"a", lengthy}), strings({2}, {"", "b"})}, 1, true);
  ASSERT_TRUE(t.ok());
  EXPECT_EQ(t->shape(), (Shape{2, 2}));
  const auto s = t->span<std::string>();
  EXPECT_EQ(std::vector<std::string>(s.begin(), s.end()), (std::vector<std::string>{"", "a", "b", lengthy}));
}

TEST(Stacker, NothingAndEmptyPieces) {
  const auto none = stack({}, 1, false);
  EXPECT_EQ(none->shape(), (Shape{7, 0}));
  EXPECT_EQ(none->dtype(), DType::f32);
  const auto empty = stack({counting({0, 3}), counting({0, 3})}, 0, false);
  EXPECT_EQ(empty->shape(), (Shape{2, 0, 3}));
}

TEST(Stacker, PiecesMustBeAlike) {
  const auto shapes = stack({counting({2}), counting({3})}, 0, false);
  EXPECT_EQ(shapes.status().code(), Code::invalid_argument);
  EXPECT_NE(shapes.status().message().find("iteration 1 gave {3}"), std::string::npos) << shapes.status().message();
  EXPECT_EQ(stack({counting({2}), ints({2}, {1, 2})}, 0, false).status().code(), Code::invalid_argument);
}

TEST(Stacker, PackedElements) {
  const auto nibbles = [](uint8_t a, uint8_t b) {  // three elements of four bits
    auto t = Tensor::allocate(DType::u4, Shape{3});
    t->data<uint8_t>()[0] = a;
    t->data<uint8_t>()[1] = b;
    return *t;
  };
  const auto bytes = [](const Tensor& t) { return std::vector<int>(t.data<uint8_t>(), t.data<uint8_t>() + t.bytes()); };
  const std::vector<Tensor> pieces = {nibbles(0x21, 0x03), nibbles(0x54, 0x06)};
  EXPECT_EQ(bytes(*stack(pieces, 0, false)), (std::vector<int>{0x21, 0x43, 0x65}));
  EXPECT_EQ(bytes(*stack(pieces, 1, true)), (std::vector<int>{0x14, 0x25, 0x36}));
}

}  // namespace
}  // namespace trunnion::run::test

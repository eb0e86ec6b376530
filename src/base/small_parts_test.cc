// Tests of the one-header parts: function_ref.h, checked_math.h, status.h, error.h.
#include <gtest/gtest.h>

#include <climits>
#include <memory>
#include <string>

#include "base/checked_math.h"
#include "base/error.h"
#include "base/function_ref.h"
#include "base/status.h"

namespace trunnion {
namespace {

int twice(int x) { return 2 * x; }
int apply(FunctionRef<int(int)> f, int x) { return f(x); }

TEST(FunctionRef, CallsLambdasFunctionsAndObjects) {
  int calls = 0;
  EXPECT_EQ(apply([&](int x) { return ++calls, x + 1; }, 4), 5);
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(apply(twice, 4), 8);
  EXPECT_EQ(apply(&twice, 4), 8);
  auto counter = [n = 0](int x) mutable { return n += x; };
  FunctionRef<int(int)> ref = counter;
  ref(3);
  FunctionRef<int(int)> copy = ref;
  EXPECT_EQ(copy(4), 7);  // the same object
  const auto constant = [](int x) { return -x; };
  EXPECT_EQ(apply(constant, 3), -3);
}

TEST(FunctionRef, PassesMoveOnlyArgumentsAndDropsResults) {
  auto take = [](std::unique_ptr<int> p) { return *p; };
  FunctionRef<int(std::unique_ptr<int>)> ref = take;
  EXPECT_EQ(ref(std::make_unique<int>(9)), 9);
  int seen = 0;
  auto returns = [&](int x) { return seen = x; };
  FunctionRef<void(int)> nothing = returns;
  nothing(6);
  EXPECT_EQ(seen, 6);
}

TEST(CheckedMath, AddSubMul) {
  EXPECT_EQ(checked_add<int64_t>(1, 2), 3);
  EXPECT_EQ(checked_add(INT64_MAX, 1), std::nullopt);
  EXPECT_EQ(checked_add(INT64_MIN, -1), std::nullopt);
  EXPECT_EQ(checked_sub(INT64_MIN, 1), std::nullopt);
  EXPECT_EQ(checked_sub<size_t>(1, 2), std::nullopt);
  EXPECT_EQ(checked_mul<int64_t>(INT64_MAX / 2, 2), INT64_MAX - 1);
  EXPECT_EQ(checked_mul<int64_t>(INT64_MAX / 2 + 1, 2), std::nullopt);
  EXPECT_EQ(checked_mul(INT64_MIN, -1), std::nullopt);
  EXPECT_EQ(checked_mul<size_t>(SIZE_MAX, 1), SIZE_MAX);
  EXPECT_EQ(checked_mul<size_t>(SIZE_MAX, 2), std::nullopt);
}

TEST(CheckedMath, Casts) {
  EXPECT_EQ(checked_cast<int8_t>(127), 127);
  EXPECT_EQ(checked_cast<int8_t>(128), std::nullopt);
  EXPECT_EQ(checked_cast<size_t>(int64_t{-1}), std::nullopt);
  EXPECT_EQ(checked_cast<int64_t>(SIZE_MAX), std::nullopt);
  EXPECT_EQ(checked_cast<uint32_t>(int64_t{4294967295}), 4294967295u);
}

TEST(CheckedMath, Products) {
  auto product = [](std::initializer_list<int64_t> v) {
    return checked_product(std::span<const int64_t>(v.begin(), v.size()));
  };
  EXPECT_EQ(product({}), 1);
  EXPECT_EQ(product({2, 3, 4}), 24);
  EXPECT_EQ(product({INT64_MAX, 2}), std::nullopt);
  EXPECT_EQ(product({INT64_MAX, 2, 0}), 0);
  EXPECT_EQ(product({0, INT64_MAX, 2}), 0);
}

TEST(CheckedMath, DivisionRoundingAndRanges) {
  EXPECT_EQ(ceil_div<int64_t>(0, 3), 0);
  EXPECT_EQ(ceil_div<int64_t>(7, 3), 3);
  EXPECT_EQ(ceil_div<int64_t>(INT64_MAX, 2), INT64_MAX / 2 + 1);
  EXPECT_EQ(checked_round_up<size_t>(65, 64), 128u);
  EXPECT_EQ(checked_round_up<size_t>(64, 64), 64u);
  EXPECT_EQ(checked_round_up<size_t>(SIZE_MAX, 64), std::nullopt);
  EXPECT_TRUE(range_fits(0, 0, 0));
  EXPECT_TRUE(range_fits(3, 7, 10));
  EXPECT_FALSE(range_fits(3, 8, 10));
  EXPECT_FALSE(range_fits(UINT64_MAX, 2, 10));
  EXPECT_FALSE(range_fits(2, UINT64_MAX, 10));
}

Status fails_when(bool fail) {
  if (fail) return not_implemented("{} of {}", 1, "two");
  return {};
}
Status tries(bool fail) {
  TRN_TRY(fails_when(fail));
  return {};
}
Result<std::string> gives(bool fail) {
  if (fail) return invalid_graph("node '{}'", "n");
  return "text";
}
Result<size_t> length(bool fail) {
  TRN_ASSIGN(std::string text, gives(fail));
  return text.size();
}

TEST(Status, CarriesCodeTextAndContext) {
  EXPECT_TRUE(tries(false).ok());
  Status status = tries(true);
  EXPECT_EQ(status.code(), Code::not_implemented);
  EXPECT_EQ(status.message(), "1 of two");
  EXPECT_EQ(status.with_context("loading").message(), "loading: 1 of two");
  EXPECT_EQ(status.with_context("loading").code(), Code::not_implemented);
  EXPECT_TRUE(Status().with_context("loading").ok());
  EXPECT_EQ(Status().message(), "");
  EXPECT_EQ(sizeof(Status), 2 * sizeof(void*));
}

TEST(Result, ValueOrReason) {
  EXPECT_EQ(length(false).value(), 4u);
  EXPECT_TRUE(length(false).status().ok());
  EXPECT_EQ(length(true).status().code(), Code::invalid_graph);
  EXPECT_EQ(length(true).status().message(), "node 'n'");
  Result<std::unique_ptr<int>> owned = std::make_unique<int>(3);
  std::unique_ptr<int> out = std::move(owned).value();
  EXPECT_EQ(*out, 3);
}

}  // namespace
}  // namespace trunnion

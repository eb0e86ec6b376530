// A run with shapes that have been seen allocates nothing but its outputs.
#include "base/count_allocations.h"
#include "run/test_program.h"

namespace trunnion::run::test {
namespace {

using trunnion::test::count_allocations;

constexpr int64_t kPerOutput = 2;  // the elements and what counts their owners

// Allocations of one run, after two with the same shapes.
int64_t allocations_of_a_run(TestProgram& p, const std::vector<Value>& inputs) {
  std::vector<Feed> feeds;
  for (const auto& v : inputs) feeds.push_back(feed_of(v));
  std::vector<Value> outputs(p.program().outputs.size());
  int64_t n = 0;
  for (int i = 0; i < 3; ++i) {
    for (auto& o : outputs) o = {};
    Status s;
    n = count_allocations([&] { s = p.executor().run(p.env, feeds, outputs); });
    EXPECT_TRUE(s.ok()) << s.message();
  }
  return n;
}

class SteadyState : public testing::Test {
 protected:
  void SetUp() override {
    if (!TRUNNION_COUNTS_ALLOCATIONS) GTEST_SKIP() << "allocations are not counted in this build";
  }
};

TEST_F(SteadyState, TheCounterCounts) {
  Tensor t;
  EXPECT_EQ(count_allocations([&] { t = *Tensor::allocate(DType::f32, Shape{3}); }), kPerOutput);
}

TEST_F(SteadyState, ANetworkAllocatesItsOutputsOnly) {
  auto pool = std::make_shared<ThreadPool>(ThreadPool::Options{.threads = 2});
  for (int threads : {1, 2}) {
    TestProgram p(R"(<opset: "" 17>
net(float[N,3,H,W] x, float[N,4] e, int64[N] ids) => (float[N,10] y, float[N,4] z, float[?,?] s) {
  float[16,3,3,3] w1 = random(1)
  float[16] b1 = random(2)
  float[16,1,3,3] wd = random(3)
  float[16,16,1,1] wp = random(4)
  float[10,16] w2 = random(5)
  float[10] b2 = random(6)
  float[4] scale = random(7)
  float[4] bias = random(8)
  float[9,4] table = random(9)
  float[4,4] wm = random(10)
  int64[2] wide = {-1, 4}
  int64[1] one = {1}
  c = Conv<pads=[1,1,1,1]>(x, w1, b1)
  r = Relu(c)
  d = Conv<pads=[1,1,1,1], group=16, strides=[2,2]>(r, wd)
  m = MaxPool<kernel_shape=[2,2], strides=[2,2]>(d)
  q = Conv(m, wp)
  g = Sigmoid(q)
  h = Mul(q, g)
  p = GlobalAveragePool(h)
  f = Flatten(p)
  y = Gemm<transB=1>(f, w2, b2)
  n = LayerNormalization(e, scale, bias)
  t = Gather(table, ids)
  u = MatMul(n, wm)
  v = Sum(u, t, u)
  o = Softmax(v)
  tr = Transpose<perm=[1,0]>(o)
  mean = ReduceMean<axes=[0], keepdims=1>(tr)
  a = Mul(tr, mean)
  b = Transpose(a)
  mask = Greater(n, b)
  z = Where(mask, b, n)
  left, right = Split<axis=1>(z)
  cat = Concat<axis=1>(right, left)
  s = Reshape(cat, wide)
})",
                  threads);
    ASSERT_TRUE(p.ok());
    if (threads > 1) p.env.pool = pool.get();
    const auto inputs = [](int64_t n, int64_t size) {
      return std::vector<Value>{counting({n, 3, size, size}), counting({n, 4}),
                                ints({n}, std::vector<int64_t>(static_cast<size_t>(n), 5))};
    };
    const auto small = inputs(1, 8), large = inputs(3, 40);
    EXPECT_EQ(allocations_of_a_run(p, small), 3 * kPerOutput) << threads;
    EXPECT_EQ(allocations_of_a_run(p, large), 3 * kPerOutput) << threads;
    EXPECT_EQ(allocations_of_a_run(p, small), 3 * kPerOutput) << threads;
  }
}

TEST_F(SteadyState, ManyInputsAndOutputs) {
  std::string text = "<opset: \"\" 17>\ng(", outputs, nodes;
  std::vector<Value> inputs;
  for (int i = 0; i < 80; ++i) {
    const auto n = std::to_string(i);
    text += (i ? ", float[N,2,1,1] x" : "float[N,2,1,1] x") + n;
    outputs += (i ? ", float[N,2,1,1] y" : "float[N,2,1,1] y") + n;
    nodes += "  y" + n + " = Neg(x" + n + ")\n";
    inputs.push_back(counting({3, 2, 1, 1}));
  }
  TestProgram p(text + ") => (" + outputs + ") {\n" + nodes + "}");
  ASSERT_TRUE(p.ok());
  EXPECT_EQ(allocations_of_a_run(p, inputs), 80 * kPerOutput);
}

// Where shapes depend on elements, what steps give lies in memory that is used again.
TEST_F(SteadyState, DynamicValuesReuseTheirMemory) {
  TestProgram p(R"(<opset: "" 17>
g(float[N] x) => (float[?] y) {
  zero = Sub(x, x)
  positive = Greater(x, zero)
  some = Compress(x, positive)
  y = Neg(some)
})");
  ASSERT_TRUE(p.ok());
  const size_t held = [&] {
    p.results({counting({1000}, -500)});
    return p.executor().arena_bytes();
  }();
  for (int i = 0; i < 10; ++i) p.results({counting({1000}, -500)});
  EXPECT_EQ(p.executor().arena_bytes(), held);
}

}  // namespace
}  // namespace trunnion::run::test

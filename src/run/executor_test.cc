// Running programs: random graphs against node-by-node evaluation, shapes that depend on elements, many threads, memory
// that stays bounded, buffers of the caller.
#include "run/executor.h"

#include <atomic>
#include <thread>

#include "base/os.h"
#include "ops/random_graph.h"
#include "run/test_program.h"

namespace trunnion::run::test {
namespace {

using ops::test::RandomGraph;

std::shared_ptr<ir::Graph> borrowed(RandomGraph& g) {
  return {&g.graph(), [](ir::Graph*) {}};
}

TEST(Executor, RandomGraphsGiveWhatTheirNodesGive) {
  auto pool = std::make_shared<ThreadPool>(ThreadPool::Options{.threads = 2});
  for (unsigned seed = 0; seed < 120; ++seed) {
    RandomGraph random(1000 + seed, 45, seed % 2 == 0);
    const auto s = random.finish();
    ASSERT_TRUE(s.ok()) << s.message();
    TestProgram p(borrowed(random), seed % 3 == 0 ? 2 : 1);
    ASSERT_TRUE(p.ok());
    if (p.env.threads > 1) p.env.pool = pool.get();
    for (int64_t rows : {3, 1, 0, 3, 17}) {
      const std::vector<Tensor> in = {RandomGraph::input(rows, seed), RandomGraph::input(rows, seed + 1)};
      const auto expected = random.reference(in);
      ASSERT_TRUE(expected.ok()) << expected.status().message();
      const auto got = p.results({in[0], in[1]});
      for (size_t k = 0; k < got.size(); ++k)
        ASSERT_TRUE(same_bytes(got[k], (*expected)[k]))
            << "seed " << seed << ", " << rows << " rows, output " << k << "\n"
            << ir::print(random.graph());
    }
  }
}

// r is a view of what NonZero made, and is read long after NonZero's output itself.
constexpr std::string_view kHeldByAView = R"(<opset: "" 17>
g(float[N] x, float[N] z) => (int64[?] y) {
  int64[1] flat = {-1}
  at = NonZero(x)
  r = Reshape(at, flat)
  other = NonZero(z)
  third = NonZero(z)
  s = Reshape(other, flat)
  t = Reshape(third, flat)
  u = Concat<axis=0>(r, s, t)
  y = Neg(u)
})";

TEST(Executor, AViewKeepsADynamicValueAlive) {
  TestProgram p(kHeldByAView);
  ASSERT_TRUE(p.ok());
  for (int round = 0; round < 3; ++round) {
    const auto r = p.results({floats({5}, {0, 1, 2, 3, 4}), floats({5}, {1, 0, 0, 0, 1})});
    EXPECT_EQ(values<int64_t>(r[0]), (std::vector<int64_t>{-1, -2, -3, -4, 0, -4, 0, -4}));
    const auto few = p.results({floats({5}, {0, 0, 0, 0, 7}), floats({5}, {1, 1, 1, 1, 1})});
    EXPECT_EQ(values<int64_t>(few[0]), (std::vector<int64_t>{-4, 0, -1, -2, -3, -4, 0, -1, -2, -3, -4}));
  }
}

TEST(Executor, ResultsOutliveLaterRuns) {
  TestProgram p(kHeldByAView);
  TestProgram direct(R"(<opset: "" 17>
g(float[N] x) => (int64[1,?] at, int64[1,?] again) {
  at = NonZero(x)
  again = Identity(at)
})");
  ASSERT_TRUE(p.ok() && direct.ok());
  const auto first = direct.results({floats({3}, {1, 0, 1})});
  for (int i = 0; i < 3; ++i) direct.results({floats({3}, {1, 1, 1})});
  EXPECT_EQ(values<int64_t>(first[0]), (std::vector<int64_t>{0, 2}));
  EXPECT_EQ(values<int64_t>(first[1]), (std::vector<int64_t>{0, 2}));
}

TEST(Executor, KeepsAtMostSixtyFourPlans) {
  TestProgram p(R"(<opset: "" 17>
g(float[N] x) => (float[N] y) {
  t = Neg(x)
  y = Relu(t)
})");
  ASSERT_TRUE(p.ok());
  for (int64_t n = 0; n < 200; ++n) {
    EXPECT_EQ(shape_of(p.results({counting({n}, -3)})[0]), (Shape{n}));
    EXPECT_EQ(p.executor().plans().roots(), std::min<size_t>(static_cast<size_t>(n) + 1, 64));
  }
}

size_t resident() { return os::memory_use().resident_bytes; }

TEST(Executor, MemoryIsBoundedWhenSizesDependOnElements) {
  TestProgram p(R"(<opset: "" 17>
g(float[N] x) => (float[?] y) {
  zero = Sub(x, x)
  positive = Greater(x, zero)
  some = Compress(x, positive)
  a = Neg(some)
  b = Relu(some)
  c = Add(a, b)
  at = NonZero(c)
  f = Cast<to=1>(at)
  int64[1] flat = {-1}
  g = Reshape(f, flat)
  y = Sqrt(g)
})");
  ASSERT_TRUE(p.ok());
  const int64_t most = 20000;
  const auto run = [&](int64_t size, int64_t i) {
    Tensor x = counting({size}, -static_cast<float>(i * 7919 % size) - 1);  // all but the first so many are positive
    const auto y = p.results({x});
    EXPECT_LT(y[0].tensor().count(), size);
  };
  for (int64_t i = 0; i < 1000; ++i) run(most, i);
  const size_t before = resident();
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  const int64_t runs = 1000;
#else
  const int64_t runs = 10000;
#endif
  for (int64_t i = 0; i < runs; ++i) run(1 + i * 104729 % most, i);
  const size_t after = resident();
  EXPECT_LE(p.executor().plans().followers(), PlanCache::kMaxFollowers);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  EXPECT_LT(after, before + (size_t{8} << 20)) << "from " << before << " to " << after;
#endif
  EXPECT_LT(p.executor().arena_bytes(), 40 * static_cast<size_t>(most));
  p.executor().trim();
  EXPECT_EQ(p.executor().arena_bytes(), 0u);
}

TEST(Executor, FillsTheCallersBuffers) {
  TestProgram p(R"(<opset: "" 17>
g(float[N,2] x) => (float[N,2] y, float[?] flat, int64[1,?] at) {
  int64[1] all = {-1}
  t = Neg(x)
  y = Relu(t)
  u = Abs(x)
  flat = Reshape(u, all)
  line = Reshape(t, all)
  at = NonZero(line)
})");
  ASSERT_TRUE(p.ok());
  const Value x = floats({2, 2}, {1, -2, 3, -4});
  const Feed feeds[] = {feed_of(x)};
  std::vector<Value> out = {counting({2, 2}), counting({4}), ints({1, 4}, {0, 0, 0, 0})};
  const void* buffers[] = {out[0].tensor().raw(), out[1].tensor().raw(), out[2].tensor().raw()};
  const auto s = p.executor().run(p.env, feeds, out);
  ASSERT_TRUE(s.ok()) << s.message();
  for (size_t k = 0; k < 3; ++k) EXPECT_EQ(out[k].tensor().raw(), buffers[k]);
  EXPECT_EQ(floats_of(out[0]), (Floats{0, 2, 0, 4}));
  EXPECT_EQ(floats_of(out[1]), (Floats{1, 2, 3, 4}));
  EXPECT_EQ(values<int64_t>(out[2]), (std::vector<int64_t>{0, 1, 2, 3}));

  std::vector<Value> wrong = {counting({2, 3}), {}, {}};
  const auto refused = p.executor().run(p.env, feeds, wrong);
  EXPECT_EQ(refused.code(), Code::invalid_argument);
  EXPECT_NE(refused.message().find("'y'"), std::string::npos) << refused.message();
  EXPECT_FALSE(wrong[1].has_value());
}

TEST(Executor, OutputsThatNobodyWantsAreNotHandedOut) {
  TestProgram p(R"(<opset: "" 17>
g(float[2] x) => (float[2] y, float[2] z) {
  y = Neg(x)
  z = Abs(x)
})");
  ASSERT_TRUE(p.ok());
  const Value x = floats({2}, {1, -2});
  const Feed feeds[] = {feed_of(x)};
  std::vector<Value> out(2);
  const bool wanted[] = {false, true};
  ASSERT_TRUE(p.executor().run(p.env, feeds, out, wanted).ok());
  EXPECT_EQ(floats_of(out[1]), (Floats{1, 2}));
}

TEST(Executor, ManyThreadsAndShapes) {
  auto pool = std::make_shared<ThreadPool>(ThreadPool::Options{.threads = 2});
  RandomGraph random(77, 60, true);
  ASSERT_TRUE(random.finish().ok());
  TestProgram p(borrowed(random), 2);
  ASSERT_TRUE(p.ok());
  p.env.pool = pool.get();
  std::vector<std::vector<Tensor>> in;
  std::vector<std::vector<Value>> expected;
  for (unsigned k = 0; k < 5; ++k) {
    in.push_back({RandomGraph::input(k * 3, k), RandomGraph::input(k * 3, 50 + k)});
    auto r = random.reference(in.back());
    ASSERT_TRUE(r.ok());
    expected.push_back(std::move(*r));
  }
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (size_t t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      for (size_t i = 0; i < 100; ++i) {
        const size_t k = (t + i) % in.size();
        const auto r = p.run({in[k][0], in[k][1]});
        if (!r.ok()) ++wrong;
        for (size_t o = 0; r.ok() && o < r->size(); ++o) wrong += !same_bytes((*r)[o], expected[k][o]);
      }
    });
  for (auto& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(p.executor().plans().roots(), 5u);
}

TEST(Executor, ErrorsNameTheNodeAndTheNextRunIsWhole) {
  TestProgram p(R"(<opset: "" 17>
g(float[N] x, int64[M] at) => (float[?] y) {
  t = Neg(x)
  [picker] u = Gather(t, at)
  y = Neg(u)
})");
  ASSERT_TRUE(p.ok());
  const auto message = p.failure({counting({3}), ints({1}, {7})});
  EXPECT_NE(message.find("Gather node. Name:'picker'"), std::string::npos) << message;
  EXPECT_EQ(floats_of(p.results({counting({3}), ints({2}, {2, 0})})[0]), (Floats{2, 0}));
}

TEST(Executor, TerminateIsSeenBetweenSteps) {
  TestProgram p(R"(<opset: "" 17>
g(float[2] x) => (float[2] y) {
  y = Neg(x)
})");
  ASSERT_TRUE(p.ok());
  const std::atomic<bool> stop{true};
  p.env.terminate = &stop;
  EXPECT_EQ(p.failure({counting({2})}), terminated().message());
}

}  // namespace
}  // namespace trunnion::run::test

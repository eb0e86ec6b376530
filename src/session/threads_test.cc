// Concurrency: many threads and shapes on one session, sessions born and dying beside it, a forked child, termination.
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "session/test_model.h"

namespace trunnion::session::test {
namespace {

constexpr std::string_view kNet = R"(<opset: "" 17>
net(float[N,3,H,W] x) => (float[N,10] y) {
  float[16,3,3,3] w1 = random(1)
  float[16] b1 = random(2)
  float[10,16] w2 = random(3)
  float[10] b2 = random(4)
  c = Conv<pads=[1,1,1,1]>(x, w1, b1)
  r = Relu(c)
  p = GlobalAveragePool(r)
  f = Flatten(p)
  y = Gemm<transB=1>(f, w2, b2)
})";

constexpr std::string_view kEndless = R"(<opset: "" 17>
g(float[1] x) => (float[1] y) {
  int64[] many = 4611686018427387904
  bool[] go = true
  float[1] one = {1}
  y = Loop<body=step(int64[] i, bool[] c, float[1] v) => (co, w) {
      co = Identity(c)
      w = Add(v, one)
    }>(many, go, x)
})";

Options two_threads() {
  Options o;
  o.intra_op_threads = 2;
  return o;
}

TEST(Threads, ManyThreadsAndShapesGiveTheSameBits) {
  auto s = load(kNet, two_threads());
  ASSERT_TRUE(s.ok()) << s.status().message();
  const std::vector<std::vector<int64_t>> shapes = {{1, 3, 16, 16}, {2, 3, 9, 31}, {3, 3, 24, 8}};
  std::vector<std::vector<float>> expected;
  for (const auto& shape : shapes) {
    auto r = run(**s, {floats(shape, -1, 0.001f)});
    ASSERT_TRUE(r.ok()) << r.status().message();
    expected.push_back(floats_of((*r)[0]));
  }
  std::atomic<int> wrong{0}, failed{0};
  std::atomic<bool> stop{false};
  std::thread other([&] {  // sessions born and dying beside it
    while (!stop) {
      auto t = load(kNet, two_threads());
      if (!t.ok() || !run(**t, {floats({1, 3, 8, 8})}).ok()) ++failed;
    }
  });
  std::vector<std::thread> threads;
  for (size_t t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      for (size_t i = 0; i < 60; ++i) {
        const size_t k = (t + i) % shapes.size();
        auto r = run(**s, {floats(shapes[k], -1, 0.001f)});
        if (!r.ok())
          ++failed;
        else if (floats_of((*r)[0]) != expected[k])
          ++wrong;
      }
    });
  for (auto& t : threads) t.join();
  stop = true;
  other.join();
  EXPECT_EQ(failed, 0);
  EXPECT_EQ(wrong, 0);
}

TEST(Threads, OneThreadAndTwoGiveTheSameBits) {
  Options one;
  one.intra_op_threads = 1;
  auto a = load(kNet, one), b = load(kNet, two_threads());
  ASSERT_TRUE(a.ok() && b.ok());
  const Value x = floats({2, 3, 40, 33}, -2, 0.0007f);
  EXPECT_EQ(floats_of((*run(**a, {x}))[0]), floats_of((*run(**b, {x}))[0]));
}

TEST(Threads, TerminateStopsALoop) {
  auto s = load(kEndless);
  ASSERT_TRUE(s.ok()) << s.status().message();
  RunOptions options;
  Status status;
  std::thread runner([&] { status = run(**s, {floats({1})}, options).status(); });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  options.terminate = true;
  runner.join();
  EXPECT_EQ(status.code(), Code::fail);
  EXPECT_NE(status.message().find("Exiting due to terminate flag being set to true."), std::string::npos);
  EXPECT_FALSE(run(**s, {floats({1})}, options).ok());  // still set
}

TEST(Threads, AForkedChildRuns) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizer does not follow threads into a forked child";
#endif
  auto s = load(kNet, two_threads());
  ASSERT_TRUE(s.ok());
  const Value x = floats({2, 3, 32, 32}, -1, 0.001f);
  const auto expected = floats_of((*run(**s, {x}))[0]);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    auto r = run(**s, {x});
    _exit(r.ok() && floats_of((*r)[0]) == expected ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_EQ(floats_of((*run(**s, {x}))[0]), expected);
}

}  // namespace
}  // namespace trunnion::session::test

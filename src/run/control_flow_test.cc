// If, Loop, Scan and SequenceMap: every form, zero iterations, captures through several levels, shapes that change,
// errors that name the node, termination.
#include "run/control_flow.h"

#include <atomic>
#include <thread>

#include "run/test_program.h"

namespace trunnion::run::test {
namespace {

TEST(If, BranchesOfDifferentShapeAndNestedCaptures) {
  TestProgram p(R"(<opset: "" 17>
g(float[2] x, bool[] outer, bool[] inner) => (float[?] y, float[2] z) {
  float[3] c = {7, 8, 9}
  a = Neg(x)
  y, z = If<then_branch=t() => (o, q) {
      b = Neg(a)
      o = If<then_branch=tt() => (m) { m = Add(b, x) }, else_branch=te() => (n) { n = Sub(b, a) }>(inner)
      q = Identity(x)
    }, else_branch=e() => (r, s) {
      r = Neg(c)
      s = Mul(a, a)
    }>(outer)
})");
  ASSERT_TRUE(p.ok());
  for (int round = 0; round < 2; ++round) {
    auto r = p.results({floats({2}, {1, 2}), flag(true), flag(true)});
    EXPECT_EQ(floats_of(r[0]), (Floats{2, 4}));
    EXPECT_EQ(floats_of(r[1]), (Floats{1, 2}));
    r = p.results({floats({2}, {1, 2}), flag(true), flag(false)});
    EXPECT_EQ(floats_of(r[0]), (Floats{2, 4}));
    r = p.results({floats({2}, {1, 2}), flag(false), flag(true)});
    EXPECT_EQ(floats_of(r[0]), (Floats{-7, -8, -9}));
    EXPECT_EQ(floats_of(r[1]), (Floats{1, 4}));
  }
}

TEST(If, ABranchThatGivesWhatItCapturesOrAConstant) {
  TestProgram p(R"(<opset: "" 17>
g(float[2] x, bool[] which) => (float[?] y, float[2] z) {
  a = Neg(x)
  y = If<then_branch=t() => (o) { o = Identity(a) }, else_branch=e() => (c) { float[1] c = {5} }>(which)
  z = Neg(a)
})");
  ASSERT_TRUE(p.ok());
  EXPECT_EQ(floats_of(p.results({floats({2}, {1, 2}), flag(true)})[0]), (Floats{-1, -2}));
  EXPECT_EQ(floats_of(p.results({floats({2}, {1, 2}), flag(false)})[0]), (Floats{5}));
}

TEST(If, ConditionsMustBeOneElement) {
  TestProgram p(R"(<opset: "" 17>
g(float[2] x, bool[N] c) => (float[2] y) {
  [choice] y = If<then_branch=t() => (o) { o = Neg(x) }, else_branch=e() => (q) { q = Abs(x) }>(c)
})");
  ASSERT_TRUE(p.ok());
  auto many = Tensor::allocate(DType::boolean, Shape{2});
  std::fill_n(many->data<uint8_t>(), 2, uint8_t{1});
  const auto message = p.failure({floats({2}, {1, 2}), *many});
  EXPECT_NE(message.find("If node. Name:'choice'"), std::string::npos) << message;
  EXPECT_NE(message.find("{2}"), std::string::npos) << message;
}

// Counts up to `limit` or `trips`, whichever comes first.
constexpr std::string_view kCount = R"(<opset: "" 17>
g(int64[] trips, bool[] go, float[] limit, float[2] x) => (float[2] y, float[?,2] all, int64[?] steps) {
  float[] one = 1
  y, all, steps = Loop<body=step(int64[] i, bool[] c, float[2] v) => (more, w, s, n) {
      w = Add(v, one)
      top = ReduceMax<keepdims=0>(w)
      more = Less(top, limit)
      s = Neg(w)
      n = Identity(i)
    }>(trips, go, x)
})";

TEST(Loop, TripCountAndCondition) {
  TestProgram p(kCount);
  ASSERT_TRUE(p.ok());
  const auto run = [&](int64_t trips, bool go, float limit) {
    return p.results({ints({}, {trips}), flag(go), floats({}, {limit}), floats({2}, {0, 1})});
  };
  auto r = run(3, true, 100);
  EXPECT_EQ(floats_of(r[0]), (Floats{3, 4}));
  EXPECT_EQ(floats_of(r[1]), (Floats{-1, -2, -2, -3, -3, -4}));
  EXPECT_EQ(values<int64_t>(r[2]), (std::vector<int64_t>{0, 1, 2}));
  r = run(100, true, 3);  // the condition ends it
  EXPECT_EQ(floats_of(r[0]), (Floats{2, 3}));
  EXPECT_EQ(shape_of(r[1]), (Shape{2, 2}));
  for (const auto& [trips, go] : {std::pair(int64_t{0}, true), {int64_t{5}, false}, {int64_t{-3}, true}}) {
    r = run(trips, go, 100);  // never: initial values pass through, stacks are empty and keep their shape
    EXPECT_EQ(floats_of(r[0]), (Floats{0, 1}));
    EXPECT_EQ(shape_of(r[1]), (Shape{0, 2}));
    EXPECT_EQ(shape_of(r[2]), (Shape{0}));
    EXPECT_EQ(r[2].tensor().dtype(), DType::i64);
  }
  r = run(1, true, 100);
  EXPECT_EQ(floats_of(r[1]), (Floats{-1, -2}));
}

TEST(Loop, WithoutTripCountOrCondition) {
  TestProgram until(R"(<opset: "" 17>
g(float[1] x) => (float[1] y) {
  float[] ten = 10
  y = Loop<body=step(int64[] i, bool[] c, float[1] v) => (more, w) {
      w = Add(v, v)
      more = Less(w, ten)
    }>(_, _, x)
})");
  ASSERT_TRUE(until.ok());
  EXPECT_EQ(floats_of(until.results({floats({1}, {1})})[0]), (Floats{16}));

  TestProgram times(R"(<opset: "" 17>
g(int64[] n, float[1] x) => (float[1] y) {
  y = Loop<body=step(int64[1] i, bool[1] c, float[1] v) => (c, w) {
      f = Cast<to=1>(i)
      w = Add(v, f)
    }>(n, _, x)
})");
  ASSERT_TRUE(times.ok());
  EXPECT_EQ(floats_of(times.results({ints({}, {5}), floats({1}, {0.5f})})[0]), (Floats{10.5f}));
}

TEST(Loop, CarriedShapesMayChange) {
  TestProgram p(R"(<opset: "" 17>
g(int64[] n, float[?] x) => (float[?] y, int64[?] sizes) {
  bool[] go = true
  y, sizes = Loop<body=step(int64[] i, bool[] c, float[?] v) => (co, w, s) {
      co = Identity(c)
      w = Concat<axis=0>(v, v)
      shape = Shape(w)
      int64[] zero = 0
      s = Gather(shape, zero)
    }>(n, go, x)
})");
  ASSERT_TRUE(p.ok());
  for (int64_t n : {4, 0, 10, 4}) {
    const auto r = p.results({ints({}, {n}), floats({1}, {3})});
    EXPECT_EQ(floats_of(r[0]), Floats(size_t{1} << n, 3.0f));
    EXPECT_EQ(r[1].tensor().count(), n);
  }
}

TEST(Loop, NestedWithCapturesOfBothLevels) {
  TestProgram p(R"(<opset: "" 17>
g(int64[] n, int64[] m, float[2] x) => (float[2] y, float[?,?,2] all) {
  bool[] go = true
  float[2] zero = {0, 0}
  y, all = Loop<body=outer(int64[] i, bool[] c, float[2] v) => (co, w, rows) {
      co = Identity(c)
      fi = Cast<to=1>(i)
      w, rows = Loop<body=inner(int64[] j, bool[] d, float[2] u) => (cd, t, row) {
          cd = Identity(d)
          fj = Cast<to=1>(j)
          a = Mul(x, fi)
          t0 = Add(u, a)
          t = Add(t0, fj)
          row = Sub(t, v)
        }>(m, go, v)
    }>(n, go, zero)
})");
  ASSERT_TRUE(p.ok());
  const auto r = p.results({ints({}, {2}), ints({}, {3}), floats({2}, {1, 10})});
  // i = 0 adds 0+1+2, i = 1 adds 3 times x and 0+1+2.
  EXPECT_EQ(floats_of(r[0]), (Floats{9, 36}));
  EXPECT_EQ(shape_of(r[1]), (Shape{2, 3, 2}));
  EXPECT_EQ(floats_of(r[1]), (Floats{0, 0, 1, 1, 3, 3, 1, 10, 3, 21, 6, 33}));
}

TEST(Loop, ValuesThatPassThroughAreCopies) {
  TestProgram p(R"(<opset: "" 17>
g(int64[] n, float[2] x) => (float[2] y, float[2] z, int64[?] counters) {
  bool[] go = true
  a = Neg(x)
  b = Abs(x)
  y, z, counters = Loop<body=step(int64[] i, bool[] c, float[2] v, float[2] w) => (c, w, v, i) {
    }>(n, go, a, b)
})");
  ASSERT_TRUE(p.ok());
  auto r = p.results({ints({}, {3}), floats({2}, {1, 2})});
  EXPECT_EQ(floats_of(r[0]), (Floats{1, 2}));  // swapped three times
  EXPECT_EQ(floats_of(r[1]), (Floats{-1, -2}));
  EXPECT_EQ(values<int64_t>(r[2]), (std::vector<int64_t>{0, 1, 2}));
  r = p.results({ints({}, {0}), floats({2}, {1, 2})});
  EXPECT_EQ(floats_of(r[0]), (Floats{-1, -2}));
}

TEST(Loop, SequencesAreCarried) {
  TestProgram p(R"(<opset: "" 17>
g(int64[] n, seq(float[?]) s, float[2] x) => (seq(float[?]) t, float[2] y) {
  bool[] go = true
  t, y = Loop<body=step(int64[] i, bool[] c, seq(float[?]) u, float[2] v) => (co, w, z) {
      co = Identity(c)
      w = Identity(u)
      z = Add(v, v)
    }>(n, go, s, x)
})");
  ASSERT_TRUE(p.ok());
  Sequence two{Type::tensor(DType::f32), {floats({1}, {5}), floats({2}, {6, 7})}};
  for (int64_t n : {3, 0, 1}) {
    const auto r = p.results({ints({}, {n}), Value(two), floats({2}, {1, 2})});
    ASSERT_EQ(r[0].kind(), Value::Kind::sequence);
    ASSERT_EQ(r[0].sequence().items.size(), 2u);
    EXPECT_EQ(floats_of(r[0].sequence().items[1]), (Floats{6, 7}));
    EXPECT_EQ(floats_of(r[1]), (Floats{static_cast<float>(1 << n), static_cast<float>(2 << n)}));
  }
}

TEST(Loop, StringsAreCarriedAndStacked) {
  TestProgram p(R"(<opset: "" 17>
g(int64[] n, string[2] x) => (string[2] y, string[?,2] all) {
  bool[] go = true
  int64[2] swap = {1, 0}
  y, all = Loop<body=step(int64[] i, bool[] c, string[2] v) => (co, w, s) {
      co = Identity(c)
      w = Gather(v, swap)
      s = Identity(w)
    }>(n, go, x)
})");
  ASSERT_TRUE(p.ok());
  const std::string lengthy(64, 'q');
  for (int64_t n : {3, 2, 0}) {
    const auto r = p.results({ints({}, {n}), strings({2}, {"a", lengthy})});
    const auto y = r[0].tensor().span<std::string>();
    EXPECT_EQ(y[0], n % 2 ? lengthy : "a");
    EXPECT_EQ(shape_of(r[1]), (Shape{n, 2}));
    if (n) {
      EXPECT_EQ(r[1].tensor().data<std::string>()[0], lengthy);
    }
  }
}

TEST(Loop, ErrorsInABodyNameTheNode) {
  TestProgram p(R"(<opset: "" 17>
g(int64[] n, float[?] x, int64[1] shape) => (float[?] y) {
  bool[] go = true
  [repeat] y = Loop<body=step(int64[] i, bool[] c, float[?] v) => (co, w) {
      co = Identity(c)
      [inside] w = Reshape(v, shape)
    }>(n, go, x)
})");
  ASSERT_TRUE(p.ok());
  EXPECT_TRUE(p.run({ints({}, {2}), floats({2}, {1, 2}), ints({1}, {2})}).ok());
  const auto message = p.failure({ints({}, {2}), floats({2}, {1, 2}), ints({1}, {3})});
  EXPECT_NE(message.find("Loop node. Name:'repeat'"), std::string::npos) << message;
  EXPECT_NE(message.find("inside"), std::string::npos) << message;
  EXPECT_TRUE(p.run({ints({}, {2}), floats({2}, {1, 2}), ints({1}, {2})}).ok());  // and it runs again
}

TEST(Loop, ScanOutputsMustKeepTheirShape) {
  TestProgram p(R"(<opset: "" 17>
g(int64[] n, float[?] x) => (float[?] y, float[?,?] all) {
  bool[] go = true
  [repeat] y, all = Loop<body=step(int64[] i, bool[] c, float[?] v) => (co, w, s) {
      co = Identity(c)
      w = Concat<axis=0>(v, v)
      s = Identity(w)
    }>(n, go, x)
})");
  ASSERT_TRUE(p.ok());
  EXPECT_TRUE(p.run({ints({}, {1}), floats({1}, {1})}).ok());
  const auto message = p.failure({ints({}, {2}), floats({1}, {1})});
  EXPECT_NE(message.find("repeat"), std::string::npos) << message;
  EXPECT_NE(message.find("scan outputs must keep their shape"), std::string::npos) << message;
}

TEST(Loop, TerminateStopsIt) {
  TestProgram p(R"(<opset: "" 17>
g(float[1] x) => (float[1] y) {
  y = Loop<body=step(int64[] i, bool[] c, float[1] v) => (more, w) {
      w = Neg(v)
      more = Identity(c)
    }>(_, _, x)
})");
  ASSERT_TRUE(p.ok());
  std::atomic<bool> stop{false};
  p.env.terminate = &stop;
  std::string message;
  std::thread runner([&] { message = p.failure({floats({1}, {1})}); });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  stop = true;
  runner.join();
  EXPECT_EQ(message, terminated().message());
}

TEST(Scan, StatesAxesAndDirections) {
  TestProgram p(R"(<opset: "" 17>
g(float[2] s, float[3,2] a, float[2,3] b) => (float[2] t, float[2,3] sums, float[3,2] back) {
  t, sums, back = Scan<body=step(float[2] u, float[2] p, float[2] q) => (v, m, n) {
      d = Add(p, q)
      v = Add(u, d)
      m = Identity(v)
      n = Neg(p)
    }, num_scan_inputs=2, scan_input_axes=[0, -1], scan_input_directions=[0, 1],
    scan_output_axes=[1, 0], scan_output_directions=[0, 1]>(s, a, b)
})");
  ASSERT_TRUE(p.ok());
  for (int round = 0; round < 2; ++round) {
    const auto r = p.results({floats({2}, {100, 200}), counting({3, 2}), counting({2, 3}, 10)});
    // a: {0,1} {2,3} {4,5}; b by columns from the right: {12,15} {11,14} {10,13}
    EXPECT_EQ(floats_of(r[0]), (Floats{139, 251}));
    EXPECT_EQ(floats_of(r[1]), (Floats{112, 125, 139, 216, 233, 251}));
    EXPECT_EQ(floats_of(r[2]), (Floats{-4, -5, -2, -3, 0, -1}));
  }
}

TEST(Scan, WithoutStateWithCapturesAndOfNothing) {
  TestProgram p(R"(<opset: "" 17>
g(float[N,2] a, float[2] k) => (float[N,2] y) {
  y = Scan<body=step(float[2] x) => (z) { z = Mul(x, k) }, num_scan_inputs=1>(a)
})");
  ASSERT_TRUE(p.ok());
  EXPECT_EQ(floats_of(p.results({counting({3, 2}), floats({2}, {1, -1})})[0]), (Floats{0, -1, 2, -3, 4, -5}));
  const auto r = p.results({counting({0, 2}), floats({2}, {1, -1})});
  EXPECT_EQ(shape_of(r[0]), (Shape{0, 2}));
}

TEST(Scan, LengthsMustAgree) {
  TestProgram p(R"(<opset: "" 17>
g(float[N,2] a, float[M,2] b) => (float[?,2] y) {
  [walk] y = Scan<body=step(float[2] p, float[2] q) => (z) { z = Add(p, q) }, num_scan_inputs=2>(a, b)
})");
  ASSERT_TRUE(p.ok());
  const auto message = p.failure({counting({3, 2}), counting({4, 2})});
  EXPECT_NE(message.find("Scan node. Name:'walk'"), std::string::npos) << message;
  EXPECT_NE(message.find("3 and 4 steps"), std::string::npos) << message;
}

constexpr std::string_view kBatched = R"(<opset: "" 8>
g(int64[B] lengths, float[B,1] s, float[B,L,1] x) => (float[B,1] t, float[B,L,1] y) {
  t, y = Scan<body=step(float[1] u, float[1] p) => (v, m) {
      v = Add(u, p)
      m = Neg(v)
    }, num_scan_inputs=1>(lengths, s, x)
})";

TEST(Scan8, BatchesWithLengths) {
  TestProgram p(kBatched);
  ASSERT_TRUE(p.ok());
  const auto r = p.results({ints({2}, {3, 1}), floats({2, 1}, {0, 100}), counting({2, 3, 1}, 1)});
  EXPECT_EQ(floats_of(r[0]), (Floats{6, 104}));
  EXPECT_EQ(shape_of(r[1]), (Shape{2, 3, 1}));
  EXPECT_EQ(floats_of(r[1]), (Floats{-1, -3, -6, -104, 0, 0}));
  const auto none = p.results({ints({2}, {0, 0}), floats({2, 1}, {5, 6}), counting({2, 3, 1})});
  EXPECT_EQ(floats_of(none[0]), (Floats{5, 6}));
  EXPECT_EQ(floats_of(none[1]), Floats(6, 0.0f));
  const auto empty = p.results({ints({0}, {}), counting({0, 1}), counting({0, 3, 1})});
  EXPECT_EQ(shape_of(empty[0]), (Shape{0, 1}));
  EXPECT_EQ(shape_of(empty[1]), (Shape{0, 3, 1}));
  EXPECT_NE(p.failure({ints({2}, {4, 1}), counting({2, 1}), counting({2, 3, 1})}).find("sequence_lens[0] = 4"),
            std::string::npos);
  EXPECT_NE(p.failure({ints({2}, {1, 1}), counting({3, 1}), counting({2, 3, 1})}).find("batch"), std::string::npos);
}

TEST(Scan8, WithoutLengthsBackwardsAndWithTwoInputs) {
  TestProgram p(R"(<opset: "" 8>
g(float[B,1] s, float[B,L,1] x, float[C,L,1] w) => (float[B,1] t, float[B,L,1] y) {
  t, y = Scan<body=step(float[1] u, float[1] p, float[1] q) => (v, m) {
      d = Sub(p, q)
      v = Add(u, d)
      m = Identity(v)
    }, num_scan_inputs=2, directions=[1, 0]>(_, s, x, w)
})");
  ASSERT_TRUE(p.ok());
  const auto r = p.results({floats({2, 1}, {0, 10}), counting({2, 2, 1}), counting({2, 2, 1})});
  EXPECT_EQ(floats_of(r[0]), (Floats{0, 10}));
  EXPECT_EQ(floats_of(r[1]), (Floats{1, 0, 11, 10}));
  EXPECT_NE(p.failure({counting({2, 1}), counting({2, 2, 1}), counting({1, 2, 1})}).find("batch"), std::string::npos);
}

TEST(SequenceMap, EveryElementWithItsShapeTensorsAndCaptures) {
  TestProgram p(R"(<opset: "" 17>
g(seq(float[?]) s, float[1] x, seq(float[?]) t) => (seq(float[?]) y, seq(int64[?]) z) {
  twice = Add(x, x)
  y, z = SequenceMap<body=each(float[?] a, float[1] b, float[?] c) => (m, n) {
      p = Mul(a, b)
      q = Add(p, twice)
      m = Add(q, c)
      n = Shape(a)
    }>(s, x, t)
})");
  ASSERT_TRUE(p.ok());
  const auto sequence = [](std::vector<Value> items) {
    return Value(Sequence{Type::tensor(DType::f32), std::move(items)});
  };
  const Value s = sequence({floats({1}, {5}), floats({2}, {6, 7})}),
              t = sequence({floats({1}, {100}), floats({2}, {0, 1})});
  for (int round = 0; round < 2; ++round) {
    const auto r = p.results({s, floats({1}, {10}), t});
    ASSERT_EQ(r[0].sequence().items.size(), 2u);
    EXPECT_EQ(floats_of(r[0].sequence().items[0]), (Floats{170}));
    EXPECT_EQ(floats_of(r[0].sequence().items[1]), (Floats{80, 91}));
    EXPECT_EQ(r[1].sequence().items[1].tensor().data<int64_t>()[0], 2);
  }
  const auto empty = p.results({sequence({}), floats({1}, {10}), sequence({})});
  EXPECT_TRUE(empty[0].sequence().items.empty());
  EXPECT_EQ(empty[1].sequence().element.dtype, DType::i64);
  EXPECT_NE(p.failure({s, floats({1}, {10}), sequence({})}).find("0 elements"), std::string::npos);
}

}  // namespace
}  // namespace trunnion::run::test

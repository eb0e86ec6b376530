// Sessions: feeds and results, error texts, plans for changing shapes, dynamic shapes, control flow.
#include "session/session.h"

#include "base/count_allocations.h"
#include "session/test_model.h"

namespace trunnion::session::test {
namespace {

constexpr std::string_view kMlp = R"(<opset: "" 17>
mlp(float[N,3] x) => (float[N,2] y) {
  float[3,2] w = {1, 2, 3, 4, 5, 6}
  float[2] b = {10, 20}
  t = MatMul(x, w)
  u = Add(t, b)
  y = Relu(u)
})";

TEST(Session, RunsAndKeepsPortNames) {
  auto s = load(kMlp);
  ASSERT_TRUE(s.ok()) << s.status().message();
  ASSERT_EQ((*s)->inputs().size(), 1u);
  EXPECT_EQ((*s)->inputs()[0].name, "x");
  EXPECT_EQ((*s)->outputs()[0].name, "y");
  for (int n : {1, 3, 1, 0, 2}) {
    auto r = run(**s, {floats({n, 3})});
    ASSERT_TRUE(r.ok()) << r.status().message();
    EXPECT_EQ((*r)[0].tensor().shape(), (Shape{n, 2}));
    const auto y = floats_of((*r)[0]);
    if (n > 0) {
      EXPECT_FLOAT_EQ(y[0], 0 * 1 + 1 * 3 + 2 * 5 + 10);
    }
    if (n > 1) {
      EXPECT_FLOAT_EQ(y[3], 3 * 2 + 4 * 4 + 5 * 6 + 20);
    }
  }
  EXPECT_EQ((*s)->memory().cached_plans, 4u);
}

TEST(Session, ErrorsNameWhatIsWrong) {
  auto s = load(kMlp);
  ASSERT_TRUE(s.ok());
  const auto message = [&](const Value& v) {
    auto r = run(**s, {v});
    EXPECT_EQ(r.status().code(), Code::invalid_argument);
    return r.status().message();
  };
  EXPECT_NE(message(floats({3})).find("Invalid rank for input: x Got: 1 Expected: 2"), std::string::npos);
  EXPECT_NE(message(floats({2, 4})).find("Got invalid dimensions for input: x"), std::string::npos);
  EXPECT_NE(message(ints({1, 3}, {1, 2, 3}))
                .find("Unexpected input data type. Actual: (tensor(int64)) , expected: (tensor(float))"),
            std::string::npos);

  const Value x = floats({1, 3});
  const Value* inputs[] = {&x};
  const char* wrong[] = {"z"};
  const char* right[] = {"x"};
  const char* out[] = {"y"};
  std::vector<Value> results(1);
  EXPECT_NE((*s)->run({}, wrong, inputs, out, results).message().find("Invalid input name: z"), std::string::npos);
  EXPECT_NE((*s)->run({}, right, inputs, wrong, results).message().find("Invalid output name:z"), std::string::npos);
  EXPECT_NE((*s)->run({}, {}, {}, out, results).message().find("Missing Input: x"), std::string::npos);
}

TEST(Session, FillsBuffersOfTheCaller) {
  auto s = load(kMlp);
  ASSERT_TRUE(s.ok());
  const Value x = floats({2, 3});
  const Value* inputs[] = {&x};
  const char *in[] = {"x"}, *out[] = {"y"};
  std::vector<Value> results{floats({2, 2})};
  const void* buffer = results[0].tensor().raw();
  ASSERT_TRUE((*s)->run({}, in, inputs, out, results).ok());
  EXPECT_EQ(results[0].tensor().raw(), buffer);
  EXPECT_FLOAT_EQ(results[0].tensor().data<float>()[3], 72);
  results[0] = floats({2, 3});
  const auto status = (*s)->run({}, in, inputs, out, results);
  EXPECT_EQ(status.code(), Code::invalid_argument);
  EXPECT_NE(status.message().find("'y'"), std::string::npos);
}

// One output asked for several times: every entry gets the result, buffers of the caller stay his.
TEST(Session, AnOutputTwice) {
  auto s = load(kMlp);
  ASSERT_TRUE(s.ok());
  const Value x = floats({2, 3});
  const Value* inputs[] = {&x};
  const char *in[] = {"x"}, *out[] = {"y", "y", "y"};
  const std::vector<float> want = floats_of((*run(**s, {x}))[0]);
  const Value first = floats({2, 2}), second = floats({2, 2});
  for (const std::vector<Value>& given : {std::vector<Value>{first, second, {}},
                                          {{}, first, second},
                                          {first, {}, {}},
                                          {first, first, second},
                                          {{}, {}, {}}}) {
    for (const Value* b : {&first, &second}) std::fill_n(b->tensor().data<float>(), 4, -1.f);
    std::vector<Value> results = given;
    ASSERT_TRUE((*s)->run({}, in, inputs, out, results).ok());
    for (size_t k = 0; k < 3; ++k) {
      EXPECT_EQ(floats_of(results[k]), want);
      const void* at = results[k].tensor().raw();
      if (given[k].has_value()) {
        EXPECT_EQ(at, given[k].tensor().raw());
      } else {
        EXPECT_TRUE(at != first.tensor().raw() && at != second.tensor().raw());
      }
    }
  }
  std::vector<Value> wrong{first, floats({4}), {}};
  const auto status = (*s)->run({}, in, inputs, out, wrong);
  EXPECT_EQ(status.code(), Code::invalid_argument);
  EXPECT_NE(status.message().find("'y'"), std::string::npos);
}

TEST(Session, OutputsThatAreViewsInputsOrConstants) {
  auto s = load(R"(<opset: "" 17>
g(float[2,3] x) => (float[6] flat, float[2,3] same, float[2] c, float[3,2] other) {
  float[2] c = {7, 8}
  int64[1] six = {6}
  int64[2] shape = {3, 2}
  t = Neg(x)
  flat = Reshape(t, six)
  same = Identity(x)
  other = Reshape(t, shape)
})");
  ASSERT_TRUE(s.ok()) << s.status().message();
  for (int i = 0; i < 2; ++i) {
    auto r = run(**s, {floats({2, 3}, 1)});
    ASSERT_TRUE(r.ok()) << r.status().message();
    EXPECT_EQ(floats_of((*r)[0]), (std::vector<float>{-1, -2, -3, -4, -5, -6}));
    EXPECT_EQ(floats_of((*r)[1]), (std::vector<float>{1, 2, 3, 4, 5, 6}));
    EXPECT_EQ(floats_of((*r)[2]), (std::vector<float>{7, 8}));
    EXPECT_EQ((*r)[3].tensor().shape(), (Shape{3, 2}));
    EXPECT_EQ(floats_of((*r)[3])[5], -6);
  }
}

TEST(Session, ShapesThatDependOnElements) {
  auto s = load(R"(<opset: "" 17>
g(float[N] x, int64[2] shape) => (float[?,?] y, float[M] z) {
  at = NonZero(x)
  axis = Shape(at)
  int64[1] one = {1}
  n = Gather(axis, one)
  zeros = ConstantOfShape(n)
  int64[] minus = -1
  flat = Flatten<axis=0>(at)
  fl = Cast<to=1>(flat)
  int64[1] all = {-1}
  line = Reshape(fl, all)
  z = Add(line, zeros)
  y = Reshape(x, shape)
})");
  ASSERT_TRUE(s.ok()) << s.status().message();
  for (int round = 0; round < 2; ++round)
    for (int64_t rows : {2, 3}) {
      auto r = run(**s, {floats({6}), ints({2}, {rows, 6 / rows})});
      ASSERT_TRUE(r.ok()) << r.status().message();
      EXPECT_EQ((*r)[0].tensor().shape(), (Shape{rows, 6 / rows}));
      EXPECT_EQ(floats_of((*r)[1]), (std::vector<float>{1, 2, 3, 4, 5}));
    }
}

TEST(Session, LoopIfAndCaptures) {
  auto s = load(R"(<opset: "" 17>
g(int64[] n, float[2] x, bool[] flag) => (float[2] y, float[?,2] all, float[2] z) {
  bool[] go = true
  y, all = Loop<body=step(int64[] i, bool[] c, float[2] v) => (co, w, s) {
      co = Identity(c)
      w = Add(v, x)
      s = Neg(w)
    }>(n, go, x)
  z = If<then_branch=yes() => (o) { o = Mul(y, x) }, else_branch=no() => (p) { p = Sub(y, x) }>(flag)
})");
  ASSERT_TRUE(s.ok()) << s.status().message();
  for (int64_t trips : {0, 3, 1}) {
    auto flag = Tensor::allocate(DType::boolean, Shape{});
    *flag->data<uint8_t>() = trips != 1;
    auto r = run(**s, {ints({}, {trips}), floats({2}, 1), *flag});
    ASSERT_TRUE(r.ok()) << r.status().message();
    const float k = static_cast<float>(trips + 1);
    EXPECT_EQ(floats_of((*r)[0]), (std::vector<float>{k, 2 * k}));
    EXPECT_EQ((*r)[1].tensor().shape(), (Shape{trips, 2}));
    if (trips) {
      EXPECT_EQ(floats_of((*r)[1])[0], -2);
    }
    EXPECT_EQ(floats_of((*r)[2]), trips != 1 ? (std::vector<float>{k, 4 * k}) : (std::vector<float>{k - 1, 2 * k - 2}));
  }
}

// Whatever the number of inputs and outputs, and whichever outputs are asked for.
TEST(Session, ACallAllocatesItsOutputsOnly) {
  if (!TRUNNION_COUNTS_ALLOCATIONS) GTEST_SKIP() << "allocations are not counted in this build";
  std::string ports, outputs, nodes;
  for (int i = 0; i < 40; ++i) {
    const auto n = std::to_string(i);
    ports += (i ? ", float[N,3] x" : "float[N,3] x") + n;
    outputs += (i ? ", float[N,3] y" : "float[N,3] y") + n;
    nodes += "  y" + n + " = Softmax(x" + n + ")\n";
  }
  auto s = load("<opset: \"\" 17>\ng(" + ports + ") => (" + outputs + ") {\n" + nodes + "}", [] {
    Options o;
    o.intra_op_threads = 2;
    return o;
  }());
  ASSERT_TRUE(s.ok()) << s.status().message();
  const Value x = floats({2, 3});
  std::vector<const char*> in, all, some = {"y7", "y3"};
  std::vector<const Value*> values;
  for (int i = 0; i < 40; ++i) {
    in.push_back((*s)->inputs()[static_cast<size_t>(i)].name.c_str());
    all.push_back((*s)->outputs()[static_cast<size_t>(i)].name.c_str());
    values.push_back(&x);
  }
  const RunOptions options;
  for (const auto& names : {all, some}) {
    std::vector<Value> results(names.size());
    int64_t n = 0;
    for (int i = 0; i < 3; ++i) {
      for (auto& r : results) r = {};
      Status status;
      n = trunnion::test::count_allocations([&] { status = (*s)->run(options, in, values, names, results); });
      ASSERT_TRUE(status.ok()) << status.message();
    }
    EXPECT_EQ(n, 2 * 40);  // the elements of every output, and what counts their owners
  }
}

TEST(Session, StrictConfigRefusesUnknownKeys) {
  Options o;
  o.config["session.disable_prepackin"] = "1";
  EXPECT_TRUE(load(kMlp, o).ok());
  o.config["session.strict_config"] = "1";
  const auto s = load(kMlp, o);
  EXPECT_EQ(s.status().code(), Code::invalid_argument);
  EXPECT_NE(s.status().message().find("session.disable_prepacking"), std::string::npos) << s.status().message();
}

TEST(Session, FreeDimensionOverride) {
  Options o;
  o.dimension_by_name = {{"N", 4}};
  auto s = load(kMlp, o);
  ASSERT_TRUE(s.ok());
  EXPECT_TRUE((*(*s)->inputs()[0].type.shape)[0].is_int(4));
  EXPECT_TRUE((*(*s)->outputs()[0].type.shape)[0].is_int(4));
  EXPECT_FALSE(run(**s, {floats({2, 3})}).ok());
}

TEST(Session, MissingFileAndGarbage) {
  const auto missing = Session::load({}, {"/nowhere/model.onnx", {}, nullptr}, {});
  EXPECT_EQ(missing.status().code(), Code::no_such_file);
  EXPECT_NE(missing.status().message().find("Load model from /nowhere/model.onnx failed"), std::string::npos);
  const std::string html = "<!DOCTYPE html><html></html>";
  const auto garbage = Session::load({}, {{}, std::as_bytes(std::span(html)), nullptr}, {});
  EXPECT_EQ(garbage.status().code(), Code::invalid_protobuf);
}

TEST(Session, ErrorsOfTheGraphNameItsFile) {
  for (const auto& [text, code] :
       {std::pair(R"(<opset: "" 17> g(float[2] x) => (y) { y = Relu<alpha=1.0>(x) })", Code::invalid_graph),
        {R"(<opset: "" 17> g(float[2,3] x, float[4,5] z) => (y) { y = MatMul(x, z) })", Code::fail}}) {
    const auto s = load(text);
    ASSERT_FALSE(s.ok());
    EXPECT_EQ(s.status().message().find("Load model from " + testing::TempDir()), 0u) << s.status().message();
    if (code == Code::invalid_graph) {
      EXPECT_EQ(s.status().code(), code);
    }
    EXPECT_EQ(s.status().message().find("failed:Load model"), std::string::npos) << s.status().message();
  }
}

TEST(Session, FusedOperatorsCheckTheirExtraInputs) {
  // The model says that r has as many rows as x; fed otherwise, nothing may be read beyond its end.
  auto s = load(R"(<opset: "" 17>
g(float[N,4] x, float[N,8] r) => (float[N,8] y) {
  float[4,8] w = random(1)
  p = MatMul(x, w)
  y = Add(p, r)
})");
  ASSERT_TRUE(s.ok()) << s.status().message();
  EXPECT_TRUE(run(**s, {floats({3, 4}), floats({3, 8})}).ok());
  const auto wrong = run(**s, {floats({64, 4}), floats({1, 8})});
  EXPECT_EQ(wrong.status().code(), Code::invalid_argument);
  EXPECT_NE(wrong.status().message().find("{1,8}"), std::string::npos) << wrong.status().message();

  auto conv = load(R"(<opset: "" 17>
g(float[1,2,4,4] x, float[B] b) => (y) {
  float[8,2,1,1] w = random(1)
  y = Conv(x, w, b)
})");
  ASSERT_TRUE(conv.ok()) << conv.status().message();
  EXPECT_TRUE(run(**conv, {floats({1, 2, 4, 4}), floats({8})}).ok());
  EXPECT_FALSE(run(**conv, {floats({1, 2, 4, 4}), floats({1})}).ok());
}

TEST(Session, NamesInsideABodyAreItsOwn) {
  auto s = load(R"(<opset: "" 17>
g(int64[] n, float[2] x) => (float[2] a) {
  bool[] go = true
  a = Loop<body=step(int64[] i, bool[] c, float[2] a) => (co, t) {
      co = Identity(c)
      t = Add(a, a)
    }>(n, go, x)
})");
  ASSERT_TRUE(s.ok()) << s.status().message();
  auto r = run(**s, {ints({}, {3}), floats({2}, 1)});
  ASSERT_TRUE(r.ok()) << r.status().message();
  EXPECT_EQ(floats_of((*r)[0]), (std::vector<float>{8, 16}));
}

}  // namespace
}  // namespace trunnion::session::test

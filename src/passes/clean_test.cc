// The whole list: what is left of known patterns, and equal results on random graphs.
#include "passes/clean.h"

#include <algorithm>
#include <set>

#include "base/error.h"
#include "ir/text.h"
#include "passes/pass_harness.h"

namespace trunnion::passes {
namespace {

void expect_clean(std::string_view before, std::string_view after) {
  const auto c = test::check(clean(), before, {}, 8);
  const auto expected = test::load(after);
  if (expected) {
    EXPECT_EQ(c.text, ir::print(*expected));
  }
}

TEST(Clean, NamesAreUniqueAndDisablePasses) {
  std::set<std::string> names;
  for (const Pass& p : clean()) EXPECT_TRUE(names.insert(p.name).second) << p.name;
  const auto g = test::load("<opset: \"\" 17> g(float[2] x) => (float[2] y) { a = Identity(x)\n y = Relu(a) }");
  PassContext context;
  RunOptions options;
  options.disabled.assign(names.begin(), names.end());
  std::vector<PassRecord> records;
  ASSERT_TRUE(run_passes(*g, clean(), context, options, records).ok());
  EXPECT_EQ(g->node_count(), 2);
  EXPECT_TRUE(records.empty());
  options.disabled.clear();
  std::string dumped;
  options.dump = [&](const char* pass, const ir::Graph&) { dumped += std::string(pass) + ";"; };
  ASSERT_TRUE(run_passes(*g, clean(), context, options, records).ok());
  EXPECT_EQ(g->node_count(), 1);
  EXPECT_EQ(dumped, "EliminateIdentity;");
  EXPECT_EQ(records.size(), clean().size());
}

TEST(Clean, HeadsOfAttention) {
  // What exporters write for x.reshape(b, s, 2, 4).transpose(1, 2), and back.
  expect_clean(R"(<opset: "" 17>
g(float[B,S,8] x) => (float[B,S,8] y) {
  zero = Constant<value=int64[] 0>()
  one = Constant<value=int64[] 1>()
  at = Constant<value=int64[1] {0}>()
  two = Constant<value=int64[1] {2}>()
  four = Constant<value=int64[1] {4}>()
  eight = Constant<value=int64[1] {8}>()
  s0 = Shape(x)
  b = Gather(s0, zero)
  s1 = Shape(x)
  s = Gather(s1, one)
  b1 = Unsqueeze(b, at)
  s2 = Unsqueeze(s, at)
  t = Concat<axis=0>(b1, s2, two, four)
  h = Reshape(x, t)
  p = Transpose<perm=[0, 2, 1, 3]>(h)
  r = Softmax<axis=-1>(p)
  q = Transpose<perm=[0, 2, 1, 3]>(r)
  b3 = Unsqueeze(b, at)
  s3 = Unsqueeze(s, at)
  u = Concat<axis=0>(b3, s3, eight)
  y = Reshape(q, u)
})",
               R"(<opset: "" 17>
g(float[B,S,8] x) => (float[B,S,8] y) {
  int64[4] h_shape = {0, 0, 2, 4}
  int64[3] y_shape = {0, 0, 8}
  h = Reshape(x, h_shape)
  p = Transpose<perm=[0, 2, 1, 3]>(h)
  r = Softmax<axis=-1>(p)
  q = Transpose<perm=[0, 2, 1, 3]>(r)
  y = Reshape(q, y_shape)
})");
}

TEST(Clean, ConvolutionsOfAnotherLayout) {
  expect_clean(R"(<opset: "" 17>
g(float[N,2,4,4] x) => (float[N,2,4,4] y) {
  float[2,2,1,1] w = random(1)
  float[2] bias = {1, 2}
  a = Conv(x, w)
  b = Transpose<perm=[0, 2, 3, 1]>(a)
  c = Add(b, bias)
  d = Relu(c)
  e = Transpose<perm=[0, 3, 1, 2]>(d)
  f = Conv(e, w)
  h = Transpose<perm=[0, 2, 3, 1]>(f)
  i = Add(h, bias)
  j = Add(i, d)
  k = Relu(j)
  y = Transpose<perm=[0, 3, 1, 2]>(k)
})",
               R"(<opset: "" 17>
g(float[N,2,4,4] x) => (float[N,2,4,4] y) {
  float[2,2,1,1] w = random(1)
  float[1,2,1,1] bias_1 = {1, 2}
  a = Conv(x, w)
  c = Add(a, bias_1)
  d = Relu(c)
  f = Conv(d, w)
  i = Add(f, bias_1)
  j = Add(i, d)
  y = Relu(j)
})");
}

TEST(Clean, FlattenByShape) {
  expect_clean(R"(<opset: "" 17>
g(float[N,3,2,2] x) => (float[N,12] y) {
  i = Constant<value=int64[] 0>()
  m = Constant<value=int64[1] {-1}>()
  z = Constant<value=int64[1] {0}>()
  s = Shape(x)
  n = Gather(s, i)
  n1 = Unsqueeze(n, z)
  t = Concat<axis=0>(n1, m)
  d = Dropout(x)
  y = Reshape(d, t)
})",
               "<opset: \"\" 17> g(float[N,3,2,2] x) => (float[N,12] y) { int64[2] y_shape = {-1, 12}\n y = Reshape(x, "
               "y_shape) }");
}

TEST(Clean, ConstantsThroughBodies) {
  expect_clean(R"(<opset: "" 16>
g(float[2,3] x) => (float[2,3] y) {
  two = Constant<value=float[] 2>()
  s = Shape(x)
  z = Constant<value=int64[] 0>()
  n = Gather(s, z)
  k = Constant<value=int64[] 2>()
  c = Equal(n, k)
  t = Add(two, two)
  y = If<then_branch=a() => (o) { u = Mul(x, t)
      e = Dropout(u)
      o = Identity(e) }, else_branch=b() => (o) { o = Neg(x) }>(c)
})",
               "<opset: \"\" 16> g(float[2,3] x) => (float[2,3] y) { float[] t = 4\n y = Mul(x, t) }");
}

TEST(Clean, Loop) {
  expect_clean(R"(<opset: "" 16>
g(int64[] n, float[2] x) => (float[2] y) {
  go = Constant<value=bool[] true>()
  one = Constant<value=float[] 1>()
  w = Constant<value=float[2] {2, 3}>()
  y, all = Loop<body=b(int64[] i, bool[] k, float[2] v) => (k2, r, t) {
      k2 = Identity(k)
      a = Mul(v, one)
      d = Neg(w)
      r = Add(a, d)
      t = Identity(r) }>(n, go, x)
})",
               R"(<opset: "" 16>
g(int64[] n, float[2] x) => (float[2] y) {
  bool[] go = true
  y = Loop<body=b(int64[] i, bool[] k, float[2] v) => (bool[] k2, float[2] r) {
      float[2] d = {-2, -3}
      k2 = Identity(k)
      r = Add(v, d) }>(n, go, x)
})");
}

// Writes graphs of operators that the passes know, with neutral constants, repeated nodes, chains of views and bodies.
class RandomGraph {
 public:
  explicit RandomGraph(uint64_t seed) : state_(seed) {}

  std::string text() {
    add("x", {2, 3});
    add("z", {3});
    add("m", {2, 1, 3});
    const int nodes = 6 + pick(14);
    for (int i = 0; i < nodes; ++i) node();
    std::string outputs;
    const int count = 1 + pick(3);
    for (int i = 0; i < count; ++i)
      outputs +=
          (i ? ", " : "") +
          values_[values_.size() - 1 - static_cast<size_t>(pick(std::min<int>(6, static_cast<int>(values_.size()))))]
              .name;
    return "<opset: \"\" 17>\ng(float[2,3] x, float[3] z, float[M,1,3] m) => (" + outputs + ") {\n" + constants_ +
           body_ + "}\n";
  }

 private:
  struct V {
    std::string name;
    std::vector<int64_t> dims;
  };

  int pick(int n) {
    uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return static_cast<int>((z ^ z >> 31) % static_cast<uint64_t>(n));
  }
  const V& any() {  // mostly a late one, so that chains grow
    const int count = static_cast<int>(values_.size());
    return values_[static_cast<size_t>(count - 1 - pick(pick(3) ? std::min(3, count) : count))];
  }
  void add(std::string name, std::vector<int64_t> dims) { values_.push_back({std::move(name), std::move(dims)}); }
  std::string fresh() { return "v" + std::to_string(next_++); }
  std::string ints(const std::vector<int64_t>& v) {
    const std::string name = fresh();
    constants_ += fmt::format("  int64[{}] {} = {{{}}}\n", v.size(), name, fmt::join(v, ", "));
    return name;
  }
  std::string floats(const std::string& type, const std::string& literal) {
    const std::string name = fresh();
    if (pick(4) == 0)
      body_ += fmt::format("  {} = Constant<value={} {}>()\n", name, type, literal);
    else
      constants_ += fmt::format("  {} {} = {}\n", type, name, literal);
    return name;
  }
  void line(const std::string& rhs, std::vector<int64_t> dims) {
    const std::string name = fresh();
    body_ += "  " + name + " = " + rhs + "\n";
    add(name, std::move(dims));
  }

  void node() {
    const V a = any();
    const int rank = static_cast<int>(a.dims.size());
    switch (pick(17)) {
      case 0:
        return line("Neg(" + a.name + ")", a.dims);
      case 1:
        return line("Identity(" + a.name + ")", a.dims);
      case 2:
        return line("Dropout(" + a.name + ")", a.dims);
      case 3: {
        const char* ops[] = {"Add", "Mul", "Sub", "Div", "Pow"};
        const int op = pick(5);
        const std::string c = floats("float[]", op == 0 || op == 2 ? "0" : "1");
        const bool swap = op < 2 && pick(3) == 0;
        return line(fmt::format("{}({}, {})", ops[op], swap ? c : a.name, swap ? a.name : c), a.dims);
      }
      case 4: {
        const std::string w = floats("float[3]", fmt::format("random({})", pick(3)));
        if (rank == 0 || a.dims.back() != 3) return line("Abs(" + a.name + ")", a.dims);
        return line(fmt::format("Mul({}, {})", a.name, w), a.dims);
      }
      case 5: {
        std::vector<int64_t> perm, dims;
        for (int i = 0; i < rank; ++i) perm.push_back(i);
        for (int i = rank - 1; i > 0; --i)
          std::swap(perm[static_cast<size_t>(i)], perm[static_cast<size_t>(pick(i + 1))]);
        for (const int64_t p : perm) dims.push_back(a.dims[static_cast<size_t>(p)]);
        if (rank == 0) return line("Transpose(" + a.name + ")", a.dims);
        return line(fmt::format("Transpose<perm=[{}]>({})", fmt::join(perm, ", "), a.name), dims);
      }
      case 6: {
        if (rank > 4) return;
        const int axis = pick(rank + 1);
        auto dims = a.dims;
        dims.insert(dims.begin() + axis, 1);
        return line(fmt::format("Unsqueeze({}, {})", a.name, ints({pick(2) ? axis : axis - rank - 1})), dims);
      }
      case 7: {
        for (int i = 0; i < rank; ++i)
          if (a.dims[static_cast<size_t>(i)] == 1) {
            auto dims = a.dims;
            dims.erase(dims.begin() + i);
            return line(fmt::format("Squeeze({}, {})", a.name, ints({i})), dims);
          }
        return line("Relu(" + a.name + ")", a.dims);
      }
      case 8: {
        int64_t count = 1;
        for (const int64_t d : a.dims) count *= d;
        if (pick(2)) return line(fmt::format("Reshape({}, {})", a.name, ints({-1})), {count});
        if (count % 3 == 0) return line(fmt::format("Reshape({}, {})", a.name, ints({-1, 3})), {count / 3, 3});
        return line(fmt::format("Flatten<axis=0>({})", a.name), {1, count});
      }
      case 9: {
        const std::string mid = fresh();
        body_ += fmt::format("  {} = Cast<to={}>({})\n", mid, pick(2) ? 11 : 1, a.name);
        return line(fmt::format("Cast<to=1>({})", mid), a.dims);
      }
      case 10: {
        const std::string s = fresh();
        body_ += fmt::format("  {} = Shape({})\n", s, a.name);
        return line(fmt::format("Reshape({}, {})", a.name, s), a.dims);
      }
      case 11: {
        if (rank == 0) return;
        const int64_t end = 1 + pick(3);
        auto dims = a.dims;
        dims[0] = std::min(dims[0], end);
        return line(fmt::format("Slice({}, {}, {}, {})", a.name, ints({0}), ints({end}), ints({0})), dims);
      }
      case 12:
        return line(fmt::format("Tile({}, {})", a.name, ints(std::vector<int64_t>(a.dims.size(), 1))), a.dims);
      case 13:
        return line(fmt::format("Add({}, {})", a.name, a.name), a.dims);
      case 14: {
        const std::string c = fresh();
        constants_ += fmt::format("  bool[] {} = {}\n", c, pick(2));
        return line(fmt::format("If<then_branch=a{0}() => (o) {{ t = Neg({1})\n o = {2}(t) }}, else_branch=b{0}() => "
                                "(o) {{ o = Abs({1}) }}>({3})",
                                next_, a.name, pick(2) ? "Identity" : "Relu", c),
                    a.dims);
      }
      case 15:
        return rank == 0 ? void() : line(fmt::format("Concat<axis=0>({})", a.name), a.dims);
      default:
        return line("Exp(" + a.name + ")", a.dims);
    }
  }

  uint64_t state_;
  int next_ = 0;
  std::vector<V> values_;
  std::string constants_, body_;
};

TEST(Clean, RandomGraphsKeepTheirResults) {
  for (uint64_t seed = 1; seed <= 400 && !::testing::Test::HasFailure(); ++seed) {
    const std::string text = RandomGraph(seed).text();
    SCOPED_TRACE(fmt::format("seed {}\n{}", seed, text));
    test::check(clean(), text, {}, 12);
  }
}

}  // namespace
}  // namespace trunnion::passes

// Plans for concrete shapes: what is worked out at plan time, what is a view, what may be overwritten, and (by playing
// random plans through on a memory of marks) that no step ever finds its inputs overwritten.
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "ep/cpu/cpu_provider.h"
#include "ops/parsed_graph.h"
#include "ops/random_graph.h"
#include "plan/memory.h"
#include "plan/program.h"

namespace trunnion::plan {
namespace {

using Where = Spot::Where;

// A graph, its program, and plans of it for given input shapes.
struct Planned {
  std::shared_ptr<ir::Graph> graph;
  std::unique_ptr<ep::Provider> provider = ep::make_cpu_provider();
  std::unique_ptr<Program> program;
  std::vector<Shape> shapes;  // of all values whose shape is given
  std::map<int, TensorView> given;
  std::shared_ptr<const Segment> segment;

  explicit Planned(std::shared_ptr<ir::Graph> g) : graph(std::move(g)) {
    auto built = build(*graph, *provider, graph);
    EXPECT_TRUE(built.ok()) << built.status().message();
    if (built.ok()) program = std::move(built).value();
  }
  void give(int value, DType dtype, Shape shape) {
    shapes.reserve(64);
    shapes.push_back(std::move(shape));
    const Shape& s = shapes.back();
    given[value] = {dtype, static_cast<int32_t>(s.size()), s.data(), element_count(s), nullptr};
  }
  Known known(int v) {
    const Tensor& c = program->values[static_cast<size_t>(v)].constant;
    if (c.valid() && !given.contains(v)) give(v, c.dtype(), c.shape());
    const auto it = given.find(v);
    if (it == given.end()) return {};
    return {&it->second, c.valid() ? &c : nullptr};
  }
  const Segment* plan(int begin = 0) {
    const auto answer = [&](int v) { return known(v); };
    auto made = make_segment(*program, begin, answer, 1);
    EXPECT_TRUE(made.ok()) << made.status().message();
    segment = made.ok() ? made.value() : nullptr;
    return segment.get();
  }
  int id(std::string_view name) const {
    for (size_t v = 0; v < program->values.size(); ++v)
      if (*program->values[v].name == name) return static_cast<int>(v);
    ADD_FAILURE() << "no value " << name;
    return 0;
  }
  const Spot* spot(std::string_view name) const {
    for (const Spot& s : segment->spots)
      if (s.value == id(name)) return &s;
    return nullptr;
  }
  bool runs(std::string_view output) const {  // a step is left that makes this value
    for (const auto& s : segment->steps)
      if (s.step == program->values[static_cast<size_t>(id(output))].producer) return true;
    return false;
  }
};

Planned planned(std::string_view text, std::vector<Shape> inputs) {
  Planned p(ops::test::parsed(text));
  for (size_t i = 0; i < inputs.size(); ++i) p.give(p.program->inputs[i], DType::f32, inputs[i]);
  p.plan();
  return p;
}

TEST(Segment, ElementwiseResultsTakeTheirDyingInput) {
  const auto p = planned(R"(<opset: "" 17>
g(float[N,8] x) => (float[N,8] y) {
  a = Neg(x)
  b = Relu(a)
  c = Softmax(b)
  d = Neg(c)
  e = Mul(d, d)
  y = Add(e, x)
})",
                         {{3, 8}});
  EXPECT_EQ(p.segment->arena_bytes, ArenaPlanner::rounded(96));
  for (const char* v : {"a", "b", "c", "d", "e"}) EXPECT_EQ(p.spot(v)->offset, 0u) << v;
  EXPECT_EQ(p.spot("y")->where, Where::output);
}

TEST(Segment, WhatIsReadLaterOrBelongsToOthersIsNotOverwritten) {
  const auto p = planned(R"(<opset: "" 17>
g(float[N,8] x) => (float[N,8] y, float[N,8] z) {
  a = Neg(x)
  b = Relu(a)
  c = Add(b, a)
  y = Neg(c)
  d = Abs(y)
  z = Add(d, c)
})",
                         {{4, 8}});
  EXPECT_NE(p.spot("b")->offset, p.spot("a")->offset);  // a is read again
  EXPECT_NE(p.spot("d")->where, Where::output);         // y belongs to the caller
  EXPECT_NE(p.spot("d")->offset, p.spot("c")->offset);
}

TEST(Segment, OneValueTwiceInANode) {
  const auto p = planned(R"(<opset: "" 17>
g(float[N,8] x) => (float[N,8] y) {
  int64[2] shape = {-1, 8}
  a = Neg(x)
  b = Abs(x)
  s = Sum(a, b, a)
  t = Neg(s)
  u = Mul(t, t)
  v = Reshape(u, shape)
  w = Reshape(v, shape)
  z = Sum(v, w)
  y = Neg(z)
})",
                         {{4, 8}});
  EXPECT_NE(p.spot("s")->offset, p.spot("a")->offset);  // read again after the first sum is written
  EXPECT_EQ(p.spot("s")->offset, p.spot("b")->offset);
  EXPECT_EQ(p.spot("u")->offset, p.spot("t")->offset);  // element by element
  EXPECT_EQ(p.spot("w")->offset, p.spot("u")->offset);
  EXPECT_NE(p.spot("z")->offset, p.spot("v")->offset);  // two views of the same bytes
}

TEST(Segment, ViewsShareBytesAndKeepThemAlive) {
  const auto p = planned(R"(<opset: "" 17>
g(float[N,8] x) => (float[?] y, float[?,8] z) {
  int64[1] flat = {-1}
  int64[2] wide = {-1, 8}
  v = Reshape(x, flat)
  a = Neg(v)
  b = Reshape(a, wide)
  c = Neg(x)
  d = Identity(c)
  e = Add(b, d)
  f = Reshape(e, flat)
  y = Neg(f)
  q = Abs(x)
  z = Reshape(q, wide)
})",
                         {{2, 8}});
  EXPECT_EQ(p.spot("v")->where, Where::alias);
  EXPECT_EQ(p.spot("v")->index, p.id("x"));
  EXPECT_EQ(p.spot("b")->offset, p.spot("a")->offset);
  EXPECT_NE(p.spot("c")->offset, p.spot("a")->offset);  // a lives as long as b
  EXPECT_EQ(p.spot("q")->where, Where::output);         // computed where its view goes
  EXPECT_EQ(p.spot("z")->where, Where::output);
  EXPECT_EQ(p.spot("q")->index, p.spot("z")->index);
  for (const char* v : {"v", "b", "d", "f", "z"}) EXPECT_FALSE(p.runs(v)) << v;
}

TEST(Segment, ShapeArithmeticIsWorkedOutWithThePlan) {
  const auto p = planned(R"(<opset: "" 17>
g(float[N,C] x) => (float[?,?] y, int64[?] rows) {
  int64[1] zero = {0}
  int64[1] two = {2}
  int64[1] rest = {-1}
  shape = Shape(x)
  rows = Gather(shape, zero)
  half = Div(rows, two)
  target = Concat<axis=0>(half, rest)
  t = Neg(x)
  y0 = Reshape(t, target)
  axis = Shape(y0)
  total = ReduceProd<keepdims=0>(axis)
  filled = ConstantOfShape(axis)
  y = Add(y0, filled)
})",
                         {{6, 5}});
  EXPECT_EQ(p.segment->end, static_cast<int>(p.program->steps.size()));
  for (const char* v : {"shape", "rows", "half", "target", "axis", "total", "filled", "y0"})
    EXPECT_FALSE(p.runs(v)) << v;
  EXPECT_EQ(p.spot("y")->shape, (Shape{3, 10}));
  const Spot* target = p.spot("target");
  ASSERT_EQ(target->where, Where::constant);
  const Tensor& t = p.segment->constants[static_cast<size_t>(target->index)];
  EXPECT_EQ(std::vector<int64_t>(t.data<int64_t>(), t.data<int64_t>() + 2), (std::vector<int64_t>{3, -1}));
  EXPECT_EQ(p.spot("rows")->where, Where::constant);  // an output that is known
}

TEST(Segment, EndsWhereShapesDependOnElements) {
  auto p = planned(R"(<opset: "" 17>
g(float[N] x) => (float[M] y) {
  a = Neg(x)
  at = NonZero(a)
  f = Cast<to=1>(at)
  int64[1] flat = {-1}
  g0 = Reshape(f, flat)
  g1 = Relu(g0)
  y = Add(g1, g1)
})",
                   {{5}});
  EXPECT_EQ(p.segment->end, 1);
  EXPECT_TRUE(p.runs("a"));
  EXPECT_GE(p.program->values[static_cast<size_t>(p.id("f"))].held_until,
            p.program->values[static_cast<size_t>(p.id("g0"))].last_use);
  p.give(p.id("at"), DType::i64, {1, 4});
  ASSERT_TRUE(p.plan(2));
  EXPECT_EQ(p.segment->end, static_cast<int>(p.program->steps.size()));
  EXPECT_EQ(p.spot("y")->shape, (Shape{4}));
}

TEST(Segment, ErrorsNameTheNode) {
  Planned p(ops::test::parsed(R"(<opset: "" 17>
g(float[N] x, float[M] z) => (float[?] y) {
  [adder] y = Add(x, z)
})"));
  p.give(p.program->inputs[0], DType::f32, {3});
  p.give(p.program->inputs[1], DType::f32, {4});
  const auto answer = [&](int v) { return p.known(v); };
  const auto made = make_segment(*p.program, 0, answer, 1);
  ASSERT_FALSE(made.ok());
  EXPECT_NE(made.status().message().find("adder"), std::string::npos) << made.status().message();
}

// Plays a plan through. Memory holds marks: which computed value wrote each byte last.
class Player {
 public:
  explicit Player(const Planned& p) : p_(p), program_(*p.program), segment_(*p.segment) {
    for (const Spot& s : segment_.spots) spots_[s.value] = &s;
  }

  void play() {
    size_t next = 0;
    for (const auto& planned : segment_.steps) {
      for (; next < static_cast<size_t>(planned.step); ++next) views_of(static_cast<int>(next));
      step(planned);
      ++next;
    }
    for (; next < static_cast<size_t>(segment_.end); ++next) views_of(static_cast<int>(next));
    // What is needed after the segment is still whole.
    for (size_t v = 0; v < program_.values.size(); ++v)
      if (program_.values[v].last_use >= segment_.end) expect_whole(static_cast<int>(v), "the end");
  }

 private:
  struct Range {
    int space = -1;  // -1: not written here; 0: the arena; 1 + k: the buffer of output k
    size_t begin = 0, end = 0;
    bool overlaps(const Range& o) const { return space >= 0 && space == o.space && begin < o.end && o.begin < end; }
    bool operator==(const Range&) const = default;
  };
  Range range(int v) const {
    const auto it = spots_.find(v);
    if (it == spots_.end()) return {};
    const Spot& s = *it->second;
    const size_t bytes = *storage_bytes(s.dtype, s.count);
    if (s.where == Where::arena) {
      EXPECT_LE(s.offset + bytes, segment_.arena_bytes);
      return {0, s.offset, s.offset + bytes};
    }
    if (s.where == Where::output) return {1 + s.index, 0, bytes};
    return {};
  }
  void views_of(int index) {
    const Step& step = program_.steps[static_cast<size_t>(index)];
    for (int v : step.outputs) {
      if (v < 0 || range(v).space < 0) continue;
      const int at = view_input(step);
      ASSERT_GE(at, 0) << "a step that makes " << name(v) << " is missing";
      const int from = step.inputs[static_cast<size_t>(at)];
      EXPECT_EQ(range(v), range(from)) << name(v);
      marks_[v] = marks_[from];
    }
  }
  void expect_whole(int v, std::string_view where) {
    const Range r = range(v);
    if (r.space < 0) return;
    for (size_t i = r.begin; i < r.end; ++i)
      ASSERT_EQ((memory_[{r.space, i}]), marks_[v]) << name(v) << " is gone at " << where;
  }
  void step(const PlannedStep& planned) {
    const Step& s = program_.steps[static_cast<size_t>(planned.step)];
    const ops::OpFlags& flags = s.node->def->flags;
    for (int v : s.inputs)
      if (v >= 0) expect_whole(v, s.node->name());
    std::vector<Range> written;
    for (size_t k = 0; k < s.outputs.size(); ++k) {
      if (s.outputs[k] < 0) continue;
      const Range r = range(s.outputs[k]);
      for (const Range& w : written) EXPECT_FALSE(r.overlaps(w)) << s.node->name();
      written.push_back(r);
      int overlapped = -1;
      for (size_t i = 0; i < s.inputs.size(); ++i) {
        if (s.inputs[i] < 0 || !r.overlaps(range(s.inputs[i]))) continue;
        EXPECT_EQ(r, range(s.inputs[i])) << s.node->name();
        bool allowed = flags.in_place_any && k == 0;
        for (const auto& row : flags.in_place)
          allowed = allowed || (row.out == static_cast<int>(k) && row.in == static_cast<int>(i));
        EXPECT_TRUE(allowed) << s.node->name() << " overwrites input " << i;
        EXPECT_TRUE(overlapped < 0 || (flags.in_place_any && overlapped == s.inputs[i])) << s.node->name();
        overlapped = s.inputs[i];
      }
    }
    if (planned.scratch_bytes) {
      const Range scratch{0, planned.scratch_offset, planned.scratch_offset + planned.scratch_bytes};
      EXPECT_LE(scratch.end, segment_.arena_bytes);
      for (int v : s.inputs) EXPECT_FALSE(v >= 0 && scratch.overlaps(range(v))) << s.node->name();
      for (const Range& w : written) EXPECT_FALSE(scratch.overlaps(w)) << s.node->name();
      write(scratch, ++mark_);
    }
    for (int v : s.outputs)
      if (v >= 0) write(range(v), marks_[v] = ++mark_);
  }
  void write(const Range& r, int mark) {
    if (r.space >= 0)
      for (size_t i = r.begin; i < r.end; ++i) memory_[{r.space, i}] = mark;
  }
  const std::string& name(int v) const { return *program_.values[static_cast<size_t>(v)].name; }

  const Planned& p_;
  const Program& program_;
  const Segment& segment_;
  std::map<int, const Spot*> spots_;
  std::map<int, int> marks_;
  std::map<std::pair<int, size_t>, int> memory_;
  int mark_ = 0;
};

TEST(Segment, NoLiveValueIsEverOverwritten) {
  int in_place = 0;
  for (unsigned seed = 0; seed < 150; ++seed) {
    ops::test::RandomGraph random(seed, 40, seed % 3 == 0);
    const auto s = random.finish();
    ASSERT_TRUE(s.ok()) << s.message();
    Planned p(std::shared_ptr<ir::Graph>(&random.graph(), [](ir::Graph*) {}));
    for (int v : p.program->inputs) p.give(v, DType::f32, {1 + seed % 3, 8});
    for (int begin = 0; begin < static_cast<int>(p.program->steps.size());) {
      const Segment* segment = p.plan(begin);
      ASSERT_TRUE(segment);
      Player(p).play();
      if (testing::Test::HasFailure()) {
        FAIL() << "seed " << seed << "\n" << ir::print(random.graph());
      }
      size_t separate = 0;
      for (const Spot& spot : segment->spots) {
        if (spot.where == Where::arena) separate += ArenaPlanner::rounded(*storage_bytes(spot.dtype, spot.count));
        p.give(spot.value, spot.dtype, spot.shape);
      }
      in_place += separate > segment->arena_bytes;
      if (segment->end == static_cast<int>(p.program->steps.size())) break;
      const Step& dynamic = p.program->steps[static_cast<size_t>(segment->end)];
      for (int v : dynamic.outputs)
        if (v >= 0) p.give(v, DType::f32, {5});
      begin = segment->end + 1;
    }
  }
  EXPECT_GT(in_place, 100);  // reuse is the rule
}

}  // namespace
}  // namespace trunnion::plan

#include "passes/pass_harness.h"

#include <cmath>
#include <cstring>
#include <map>
#include <unordered_map>

#include "base/error.h"
#include "ir/text.h"
#include "ir/verify.h"
#include "ops/catalog.h"

namespace trunnion::passes::test {
namespace {

using Environment = std::unordered_map<const ir::Value*, Value>;

uint64_t next(uint64_t& state) {
  uint64_t z = state += 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

Result<std::vector<Value>> run_graph(const ir::Graph& g, std::span<const Value> inputs, const Environment* outer);

bool truth(const Value& v) { return *v.tensor().data<bool>(); }

Result<std::vector<Value>> run_loop(const ir::Node& n, const Environment& env) {
  const ir::Graph& body = *n.graph_attr("body");
  const int64_t trips = n.input(0) ? *env.at(n.input(0)).tensor().data<int64_t>() : 1000;
  bool go = !n.input(1) || truth(env.at(n.input(1)));
  const size_t carried = n.inputs().size() - 2;
  std::vector<Value> state;
  for (size_t i = 0; i < carried; ++i) state.push_back(env.at(n.input(static_cast<int>(i) + 2)));
  for (int64_t k = 0; k < trips && go; ++k) {
    auto iteration = Tensor::allocate(DType::i64, {});
    *iteration->data<int64_t>() = k;
    auto condition = Tensor::allocate(DType::boolean, {});
    *condition->data<bool>() = go;
    std::vector<Value> in = {Value(*iteration), Value(*condition)};
    in.insert(in.end(), state.begin(), state.end());
    TRN_ASSIGN(auto out, run_graph(body, in, &env));
    go = truth(out[0]);
    state.assign(out.begin() + 1, out.begin() + 1 + static_cast<long>(carried));
  }
  return state;  // stacked results are not wanted by these tests
}

Result<std::vector<Value>> run_graph(const ir::Graph& g, std::span<const Value> inputs, const Environment* outer) {
  Environment env;
  for (size_t i = 0; i < g.inputs().size(); ++i) env[g.inputs()[i]] = inputs[i];
  for (const auto& c : g.captures()) env[c.inner] = outer->at(c.outer);
  g.for_each_value([&](ir::Value* v) {
    if (v->is_constant()) env[v] = Value(v->constant());
  });
  for (const ir::Node* n = g.first(); n; n = n->next()) {
    std::vector<Value> out;
    if (n->op_type() == "If") {
      TRN_ASSIGN(out, run_graph(*n->graph_attr(truth(env.at(n->input(0))) ? "then_branch" : "else_branch"), {}, &env));
    } else if (n->op_type() == "Loop") {
      TRN_ASSIGN(out, run_loop(*n, env));
    } else {
      std::vector<const Value*> in;
      for (const ir::Value* v : n->inputs()) in.push_back(v ? &env.at(v) : nullptr);
      TRN_ASSIGN(out, ops::evaluate(*n, in));
    }
    for (size_t i = 0; i < n->outputs().size() && i < out.size(); ++i)
      if (n->outputs()[i]) env[n->outputs()[i]] = out[i];
  }
  std::vector<Value> out;
  for (const ir::Value* v : g.outputs()) out.push_back(env.at(v));
  return out;
}

bool same_number(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

std::string ports(const ir::Graph& g) {
  std::string s;
  for (const ir::Value* v : g.inputs()) s += ir::print_type(v->fact.type) + " " + v->name() + ", ";
  s += "=> ";
  for (const ir::Value* v : g.outputs()) s += ir::print_type(v->fact.type) + " " + v->name() + ", ";
  return s;
}

}  // namespace

std::unique_ptr<ir::Graph> load(std::string_view text) {
  auto g = ir::parse_graph(text);
  EXPECT_TRUE(g.ok()) << g.status().message() << "\n" << text;
  if (!g.ok()) return nullptr;
  auto s = ops::resolve(**g);
  EXPECT_TRUE(s.ok()) << s.message();
  if (s.ok()) s = ops::infer(**g);
  EXPECT_TRUE(s.ok()) << s.message();
  return std::move(g).value();
}

Result<std::vector<Value>> interpret(const ir::Graph& graph, std::span<const Value> inputs) {
  return run_graph(graph, inputs, nullptr);
}

std::vector<Value> seeded_inputs(const ir::Graph& graph, uint64_t seed) {
  std::vector<Value> out;
  std::map<std::string, int64_t, std::less<>> sizes;
  const auto size_of_symbol = [&](std::string_view name) -> std::optional<int64_t> {
    return sizes.emplace(std::string(name), static_cast<int64_t>(sizes.size()) + 2).first->second;
  };
  for (const ir::Value* v : graph.inputs()) {
    if (v->constant().valid()) {
      out.emplace_back(v->constant());
      continue;
    }
    std::vector<int64_t> dims;
    if (v->fact.has_rank())
      for (const Dim& d : v->fact.shape()) dims.push_back(d.evaluate(size_of_symbol).value_or(2));
    auto t = Tensor::allocate(v->fact.dtype() == DType::undefined ? DType::f32 : v->fact.dtype(), dims);
    EXPECT_TRUE(t.ok());
    for (int64_t i = 0; i < t->count(); ++i) {
      const uint64_t r = next(seed) >> 40;
      switch (t->dtype()) {
        case DType::f32:
          t->data<float>()[i] = static_cast<float>(r) / (1 << 23) - 1;
          break;
        case DType::f64:
          t->data<double>()[i] = static_cast<double>(r) / (1 << 23) - 1;
          break;
        case DType::f16:
          t->data<uint16_t>()[i] = static_cast<uint16_t>(0x3000 + r % 0xc00);
          break;
        case DType::i64:
          t->data<int64_t>()[i] = static_cast<int64_t>(r % 8);
          break;
        case DType::i32:
          t->data<int32_t>()[i] = static_cast<int32_t>(r % 8);
          break;
        case DType::boolean:
          t->data<bool>()[i] = r & 1;
          break;
        case DType::string:
          t->data<std::string>()[i] = std::to_string(r % 8);
          break;
        default:
          std::memset(t->raw(), static_cast<int>(r & 7), t->bytes());
      }
    }
    out.emplace_back(*t);
  }
  return out;
}

void expect_equal(const std::vector<Value>& a, const std::vector<Value>& b, const std::string& what) {
  ASSERT_EQ(a.size(), b.size()) << what;
  for (size_t i = 0; i < a.size(); ++i) {
    ASSERT_TRUE(a[i].is_tensor() && b[i].is_tensor()) << what;
    const Tensor &x = a[i].tensor(), &y = b[i].tensor();
    ASSERT_EQ(x.dtype(), y.dtype()) << what;
    ASSERT_EQ(shape_text(x.view().shape()), shape_text(y.view().shape())) << what;
    for (int64_t k = 0; k < x.count(); ++k) {
      bool same = false;
      if (x.dtype() == DType::f32)
        same = same_number(x.data<float>()[k], y.data<float>()[k]);
      else if (x.dtype() == DType::f64)
        same = same_number(x.data<double>()[k], y.data<double>()[k]);
      else if (x.dtype() == DType::string)
        same = x.data<std::string>()[k] == y.data<std::string>()[k];
      else
        same = std::memcmp(x.data<char>() + k * static_cast<int64_t>(size_of(x.dtype())),
                           y.data<char>() + k * static_cast<int64_t>(size_of(x.dtype())), size_of(x.dtype())) == 0;
      ASSERT_TRUE(same) << what << "\noutput " << i << ", element " << k;
    }
  }
}

Checked check(std::span<const Pass> passes, std::string_view before, PassContext context, int rounds) {
  Checked result;
  const auto original = load(before), g = load(before);
  if (!original || !g) return result;
  std::vector<PassRecord> records;
  RunOptions options;
  options.verify = true;
  options.max_rounds = rounds;
  auto s = run_passes(*g, passes, context, options, records);
  EXPECT_TRUE(s.ok()) << s.message() << "\n" << ir::print(*g);
  if (!s.ok()) return result;
  EXPECT_TRUE(ir::verify(*g).ok()) << ir::verify(*g).message();
  for (const auto& r : records) result.changes += r.changes;
  result.text = ir::print(*g);
  EXPECT_EQ(ports(*g), ports(*original)) << result.text;

  records.clear();
  if (passes.size() == 1 || rounds > 1) {
    s = run_passes(*g, passes, context, options, records);
    EXPECT_TRUE(s.ok()) << s.message();
    int again = 0;
    for (const auto& r : records) again += r.changes;
    EXPECT_EQ(again, 0) << "a second run still changes\n" << result.text << "to\n" << ir::print(*g);
  }
  const auto inputs = seeded_inputs(*original, 1);
  const auto expected = interpret(*original, inputs);
  const auto got = interpret(*g, inputs);
  EXPECT_TRUE(expected.ok()) << expected.status().message() << "\n" << before;
  EXPECT_TRUE(got.ok()) << got.status().message() << "\n" << result.text;
  if (expected.ok() && got.ok()) expect_equal(*expected, *got, std::string(before) + "\n" + result.text);
  return result;
}

void expect_pass(Status (*pass)(ir::Graph&, PassContext&), std::string_view before, std::string_view after,
                 PassContext context) {
  const Pass list[] = {{"pass", pass}};
  const Checked c = check(list, before, context);
  const auto expected = load(after);
  if (expected) {
    EXPECT_EQ(c.text, ir::print(*expected));
  }
  EXPECT_GT(c.changes, 0);
}

void expect_unchanged(Status (*pass)(ir::Graph&, PassContext&), std::string_view text) {
  const Pass list[] = {{"pass", pass}};
  const Checked c = check(list, text);
  const auto expected = load(text);
  if (expected) {
    EXPECT_EQ(c.text, ir::print(*expected));
  }
  EXPECT_EQ(c.changes, 0);
}

}  // namespace trunnion::passes::test

// For tests of memory plans and of their execution: random graphs of cheap operators with many views, values that are
// read often, computed in place or never read, repeated inputs and outputs, and (on request) shapes that depend on
// elements. Inputs are float[N,8]; any N will do.
#pragma once
#include <memory>
#include <random>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "ops/catalog.h"

namespace trunnion::ops::test {

class RandomGraph {
 public:
  static constexpr int kInputs = 2;

  RandomGraph(unsigned seed, int nodes, bool dynamic)
      : random_(seed), dynamic_(dynamic), graph_(std::make_unique<ir::Graph>()) {
    for (int i = 0; i < kInputs; ++i) {
      const Fact fact = Fact::tensor(DType::f32, SymShape{Dim::symbol("N"), 8});
      values_[kWide].push_back(graph_->add_input("x" + std::to_string(i), fact));
    }
    flat_ = ints("flat", {-1});
    wide_ = ints("wide", {-1, 8});
    cube_ = ints("cube", {0, 2, 4});
    first_ = ints("first", {0});
    row_ = floats("row", 8);
    scale_ = floats("scale", 1);
    for (int i = 0; i < nodes; ++i) add_node();
    for (auto& list : values_)
      for (ir::Value* v : list)
        if (v->producer() && one_in(4)) graph_->add_output(v);
    graph_->add_output(pick(kWide));  // an input, at times
    graph_->add_output(pick(kFlat));
    if (graph_->outputs()[0]->output_uses() == 1) graph_->add_output(graph_->outputs()[0]);
  }

  Status finish() {
    TRN_TRY(resolve(*graph_));
    return infer(*graph_);
  }
  ir::Graph& graph() { return *graph_; }

  static Tensor input(int64_t rows, unsigned seed) {
    const int64_t dims[] = {rows, 8};
    Tensor t = *Tensor::allocate(DType::f32, dims);
    std::mt19937 random(seed);
    for (auto& v : t.span<float>()) v = std::uniform_real_distribution<float>(-2, 2)(random);
    return t;
  }

  // What the graph gives, every node on its own, nothing ever overwritten.
  Result<std::vector<trunnion::Value>> reference(const std::vector<Tensor>& inputs) {
    std::unordered_map<const ir::Value*, trunnion::Value> values;
    graph_->for_each_value([&](ir::Value* v) {
      if (v->is_constant()) values[v] = v->constant();
    });
    for (size_t i = 0; i < inputs.size(); ++i) values[graph_->inputs()[i]] = inputs[i];
    for (const ir::Node* n = graph_->first(); n; n = n->next()) {
      std::vector<const trunnion::Value*> in;
      for (const ir::Value* v : n->inputs()) in.push_back(v ? &values[v] : nullptr);
      TRN_ASSIGN(auto out, evaluate(*n, in));
      for (size_t k = 0; k < out.size(); ++k)
        if (n->outputs()[k]) values[n->outputs()[k]] = std::move(out[k]);
    }
    std::vector<trunnion::Value> results;
    for (const ir::Value* v : graph_->outputs()) results.push_back(values[v]);
    return results;
  }

 private:
  using Fact = ir::Fact;
  // What values look like: [N,8], [8N], [N,2,4], [8,N], [N,16], and one-dimensional of a size that depends on elements.
  enum Kind { kWide, kFlat, kCube, kTall, kDouble, kSome, kKinds };

  bool one_in(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)) == 0; }
  // Mostly one of the last few, so that lifetimes differ.
  ir::Value* pick(Kind kind) {
    auto& list = values_[kind];
    if (list.empty()) return kind == kFlat ? make(kFlat, "Reshape", {pick(kWide), flat_}) : nullptr;
    const size_t recent = one_in(3) ? list.size() : std::min<size_t>(list.size(), 3);
    return list[list.size() - 1 - random_() % recent];
  }
  ir::Value* ints(const char* name, std::vector<int64_t> v) {
    const int64_t dims[] = {static_cast<int64_t>(v.size())};
    return graph_->add_constant(name, *Tensor::from<int64_t>(dims, v));
  }
  ir::Value* floats(const char* name, int64_t n) {
    const int64_t dims[] = {n};
    Tensor t = *Tensor::allocate(DType::f32, dims);
    for (auto& v : t.span<float>()) v = std::uniform_real_distribution<float>(-2, 2)(random_);
    return graph_->add_constant(name, t);
  }
  ir::Node* node(const char* op, std::vector<ir::Value*> in, int outputs, std::vector<ir::Attr> attrs) {
    std::vector<std::string> names;
    std::vector<std::string_view> views;
    for (int k = 0; k < outputs; ++k) names.push_back("v" + std::to_string(count_++));
    for (const auto& n : names) views.push_back(n);
    return graph_->add_node(op, "", 17, in, views, std::move(attrs), nullptr, "n" + std::to_string(count_));
  }
  ir::Value* make(Kind kind, const char* op, std::vector<ir::Value*> in, std::vector<ir::Attr> attrs = {}) {
    ir::Value* v = node(op, std::move(in), 1, std::move(attrs))->output(0);
    values_[kind].push_back(v);
    return v;
  }
  static ir::Attr attr(const char* name, int64_t v) { return {name, v, {}}; }
  static ir::Attr attr(const char* name, std::vector<int64_t> v) { return {name, std::move(v), {}}; }

  void add_node() {
    constexpr const char* kUnary[] = {"Relu", "Neg", "Sigmoid", "Abs", "Identity"};
    constexpr const char* kBinary[] = {"Add", "Mul", "Sub", "Max"};
    const char* unary = kUnary[random_() % std::size(kUnary)];
    const char* binary = kBinary[random_() % std::size(kBinary)];
    switch (random_() % (dynamic_ ? 24 : 20)) {
      case 0:
      case 1:
        make(kWide, unary, {pick(kWide)});
        break;
      case 2:
        make(kWide, "Softmax", {pick(kWide)}, {attr("axis", -1)});
        break;
      case 3:
      case 4:
        make(kWide, binary, {pick(kWide), pick(kWide)});
        break;
      case 5:
        make(kWide, binary, {pick(kWide), row_});
        break;
      case 6: {
        ir::Value* x = pick(kWide);
        make(kWide, one_in(2) ? "Sum" : "Max", {x, pick(kWide), one_in(2) ? x : pick(kWide)});
        break;
      }
      case 7:
        make(kWide, "LayerNormalization", {pick(kWide), row_, row_});
        break;
      case 8:
        make(kFlat, "Reshape", {pick(kWide), flat_});
        break;
      case 9:
        make(kFlat, unary, {pick(kFlat)});
        break;
      case 10:
        make(kFlat, binary, {pick(kFlat), one_in(3) ? scale_ : pick(kFlat)});
        break;
      case 11:
        make(kWide, "Reshape", {pick(kFlat), wide_});
        break;
      case 12:
        make(kCube, "Reshape", {pick(kWide), cube_});
        break;
      case 13:
        if (ir::Value* c = pick(kCube)) make(kWide, "Flatten", {one_in(2) ? make(kCube, unary, {c}) : c});
        break;
      case 14:
        make(kTall, "Transpose", {pick(kWide)}, {attr("perm", std::vector<int64_t>{1, 0})});
        break;
      case 15:
        if (ir::Value* t = pick(kTall)) make(kWide, "Transpose", {make(kTall, unary, {t})});
        break;
      case 16:
        make(kDouble, "Concat", {pick(kWide), pick(kWide)}, {attr("axis", 1)});
        break;
      case 17:
        if (ir::Value* d = pick(kDouble)) {
          ir::Node* n = node("Split", {d}, 2, {attr("axis", 1)});
          for (ir::Value* v : n->outputs()) values_[kWide].push_back(v);
        }
        break;
      case 18:
        make(kWide, "CumSum", {pick(kWide), axis()});
        break;
      case 19: {
        ir::Value* u = node("Unsqueeze", {pick(kWide), first_}, 1, {})->output(0);
        make(kWide, "Squeeze", {u, first_});
        break;
      }
      case 20: {  // the elements of some rows of a flat value: how many depends on them
        ir::Value* x = pick(kFlat);
        ir::Value* positive = node("Greater", {x, scale_}, 1, {})->output(0);
        if (values_[kSome].empty()) make(kSome, "Compress", {x, positive});
        break;
      }
      case 21:
        if (ir::Value* s = pick(kSome)) make(kSome, unary, {s});
        break;
      case 22:
        if (ir::Value* s = pick(kSome)) make(kSome, binary, {s, pick(kSome)});
        break;
      case 23:
        if (ir::Value* s = pick(kSome))
          make(kSome, "Reshape", {node("Unsqueeze", {s, first_}, 1, {})->output(0), flat_});
        break;
    }
  }
  ir::Value* axis() {
    if (!axis_) axis_ = graph_->add_constant("axis", *Tensor::from<int64_t>({}, std::vector<int64_t>{1}));
    return axis_;
  }

  std::mt19937 random_;
  bool dynamic_;
  std::unique_ptr<ir::Graph> graph_;
  std::vector<ir::Value*> values_[kKinds];
  ir::Value *flat_, *wide_, *cube_, *first_, *row_, *scale_, *axis_ = nullptr;
  int count_ = 0;
};

}  // namespace trunnion::ops::test

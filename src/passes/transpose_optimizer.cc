// TransposeOptimizer: element-wise nodes between transposes work in the order of axes in front of them, where that
// saves transposes: Transpose -> Add -> Relu -> inverse Transpose becomes Add -> Relu, with the constants' axes moved
// along.
//
// For each permutation p: a region is a connected set of element-wise nodes whose inputs are constants, transposes by
// p, and nodes of the set. It is converted as a whole when more transposes go than come: those in front of it go, those
// by the inverse behind it go, and every value that something else reads needs a transpose of its own.
#include <algorithm>
#include <set>
#include <unordered_set>

#include "passes/clean.h"
#include "passes/rules.h"

namespace trunnion::passes {
namespace {

using Perm = std::vector<int64_t>;

constexpr std::string_view kElementwise[] = {"Abs",
                                             "Add",
                                             "And",
                                             "Cast",
                                             "Ceil",
                                             "Celu",
                                             "Clip",
                                             "Cos",
                                             "Div",
                                             "Elu",
                                             "Equal",
                                             "Erf",
                                             "Exp",
                                             "Floor",
                                             "Gelu",
                                             "Greater",
                                             "GreaterOrEqual",
                                             "HardSigmoid",
                                             "HardSwish",
                                             "LeakyRelu",
                                             "Less",
                                             "LessOrEqual",
                                             "Log",
                                             "Max",
                                             "Mean",
                                             "Min",
                                             "Mish",
                                             "Mul",
                                             "Neg",
                                             "Not",
                                             "Or",
                                             "PRelu",
                                             "Pow",
                                             "Reciprocal",
                                             "Relu",
                                             "Round",
                                             "Selu",
                                             "Sigmoid",
                                             "Sign",
                                             "Sin",
                                             "Softplus",
                                             "Softsign",
                                             "Sqrt",
                                             "Sub",
                                             "Sum",
                                             "Tanh",
                                             "ThresholdedRelu",
                                             "Where",
                                             "Xor"};

bool is_elementwise(const ir::Node& n) {
  if (!n.domain().empty() || n.outputs().size() != 1 || !n.output(0) || n.opset() < 7)
    return false;  // earlier: broadcast by attribute
  return std::find(std::begin(kElementwise), std::end(kElementwise), n.op_type()) != std::end(kElementwise);
}

Perm inverse(const Perm& p) {
  Perm q(p.size());
  for (size_t i = 0; i < p.size(); ++i) q[static_cast<size_t>(p[i])] = static_cast<int64_t>(i);
  return q;
}

// The permutation of a Transpose that moves something and is written out; empty otherwise.
Perm permutation(const ir::Node* n) {
  if (!is_op(n, "Transpose")) return {};
  Perm p = n->ints("perm");
  Perm sorted = p;
  std::sort(sorted.begin(), sorted.end());
  for (size_t i = 0; i < sorted.size(); ++i)
    if (sorted[i] != static_cast<int64_t>(i)) return {};
  return p == sorted ? Perm() : p;
}

// The constant for the other order of axes; invalid when elements would have to move (more than one axis longer than
// 1).
Tensor reordered(const Tensor& t, const Perm& p) {
  const int rank = static_cast<int>(p.size());
  int long_axes = 0;
  for (const int64_t d : t.shape()) long_axes += d != 1;
  if (t.rank() > rank || long_axes > 1) return {};
  if (long_axes == 0) return t;  // broadcasts whatever the order is
  Shape dims;
  for (int i = 0; i < rank; ++i) dims.push_back(1);
  for (int i = 0; i < t.rank(); ++i)
    dims[static_cast<size_t>(p[static_cast<size_t>(rank - t.rank() + i)])] = t.shape()[static_cast<size_t>(i)];
  return Tensor::borrow(t.dtype(), dims, t.raw(), std::make_shared<const Tensor>(t));
}

// Element-wise nodes that are connected, directly or through a transpose in front of them.
class Region {
 public:
  Region(ir::Graph& graph, const Perm& perm, std::unordered_set<ir::Node*> nodes)
      : graph_(graph), perm_(perm), inverse_(inverse(perm)), nodes_(std::move(nodes)) {}

  // Transposes that go, minus those that come.
  int gain() const {
    int sum = 0;
    std::unordered_set<const ir::Node*> seen;
    for (ir::Node* n : nodes_) {
      for (ir::Value* v : n->inputs()) {
        if (!v || v->is_constant() || nodes_.contains(v->producer()) || !seen.insert(v->producer()).second) continue;
        sum += v->output_uses() == 0 &&
               std::all_of(v->users().begin(), v->users().end(), [&](ir::Node* u) { return nodes_.contains(u); });
      }
      bool read_outside = n->output(0)->output_uses() > 0;
      std::unordered_set<const ir::Node*> users;
      for (ir::Node* u : n->output(0)->users()) {
        if (nodes_.contains(u) || !users.insert(u).second) continue;
        const Perm p = permutation(u);
        sum += p == inverse_;
        read_outside = read_outside || p.empty();  // other transposes just move something else
      }
      sum -= read_outside;
    }
    return sum;
  }

  void convert(ir::Rewriter& rw) {
    std::vector<ir::Node*> members;
    for (ir::Node* n = graph_.first(); n; n = n->next())
      if (nodes_.contains(n)) members.push_back(n);
    rw.begin("other order of axes", std::vector<const ir::Node*>(members.begin(), members.end()));
    for (ir::Node* n : members)
      for (size_t i = 0; i < n->inputs().size(); ++i)
        if (ir::Value* in = n->inputs()[i]; in && !nodes_.contains(in->producer())) enter(n, static_cast<int>(i), rw);
    for (ir::Node* n : members) leave(n, rw);
  }

 private:
  void enter(ir::Node* n, int i, ir::Rewriter& rw) {
    ir::Value* in = n->input(i);
    if (!in->is_constant()) return rw.set_input(n, i, in->producer()->input(0));
    Tensor t = reordered(in->constant(), perm_);
    const bool same = t.rank() == in->constant().rank() &&
                      std::equal(t.shape().begin(), t.shape().end(), in->constant().shape().begin());
    if (!same) rw.set_input(n, i, rw.constant(in->name(), std::move(t)));
  }

  // Users outside the region read a transposed copy; transposes among them read the value itself, with both moves in
  // one.
  void leave(ir::Node* n, ir::Rewriter& rw) {
    ir::Value* out = n->output(0);
    std::unordered_set<ir::Node*> stay;  // as users of `out`
    bool read_outside = out->output_uses() > 0;
    for (ir::Node* u : out->users()) {
      const Perm p = nodes_.contains(u) ? Perm() : permutation(u);
      if (!p.empty() && stay.insert(u).second) {
        Perm both;
        for (const int64_t axis : p) both.push_back(perm_[static_cast<size_t>(axis)]);
        rw.set_attr(u, "perm", std::move(both));  // TransposeElimination removes those that move nothing
      } else if (nodes_.contains(u)) {
        stay.insert(u);
      } else if (p.empty()) {
        read_outside = true;
      }
    }
    const SymShape shape = out->fact.shape();
    if (read_outside) {
      ir::Node* copy = rw.insert("Transpose", "", n->opset(), {out}, {out->name()}, {{"perm", perm_, {}}}, n->next());
      ir::Value* moved = copy->output(0);
      moved->fact = out->fact;
      rw.replace(out, moved);
      rw.set_input(copy, 0, out);
      for (ir::Node* u : stay)
        for (size_t i = 0; i < u->inputs().size(); ++i)
          if (u->inputs()[i] == moved) rw.set_input(u, static_cast<int>(i), out);
    }
    for (size_t i = 0; i < perm_.size(); ++i) (*out->fact.type.shape)[static_cast<size_t>(perm_[i])] = shape[i];
    out->fact.content.reset();
  }

  ir::Graph& graph_;
  const Perm perm_, inverse_;
  const std::unordered_set<ir::Node*> nodes_;
};

// All nodes that could work in the order in front of transposes by `perm`.
std::unordered_set<ir::Node*> candidates(const ir::Graph& graph, const Perm& perm) {
  std::unordered_set<ir::Node*> nodes;
  const auto fits = [&](const ir::Fact& f) { return f.has_rank() && f.rank() == static_cast<int>(perm.size()); };
  for (ir::Node* n = graph.first(); n; n = n->next()) {  // in order: what a node needs of others is known
    if (!is_elementwise(*n) || !fits(n->output(0)->fact)) continue;
    bool all = true, some = false;
    for (const ir::Value* v : n->inputs()) {
      if (!v) continue;
      if (v->is_constant()) {
        all = all && reordered(v->constant(), perm).valid();
      } else {
        all = all && fits(v->fact) && v->producer() &&
              (nodes.contains(v->producer()) || permutation(v->producer()) == perm);
        some = true;
      }
    }
    if (all && some) nodes.insert(n);
  }
  return nodes;
}

// Takes the nodes that hang together with the first one out of `nodes`.
std::unordered_set<ir::Node*> take_connected(std::unordered_set<ir::Node*>& nodes) {
  std::unordered_set<ir::Node*> region;
  std::vector<ir::Node*> todo = {*nodes.begin()};
  const auto visit = [&](ir::Node* n) {
    if (nodes.contains(n) && region.insert(n).second) todo.push_back(n);
  };
  region.insert(todo[0]);
  while (!todo.empty()) {
    ir::Node* n = todo.back();
    todo.pop_back();
    for (ir::Node* u : n->output(0)->users()) visit(u);
    for (ir::Value* v : n->inputs()) {
      if (!v || !v->producer()) continue;
      visit(v->producer());
      if (!nodes.contains(v->producer()))
        for (ir::Node* u : v->users()) visit(u);  // they share the transpose
    }
  }
  for (ir::Node* n : region) nodes.erase(n);
  return region;
}

}  // namespace

Status transpose_optimizer(ir::Graph& graph, PassContext& context) {
  ir::Rewriter rw(graph, "TransposeOptimizer", context.log);
  std::set<Perm> permutations;
  for (ir::Node* n = graph.first(); n; n = n->next())
    if (const Perm p = permutation(n); !p.empty()) permutations.insert(p);
  if (permutations.size() > 16) return {};
  for (const Perm& perm : permutations) {
    auto nodes = candidates(graph, perm);
    while (!nodes.empty()) {
      Region region(graph, perm, take_connected(nodes));
      if (region.gain() > 0) region.convert(rw);
    }
  }
  context.changes += rw.changes();
  return {};
}

}  // namespace trunnion::passes
